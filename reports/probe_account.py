"""How probes were run, as a manifest says it: the halves, the windows, what was published."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headroles.reports.words import plural


@dataclass(frozen=True, slots=True)
class Published:
    """What was published for a row, for orientation.

    Attributes:
        accuracy: 0 to 1; NaN where only baselines were published.
        head: Layer and head as printed, counted from 1; "" for none.
        baselines: Accuracy by baseline.
    """

    accuracy: float
    head: str = ""
    baselines: Mapping[str, float] = field(default_factory=dict)


def published_in(manifest: Mapping[str, Any]) -> dict[str, Published]:
    """What a manifest gives for orientation, by row; rows with nothing legible are left out.

    Args:
        manifest: ``manifest["probe"]["published"]`` maps rows (``"trained:attention"`` for a trained
            probe) to an accuracy of 0 to 1, or to a mapping with "accuracy" and, where known, "head"
            and "baselines".

    Example:
        >>> published_in({"probe": {"published": {"coreference:all": {"accuracy": 0.65, "head": "5-4"}}}})
        {'coreference:all': Published(accuracy=0.65, head='5-4', baselines={})}
    """
    rows = probe_in(manifest).get("published")
    found = {}
    for row, told in (rows if isinstance(rows, Mapping) else {}).items():
        entry = told if isinstance(told, Mapping) else {"accuracy": told}
        baselines = entry.get("baselines")
        each = Published(
            _number(entry.get("accuracy")),
            str(entry.get("head") or ""),
            {str(name): _number(value) for name, value in baselines.items()}
            if isinstance(baselines, Mapping)
            else {},
        )
        if each.baselines or not math.isnan(each.accuracy):
            found[str(row)] = each
    return found


def probe_in(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a manifest says of its probes; nothing where it does not."""
    probe = manifest.get("probe")
    return probe if isinstance(probe, Mapping) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def honest(manifest: Mapping[str, Any]) -> bool:
    """Whether the best heads are shown on another half of the units than they were chosen on."""
    return manifest.get("preset") != "published"


def chosen(manifest: Mapping[str, Any]) -> str:
    """How the halves were made.

    Example:
        >>> chosen({"probe": {"halves": {"selection": 31, "test": 29, "seed": 3}}})
        'head, direction and baseline of every row chosen on 31 units, tested on the other 29; seed 3'
    """
    if not honest(manifest):
        return "head, direction and baseline of every row chosen on all units, which they are shown on"
    halves = probe_in(manifest).get("halves")
    known = halves if isinstance(halves, Mapping) else {}
    one, other = (_count(known.get(name)) for name in ("selection", "test"))
    on = f"on {plural(int(one), 'unit')}, tested on the other {other}" if one and other else ""
    seed = f"; seed {known['seed']}" if "seed" in known else ""
    usual = "on one half of the units, tested on the other"
    return f"head, direction and baseline of every row chosen {on or usual}{seed}"


def _count(told: object) -> str:
    """A number of units, or the number of their names."""
    return str(len(told) if isinstance(told, list | tuple) else told) if told else ""


def scheme(manifest: Mapping[str, Any], rows: Iterable[str]) -> str:
    """Whose names the relations have; "" where no relation is among the rows.

    Example:
        >>> told = {"probe": {"scheme": "ud"}}
        >>> scheme(told, ["dependency:nsubj"]), scheme(told, ["coreference:all"])
        ('ud', '')
    """
    asked = any(row.startswith("dependency:") for row in rows)
    return str(probe_in(manifest).get("scheme") or "") if asked else ""


def windows(manifest: Mapping[str, Any], *, losses: bool = True) -> str:
    """Size and stride of the windows of long documents, and what they lost; "" where not told.

    Args:
        manifest: Of a run.
        losses: Whether to tell what could not be asked.

    Example:
        >>> told = {"size": 128, "stride": 64, "lost": {"coreference:pronoun": 12, "coreference:all": 0}}
        >>> windows({"probe": {"windows": told}})
        'long documents in windows (size 128, stride 64); could not be asked: 12 of coreference:pronoun'
    """
    told = probe_in(manifest).get("windows")
    if not isinstance(told, Mapping):
        return ""
    known = [f"{name} {told[name]}" for name in ("size", "stride") if told.get(name)]
    text = f"long documents in windows{' (' + ', '.join(known) + ')' if known else ''}"
    lost = told.get("lost") if losses else None
    rows = (
        [f"{count:,} of {row}" for row, count in lost.items() if count] if isinstance(lost, Mapping) else []
    )
    return f"{text}; could not be asked: {', '.join(rows)}" if rows else text
