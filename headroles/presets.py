"""Presets: named sets of choices, so that a run can be named in one word."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headroles.errors import UnknownName
from headroles.records.example import Decision


@dataclass(frozen=True, slots=True)
class Preset:
    """What a preset fixes.

    Attributes:
        name: Its name.
        decision: Test, correction, family and alpha.
        warning: What is wrong with it, for the report; "" when nothing is known to be.
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
    """The preset of a name.

    Raises:
        UnknownName: With the nearest known name.
    """
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]
