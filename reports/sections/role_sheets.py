"""The verdicts of many roles as a table that sorts, where a paragraph per role is too much to read.

Roles over layers: trend and thirds of every role as text.
"""

import math

from headroles.records.assessment import Depth
from headroles.reports.content import Role, Summary, Support
from headroles.reports.sections.probe_sheets import Cell, Sheet
from headroles.reports.words.words import interval, ranged, share, two


def verdict_sheet(summary: Summary) -> Sheet:
    """Heads by decision and the strongest head, one line per role.

    Args:
        summary: What the page may say.
    """
    told = any(held.steady is not None for held in summary.supports)
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
        _line(place, role, held, told)
        for place, (role, held) in enumerate(zip(summary.roles, supports, strict=True))
    )
    return Sheet("Verdicts", header + ("labels that came back",) * told, tuple(lines))


def _line(place: int, role: Role, held: Support | None, told: bool) -> tuple[Cell, ...]:
    tally, head = role.tally, role.strongest
    counts = (tally.role, tally.not_role, tally.undetermined, tally.untestable)
    cells = [Cell(role.sieve, place), *(Cell(str(count), count) for count in counts)]
    cells.append(Cell(f"{role.threshold:.3f}", role.threshold))
    if head is None:
        cells += [Cell("none", math.nan), Cell("–", math.nan)]
    else:
        cells.append(Cell(f"{head.layer}-{head.head}", head.layer + head.head / 1000))
        cells.append(Cell(interval(head.score), head.score.mean))
    if told:
        steady = held.steady if held is not None else None
        cells.append(
            Cell("–", math.nan)
            if held is None or steady is None or not held.labels
            else Cell(f"{steady}/{held.labels}", steady / held.labels)
        )
    return tuple(cells)


HEADER = (
    "role", "heads", "trend over depth [95\u00a0%]", "reorderings as strong",
    "first third [95\u00a0%]", "middle third [95\u00a0%]", "last third [95\u00a0%]",
)  # fmt: skip


def depth_rows(summary: Summary) -> tuple[tuple[str, ...], ...]:
    """The trend and the thirds of every role, as text; empty where the run did not compute them."""
    return tuple(
        (
            each.sieve,
            str(each.heads),
            _trend(each),
            share(each.reference),
            *(
                ranged(share(value), share(low), share(high))
                for value, low, high in (
                    (each.first, each.first_low, each.first_high),
                    (each.middle, each.middle_low, each.middle_high),
                    (each.last, each.last_low, each.last_high),
                )
            ),
        )
        for each in _of(summary).values()
    )


def _of(summary: Summary) -> dict[str, Depth]:
    """Depth by role, in the order of roles."""
    known = {each.sieve: each for each in (summary.assessment.depth if summary.assessment else ())}
    return {role.sieve: known[role.sieve] for role in summary.roles if role.sieve in known}


def _trend(each: Depth) -> str:
    return ranged(two(each.trend), two(each.trend_low), two(each.trend_high))
