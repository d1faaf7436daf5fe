"""Attention maps as files: ``extract()`` writes those of a model, and lists of examples describe stored ones.

``extract.py`` runs the model, ``writer.py`` fills the file, and ``examples.py`` reads the list next to it.
``stored.py`` opens both as a source that the jobs of a run read like a model, ``documents.py`` reads gold
annotation from the list, and ``shown.py`` makes views. ``adapters.py`` takes attention from what other
libraries keep of a run, and ``write.py`` stores arrays of any source. These modules may import from
``extraction``, ``storage``, ``options``, ``inputs`` and ``records``. Start with ``extract.py``.
"""
