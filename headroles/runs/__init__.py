"""Runs of ``label``, ``cluster`` and ``surface``: from options to a labelling, and to its run folder.

Each command has a module with its public function: ``label.py``, ``cluster.py``, ``surface.py``;
``label_maps.py`` labels stored maps. A ``*_pass.py`` reads the inputs with the model, and ``manifest.py``
records the run. These modules may import from all folders but ``cli`` and ``terminal``. Start with ``label``
in ``label.py``.
"""
