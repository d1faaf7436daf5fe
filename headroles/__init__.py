"""headroles: what the attention heads of a model do, as tested and corrected hypotheses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headroles.arrays import score
    from headroles.comparing import compare
    from headroles.comparison import Comparison
    from headroles.errors import HeadrolesError
    from headroles.judging import judge_again
    from headroles.outcomes import Labelling
    from headroles.probing import probe
    from headroles.records import Arc, Example
    from headroles.replicating import replicate
    from headroles.replication import Replication
    from headroles.run import label, save
    from headroles.sieves.base import MaskSieve, Scorer, sieve
    from headroles.sieves.masks import Band, Pairs, Same
    from headroles.store import load

_HOMES = {
    "Arc": "headroles.records",
    "Band": "headroles.sieves.masks",
    "Comparison": "headroles.comparison",
    "Example": "headroles.records",
    "HeadrolesError": "headroles.errors",
    "Labelling": "headroles.outcomes",
    "MaskSieve": "headroles.sieves.base",
    "Pairs": "headroles.sieves.masks",
    "Replication": "headroles.replication",
    "Same": "headroles.sieves.masks",
    "Scorer": "headroles.sieves.base",
    "compare": "headroles.comparing",
    "judge_again": "headroles.judging",
    "label": "headroles.run",
    "load": "headroles.store",
    "probe": "headroles.probing",
    "replicate": "headroles.replicating",
    "save": "headroles.run",
    "score": "headroles.arrays",
    "sieve": "headroles.sieves.base",
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
    "compare",
    "judge_again",
    "label",
    "load",
    "probe",
    "replicate",
    "save",
    "score",
    "sieve",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``import headroles`` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headroles' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
