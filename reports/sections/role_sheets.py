"""Roles with their heads by decision and the strongest head, and the trend of every role over layers."""

import math
from collections.abc import Sequence
from dataclasses import replace

from headroles.records.assessment import Depth, ValueDrop
from headroles.records.findings import DECISIONS
from headroles.records.layers import by_position
from headroles.records.numbers import mean, p_text, share, two_decimals, with_range
from headroles.reports.sheets import ENDS, MISSING, Cell, Sheet, columns_of_records, count_cell
from headroles.reports.summary import Role, Summary, Support
from headroles.reports.words.words import Interval, interval


def roles_sheet(summary: Summary, *, brief: bool = False) -> Sheet:
    """Return one line per role: heads by decision, the strongest head, and stable labels.

    Columns of contrasts, of explained, absent and strong heads, of differences to baselines and of stable
    labels are there where a role has any. Strong heads hold the role beyond its second contrast, too.

    Args:
        summary: What the page may say.
        brief: Whether contrasts stand without intervals.
    """
    strongest = [role.strongest for role in summary.roles]
    optional = (
        ("explained", any(role.contrast for role in summary.roles)),
        ("absent", any(role.bounded for role in summary.roles)),
        ("strong", any(role.stronger for role in summary.roles)),
        ("contrast" if brief else f"contrast {ENDS}", any(role.contrast for role in summary.roles)),
        (f"difference to baseline {ENDS}", any(head and head.beyond for head in strongest)),
        ("stable labels", any(firmness.steady is not None for firmness in summary.supports)),
    )
    header = (
        "role", "heads", "heads of tested", "not", "undetermined", "untestable", "threshold",
        "strongest head", f"its mean {ENDS}", "q",
    )  # fmt: skip
    supports = summary.supports or (None,) * len(summary.roles)
    lines = []
    for place, (role, firmness) in enumerate(zip(summary.roles, supports, strict=True)):
        head = role.strongest
        contrast, beyond = (head.contrast, head.beyond) if head else (None, None)
        tally = role.tally
        cells = (
            count_cell(tally.explained) if role.contrast else MISSING,
            count_cell(tally.absent) if role.bounded else MISSING,
            count_cell(tally.strong) if role.stronger else MISSING,
            Cell(mean(contrast.mean), contrast.mean) if brief and contrast else _interval(contrast),
            _interval(beyond),
            _steady(firmness),
        )
        more = (cell for cell, (_, shown) in zip(cells, optional, strict=True) if shown)
        lines.append((Cell(role.sieve, place), *_counts(role), *_strongest(summary, role), *more))
    return Sheet("Roles", header + tuple(name for name, shown in optional if shown), tuple(lines))


def _counts(role: Role) -> tuple[Cell, ...]:
    """Return heads by decision, and the threshold."""
    tally = role.tally
    return (
        count_cell(tally.role),
        Cell(f"{tally.role}/{tally.tests}", tally.role),
        *(count_cell(count) for count in (tally.not_role, tally.undetermined, tally.untestable)),
        Cell(f"{role.threshold:.3f}", role.threshold),
    )


def _strongest(summary: Summary, role: Role) -> tuple[Cell, ...]:
    """Return the strongest head of a role, its mean and its q."""
    head = role.strongest
    if head is None:
        return (Cell("none", math.nan), MISSING, MISSING)
    q = q_of(summary, role)
    place = Cell(summary.stack.name(head.layer, head.head), head.layer + head.head / 1000)
    return place, _interval(head.score), Cell(p_text(q), q)


def q_of(summary: Summary, role: Role) -> float:
    """Return the q of the strongest head of a role; NaN where there is none."""
    head = role.strongest
    if head is None:
        return math.nan
    return float(summary.of("q", role.position)[head.layer * summary.heads + head.head])


def _interval(ends: Interval | None) -> Cell:
    """Return a mean with its interval."""
    return Cell(interval(ends), ends.mean) if ends else MISSING


def _steady(firmness: Support | None) -> Cell:
    """Return how many labels of a role are stable."""
    if firmness is None or firmness.steady is None or not firmness.labels:
        return MISSING
    return Cell(f"{firmness.steady}/{firmness.labels}", firmness.steady / firmness.labels)


def values_sheet(summary: Summary, drops: Sequence[ValueDrop]) -> Sheet:
    """Return scores by attention and by norm-weighted attention, and the drop, of every head by role.

    Args:
        summary: Of the run, which has the verdicts.
        drops: Those of the run.
    """
    places = {role.sieve: role for role in summary.roles}
    lines = []
    for row in drops:
        role = places[row.sieve]
        cell = row.layer * summary.heads + row.head
        code = int(summary.decided(role.position)[cell])
        verdict = "parked" if DECISIONS[code] == "role" else role.verdict if code == 4 else DECISIONS[code]
        lines.append(
            (
                Cell(summary.stack.name(row.layer, row.head), cell),
                Cell(mean(row.attention), row.attention),
                Cell(mean(row.norm), row.norm),
                Cell(with_range(*map(mean, (row.drop, row.low, row.high))), row.drop),
                Cell(verdict, verdict),
            )
        )
    header = ("head", "by attention", "by norm", f"drop {ENDS}", "verdict")
    columns, values = columns_of_records(ValueDrop, by_position(drops, summary.stack))
    return Sheet("Scores by attention and by norm", header, tuple(lines), columns=columns, values=values)


def verdict_sheet(summary: Summary) -> Sheet:
    """Return the columns of ``roles_sheet`` that the page shows where a paragraph per role is too long."""
    names = (
        "heads", "strong", "explained", "not", "absent", "undetermined", "untestable", "threshold",
        "strongest head", f"its mean {ENDS}", f"difference to baseline {ENDS}", "stable labels",
    )  # fmt: skip
    return replace(roles_sheet(summary).pick(names), name="Verdicts")


HEADER = (
    "role", "heads", f"trend over depth {ENDS}", "reorderings as strong",
    *(f"{third} third {ENDS}" for third in ("first", "middle", "last")),
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
