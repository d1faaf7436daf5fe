"""headroles: what the attention heads of a model do, as tested and corrected hypotheses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headroles.arrays import score
    from headroles.errors import HeadrolesError
    from headroles.records import Arc, Example, Labelling
    from headroles.run import judge_again, label, save
    from headroles.sieves.base import MaskSieve, Scorer, sieve
    from headroles.sieves.masks import Band, Pairs, Same
    from headroles.store import load

_HOMES = {
    "Arc": "headroles.records",
    "Band": "headroles.sieves.masks",
    "Example": "headroles.records",
    "HeadrolesError": "headroles.errors",
    "Labelling": "headroles.records",
    "MaskSieve": "headroles.sieves.base",
    "Pairs": "headroles.sieves.masks",
    "Same": "headroles.sieves.masks",
    "Scorer": "headroles.sieves.base",
    "judge_again": "headroles.run",
    "label": "headroles.run",
    "load": "headroles.store",
    "save": "headroles.run",
    "score": "headroles.arrays",
    "sieve": "headroles.sieves.base",
}

__all__ = [
    "Arc",
    "Band",
    "Example",
    "HeadrolesError",
    "Labelling",
    "MaskSieve",
    "Pairs",
    "Same",
    "Scorer",
    "judge_again",
    "label",
    "load",
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
