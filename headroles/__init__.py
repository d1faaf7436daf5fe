"""headroles: what the attention heads of a model do, as tested and corrected hypotheses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headroles.arrays import score
    from headroles.clustering import cluster
    from headroles.comparing import compare
    from headroles.errors import HeadrolesError
    from headroles.exporting import figures, table
    from headroles.extracting import extract
    from headroles.judging import judge_again
    from headroles.preprocessing import preprocess_unlabeled
    from headroles.preprocessing_trees import preprocess_depparse
    from headroles.probing import probe
    from headroles.records.comparison import Comparison
    from headroles.records.example import Arc, Example
    from headroles.records.findings import Labelling
    from headroles.records.replication import Replication
    from headroles.replicating import replicate
    from headroles.run import label, save
    from headroles.sieves.base import MaskSieve, Scorer, sieve
    from headroles.sieves.masks import Band, Pairs, Same
    from headroles.storage.run import load
    from headroles.surface_arrays import surface_of
    from headroles.surfacing import surface
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
    "cluster": "headroles.clustering",
    "compare": "headroles.comparing",
    "extract": "headroles.extracting",
    "figures": "headroles.exporting",
    "judge_again": "headroles.judging",
    "label": "headroles.run",
    "load": "headroles.storage.run",
    "preprocess_depparse": "headroles.preprocessing_trees",
    "preprocess_unlabeled": "headroles.preprocessing",
    "probe": "headroles.probing",
    "replicate": "headroles.replicating",
    "save": "headroles.run",
    "score": "headroles.arrays",
    "sieve": "headroles.sieves.base",
    "surface": "headroles.surfacing",
    "surface_of": "headroles.surface_arrays",
    "table": "headroles.exporting",
    "view": "headroles.viewing",
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
    "judge_again",
    "label",
    "load",
    "preprocess_depparse",
    "preprocess_unlabeled",
    "probe",
    "replicate",
    "save",
    "score",
    "sieve",
    "surface",
    "surface_of",
    "table",
    "view",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``import headroles`` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headroles' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
