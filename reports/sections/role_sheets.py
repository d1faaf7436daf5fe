"""Verdicts of many roles as a table that sorts, and the trend of every role over layers as text.

The table stands in where a paragraph per role is too long.
"""

import math

from headroles.records.assessment import Depth
from headroles.reports.records import Role, Summary, Support
from headroles.reports.sections.probe_sheets import Cell, Sheet
from headroles.reports.words.words import interval, share, two_decimals, with_range


def verdict_sheet(summary: Summary) -> Sheet:
    """Return heads by decision and the strongest head, one line per role.

    Args:
        summary: What the page may say.
    """
    has_stability = any(firmness.steady is not None for firmness in summary.supports)
    has_difference = any(role.strongest and role.strongest.beyond for role in summary.roles)
    header = (
        "role",
        "heads",
        "not",
        "undetermined",
        "untestable",
        "θ",
        "strongest head",
        "its mean [95\u00a0%]",
    )
    supports = summary.supports or (None,) * len(summary.roles)
    lines = (
        _line(place, role, firmness, has_difference, has_stability)
        for place, (role, firmness) in enumerate(zip(summary.roles, supports, strict=True))
    )
    header += ("difference to baseline [95\u00a0%]",) * has_difference
    return Sheet("Verdicts", header + ("labels that came back",) * has_stability, tuple(lines))


def _line(
    place: int, role: Role, firmness: Support | None, has_difference: bool, has_stability: bool
) -> tuple[Cell, ...]:
    """Return the line of one role."""
    tally, head = role.tally, role.strongest
    counts = (tally.role, tally.not_role, tally.undetermined, tally.untestable)
    cells = [Cell(role.sieve, place), *(Cell(str(count), count) for count in counts)]
    cells.append(Cell(f"{role.threshold:.3f}", role.threshold))
    if head is None:
        cells += [Cell("none", math.nan), Cell("–", math.nan)]
    else:
        cells.append(Cell(f"{head.layer}-{head.head}", head.layer + head.head / 1000))
        cells.append(Cell(interval(head.score), head.score.mean))
    if has_difference:
        beyond = head.beyond if head else None
        cells.append(Cell(interval(beyond), beyond.mean) if beyond else Cell("–", math.nan))
    if has_stability:
        steady = firmness.steady if firmness is not None else None
        cells.append(
            Cell("–", math.nan)
            if firmness is None or steady is None or not firmness.labels
            else Cell(f"{steady}/{firmness.labels}", steady / firmness.labels)
        )
    return tuple(cells)


HEADER = (
    "role", "heads", "trend over depth [95\u00a0%]", "reorderings as strong",
    "first third [95\u00a0%]", "middle third [95\u00a0%]", "last third [95\u00a0%]",
)  # fmt: skip


def depth_rows(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """Return the trend and the thirds of every role, as text; empty where the run did not compute them."""
    return tuple(
        (
            depth.sieve,
            str(depth.heads),
            _trend(depth),
            share(depth.reference),
            *(
                with_range(share(value), share(low), share(high))
                for value, low, high in (
                    (depth.first, depth.first_low, depth.first_high),
                    (depth.middle, depth.middle_low, depth.middle_high),
                    (depth.last, depth.last_low, depth.last_high),
                )
            ),
        )
        for depth in _depth_by_role(summary).values()
    )


def _depth_by_role(summary: Summary) -> dict[str, Depth]:
    """Return depth by role, in the order of roles."""
    known = {depth.sieve: depth for depth in (summary.assessment.depth if summary.assessment else ())}
    return {role.sieve: known[role.sieve] for role in summary.roles if role.sieve in known}


def _trend(depth: Depth) -> str:
    """Return the trend of a role with its interval."""
    return with_range(
        two_decimals(depth.trend), two_decimals(depth.trend_low), two_decimals(depth.trend_high)
    )
