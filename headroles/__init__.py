"""Test which roles the attention heads of a model play, as hypotheses with corrected p values.

The public functions are listed in ``__all__`` and are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headroles.arrays import score, surface_of
    from headroles.comparing.compare import compare
    from headroles.comparing.replicate import replicate
    from headroles.errors import HeadrolesError
    from headroles.exporting import figures, save, table
    from headroles.judging.again import judge_again
    from headroles.maps.adapters import from_nnsight, from_transformer_lens
    from headroles.maps.extract import extract
    from headroles.maps.write import write_maps
    from headroles.plain import head_distances, probe_of
    from headroles.preprocessing.pairs import preprocess_unlabeled
    from headroles.preprocessing.trees import preprocess_depparse
    from headroles.records.comparison import Comparison
    from headroles.records.example import Arc, Example
    from headroles.records.findings import Labelling
    from headroles.records.replication import Replication
    from headroles.runs.cluster.run import cluster
    from headroles.runs.label.run import label
    from headroles.runs.probe.run import probe
    from headroles.runs.surface.run import surface
    from headroles.sieves.base import MaskSieve, Scorer, sieve
    from headroles.sieves.masks import Band, Pairs, Same
    from headroles.storage.run import load
    from headroles.viewing import Viewed, view

_HOMES = {
    "Arc": "headroles.records.example",
    "Band": "headroles.sieves.masks",
    "Comparison": "headroles.records.comparison",
    "Example": "headroles.records.example",
    "HeadrolesError": "headroles.errors",
    "Labelling": "headroles.records.findings",
    "MaskSieve": "headroles.sieves.base",
    "Pairs": "headroles.sieves.masks",
    "Replication": "headroles.records.replication",
    "Same": "headroles.sieves.masks",
    "Scorer": "headroles.sieves.base",
    "Viewed": "headroles.viewing",
    "cluster": "headroles.runs.cluster.run",
    "compare": "headroles.comparing.compare",
    "extract": "headroles.maps.extract",
    "figures": "headroles.exporting",
    "from_nnsight": "headroles.maps.adapters",
    "from_transformer_lens": "headroles.maps.adapters",
    "head_distances": "headroles.plain",
    "judge_again": "headroles.judging.again",
    "label": "headroles.runs.label.run",
    "load": "headroles.storage.run",
    "preprocess_depparse": "headroles.preprocessing.trees",
    "preprocess_unlabeled": "headroles.preprocessing.pairs",
    "probe": "headroles.runs.probe.run",
    "probe_of": "headroles.plain",
    "replicate": "headroles.comparing.replicate",
    "save": "headroles.exporting",
    "score": "headroles.arrays",
    "sieve": "headroles.sieves.base",
    "surface": "headroles.runs.surface.run",
    "surface_of": "headroles.arrays",
    "table": "headroles.exporting",
    "view": "headroles.viewing",
    "write_maps": "headroles.maps.write",
}

__all__ = [
    "Arc",
    "Band",
    "Comparison",
    "Example",
    "HeadrolesError",
    "Labelling",
    "MaskSieve",
    "Pairs",
    "Replication",
    "Same",
    "Scorer",
    "Viewed",
    "cluster",
    "compare",
    "extract",
    "figures",
    "from_nnsight",
    "from_transformer_lens",
    "head_distances",
    "judge_again",
    "label",
    "load",
    "preprocess_depparse",
    "preprocess_unlabeled",
    "probe",
    "probe_of",
    "replicate",
    "save",
    "score",
    "sieve",
    "surface",
    "surface_of",
    "table",
    "view",
    "write_maps",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import headroles`` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headroles' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
