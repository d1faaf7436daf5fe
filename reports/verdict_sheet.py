"""The verdicts of many roles as a table that sorts, where a paragraph per role is too much to read."""

import math

from headroles.reports.content import Role, Summary, Support
from headroles.reports.probe_sheets import Cell, Sheet
from headroles.reports.words import interval


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
