"""Runs: ``run.py`` makes any kind of run, and every folder here is one kind.

A folder has ``run`` (the public function), ``work`` (what a worker does with a shard), ``kind`` (the record
that ``headroles.kinds`` looks up) and, where the kind has its own, ``judging`` and ``manifest``. The modules
here are what kinds share. They may import from all folders but ``cli``. Start with ``run``, then
``surface/kind.py``.
"""

from headroles.public import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {"ablate.columns": "column_rules columns_of", "probe.trained.models": "randomise_weights"},
)
