"""Inputs of a run: reading passages, naming their units, and loading the annotation that sieves need.

``corpora`` has inputs that are read in every pass, ``objects`` those that are given in Python, ``units``
groups them into units of inference, and ``annotation`` loads parser, lemmas and vectors. Inputs may import
``headroles.extraction``, ``headroles.options``, ``headroles.records`` and ``sieves``. Start with
``passages``, which picks the reader.
"""

from headroles.public import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "corpora": "ListCorpus StreamedCorpus first_part",
        "identity": "Identity Sketches shared_inputs",
        "json_files": "has_trees stream_objects",
        "order": "ShuffledUnits",
        "passages": "read_corpus with_text_column",
        "sketch": "Sketch find_shared shared_share",
        "units": "unit_names",
    },
)
