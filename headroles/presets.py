"""Presets: named decisions, so that one word fixes test, correction, family and level of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headroles.errors import UnknownName
from headroles.records.rules.rule import Decision


@dataclass(frozen=True, slots=True)
class Preset:
    """A named decision.

    Attributes:
        name: Name of the preset.
        decision: Test, correction, family and alpha.
        warning: Known faults of the preset, for the report; "" when there are none.
    """

    name: str
    decision: Decision
    warning: str = ""


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "calibrated": Preset("calibrated", Decision()),
        "published": Preset(
            "published",
            Decision(test="t-published", correction="none"),
            "The preset 'published' repeats the released notebooks for comparison and should not be cited as "
            "evidence: its threshold of 3 is no chance value (even attention scores ln(length) on block, and "
            "every ceiling grows with length), nothing controls for distance, the spread is divided by n, "
            "and no correction is made for the number of tests.",
        ),
    }
)


def preset_of(name: str) -> Preset:
    """Return the preset with a name.

    Raises:
        UnknownName: When there is none, with the nearest known name.
    """
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]
