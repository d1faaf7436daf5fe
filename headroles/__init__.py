"""Test which roles the attention heads of a model play, as hypotheses with corrected p values.

The public functions are listed in ``__all__`` and are imported when they are first used. Their types are in
``__init__.pyi``, which ``python -m headroles.cli.reference`` makes from the records of options.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Ablation": "headroles.records.causal.ablation",
    "Arc": "headroles.records.example",
    "Atlas": "headroles.records.atlas.atlas",
    "Band": "headroles.sieves.masks",
    "Cells": "headroles.sieves.masks",
    "Comparison": "headroles.records.comparison",
    "Contrast": "headroles.sieves.base",
    "Every": "headroles.sieves.masks",
    "Example": "headroles.records.example",
    "HeadrolesError": "headroles.errors",
    "Keys": "headroles.sieves.masks",
    "Labelling": "headroles.records.findings",
    "Look": "headroles.records.stops.look",
    "Lexical": "headroles.records.example",
    "MaskSieve": "headroles.sieves.base",
    "Match": "headroles.sieves.masks",
    "Mention": "headroles.records.example",
    "Origins": "headroles.records.causal.origins",
    "Pairs": "headroles.sieves.masks",
    "Pruning": "headroles.records.causal.pruning",
    "Replication": "headroles.records.replication",
    "Same": "headroles.sieves.masks",
    "Scorer": "headroles.sieves.base",
    "SharedRun": "headroles.sharing.share",
    "ShownSieve": "headroles.showing",
    "SieveFamily": "headroles.sieves.families",
    "Viewed": "headroles.viewing",
    "Without": "headroles.sieves.masks",
    "ablate": "headroles.runs.ablate.run",
    "atlas": "headroles.comparing.atlas",
    "cluster": "headroles.runs.cluster.run",
    "compare": "headroles.comparing.compare",
    "convert_old": "headroles.converting.convert",
    "extract": "headroles.maps.extract",
    "figures": "headroles.exporting",
    "from_nnsight": "headroles.maps.adapters",
    "from_transformer_lens": "headroles.maps.adapters",
    "head_distances": "headroles.plain",
    "judge_again": "headroles.judging.again",
    "judge_scores": "headroles.runs.scores.run",
    "label": "headroles.runs.label.run",
    "load": "headroles.storage.run",
    "load_cut": "headroles.pruning.cut",
    "methods": "headroles.exporting",
    "convert_trees": "headroles.preprocessing.trees",
    "convert_pairs": "headroles.preprocessing.pairs",
    "probe": "headroles.runs.probe.run",
    "probe_of": "headroles.plain",
    "prune": "headroles.pruning.prune",
    "replicate": "headroles.comparing.replicate",
    "save": "headroles.exporting",
    "score": "headroles.arrays",
    "share": "headroles.sharing.share",
    "show_sieve": "headroles.showing",
    "sieve": "headroles.sieves.base",
    "sieve_family": "headroles.sieves.families",
    "surface": "headroles.runs.surface.run",
    "surface_of": "headroles.arrays",
    "table": "headroles.exporting",
    "view": "headroles.viewing",
    "why": "headroles.runs.why.run",
    "write_maps": "headroles.maps.write",
}
"""Modules of the public names."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import headroles`` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headroles' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
