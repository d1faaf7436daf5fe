"""Tables of what holds across the runs of an atlas: roles in at least u of k runs, training steps."""

import math
from collections import Counter
from collections.abc import Sequence

from headroles.records.atlas.across import Consensus, StepTrend
from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import mean, p_text
from headroles.reports.sheets import (
    ENDS,
    MISSING,
    Cell,
    Sheet,
    columns_of_records,
    count_cell,
    range_cell,
    word_cell,
)


def most_runs(rows: Sequence[Consensus]) -> int:
    """Return the largest number of runs that could test a head."""
    return max((row.runs for row in rows), default=0)


def counts_sheet(atlas: Atlas, group: str = "") -> Sheet:
    """Return, per role, in at least how many runs heads hold it, by the test of partial conjunction.

    Args:
        atlas: Of some runs.
        group: Of the runs; "" for all groups.
    """
    chosen = [row for row in atlas.consensus if not group or row.group == group]
    most = most_runs(chosen)
    rows: list[tuple[Cell, ...]] = []
    values: list[tuple[int | str | None, ...]] = []
    for place, key in enumerate(dict.fromkeys((row.group, row.sieve) for row in chosen)):
        own = [row for row in chosen if (row.group, row.sieve) == key]
        runs = most_runs(own)
        counts = [sum(row.at_least >= u for row in own) if u <= runs else None for u in range(1, most + 1)]
        everywhere = sum(row.held == row.runs == runs for row in own) if runs else None
        cells = [_count(number) for number in counts]
        named = (word_cell(key[0]),) if not group else ()
        rows.append((Cell(key[1], place), *named, count_cell(runs), *cells, _count(everywhere)))
        values.append((key[1], key[0], runs, *counts, everywhere))
    ahead = tuple(f"in at least {u}" for u in range(1, most + 1))
    return Sheet(
        "Heads by the runs in which they hold a role",
        ("role", *(() if group else ("rule",)), "runs", *ahead, "labelled in all"),
        tuple(rows),
        columns=("role", "group", "runs", *(f"at_least_{u}" for u in range(1, most + 1)), "labelled_in_all"),
        values=tuple(values),
    )


def _count(number: int | None) -> Cell:
    """Return a number of heads; a dash where no run could test any."""
    return MISSING if number is None else count_cell(number)


def consensus_sheet(atlas: Atlas) -> Sheet:
    """Return every role of every head over the runs of a group, those with a role in some run."""
    chosen = [row for row in atlas.consensus if row.held or row.at_least]
    pooled = any(not math.isnan(row.mean) for row in chosen)
    two = any(not math.isnan(row.r) for row in chosen)
    lines = []
    for place, row in enumerate(chosen):
        lines.append(
            (
                Cell(row.sieve, place),
                word_cell(row.group),
                Cell(f"{row.layer}-{row.head}", row.layer + row.head / 10_000),
                count_cell(row.runs),
                count_cell(row.held),
                count_cell(row.at_least),
                Cell(p_text(row.q_all), row.q_all),
                *([MISSING if math.isnan(row.r) else Cell(p_text(row.r), row.r)] if two else []),
                *([_pooled(row)] if pooled else []),
            )
        )
    columns, values = columns_of_records(Consensus, atlas.consensus)
    header = (
        "role", "rule", "head", "runs", "labelled in", "at least", "q of all", *(["r value"] if two else []),
        *([f"pooled mean {ENDS}"] if pooled else []),
    )  # fmt: skip
    return Sheet("Consensus", header, tuple(lines), columns=columns, values=values)


def _pooled(row: Consensus) -> Cell:
    """Return the pooled mean of a head with its interval."""
    return MISSING if math.isnan(row.mean) else range_cell(mean, row.mean, row.low, row.high)


def trends_sheet(atlas: Atlas) -> Sheet:
    """Return the roles of heads that change over the steps of a training, or hold at the last step."""
    chosen = [row for row in atlas.steps if row.emerged or row.lost or row.trend in ("rises", "falls")]
    lines = [
        (
            Cell(row.sieve, place),
            Cell(f"{row.layer}-{row.head}", row.layer + row.head / 10_000),
            range_cell(mean, row.slope, row.low, row.high),
            Cell(p_text(row.q), row.q),
            word_cell(row.trend),
            word_cell(row.emerged or "–"),
            word_cell(emergence_text(row)),
            word_cell(row.lost or "–"),
        )
        for place, row in enumerate(chosen)
    ]
    columns, values = columns_of_records(StepTrend, atlas.steps)
    header = ("role", "head", f"change a step {ENDS}", "q", "trend", "holds from", f"from {ENDS}", "lost at")
    return Sheet("Steps of the training", header, tuple(lines), columns=columns, values=values)


def emergence_text(row: StepTrend) -> str:
    """Return the interval of the step from which a role holds, in words.

    Example:
        >>> row = StepTrend("local", 0, 1, 0.1, 0.0, 0.2, 0.01, 0.02, "rises", "c", "b", "c", "")
        >>> emergence_text(row)
        'b to c'
    """
    if not row.latest:
        return f"{row.earliest} or later" if row.earliest else "–"
    return f"{row.earliest} to {row.latest}" if row.earliest else f"by {row.latest}"


def emerged_sheet(atlas: Atlas) -> Sheet:
    """Return, per role, how many heads hold it from each step until the last."""
    names = [run.name for run in atlas.runs]
    lines, values = [], []
    for place, role in enumerate(dict.fromkeys(row.sieve for row in atlas.steps)):
        own = [row for row in atlas.steps if row.sieve == role]
        counts = Counter(row.emerged for row in own)
        trends = Counter(row.trend for row in own)
        numbers = [
            *(counts[name] for name in names), sum(bool(row.lost) for row in own), trends["rises"],
            trends["falls"],
        ]  # fmt: skip
        lines.append((Cell(role, place), *map(count_cell, numbers)))
        values.append((role, *numbers))
    return Sheet(
        "Heads by the step from which they hold a role",
        ("role", *(f"from {name}" for name in names), "lost", "rise", "fall"),
        tuple(lines),
        columns=("role", *names, "lost", "rises", "falls"),
        values=tuple(values),
    )
