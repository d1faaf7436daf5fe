"""The map of pairs of roles: shared heads over the number that shuffled labels would share."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from headroles.records.numbers import plural
from headroles.records.table import Row
from headroles.reports.figures.drawing import SOFT, Figure, add_cells, add_note, blank, set_axis
from headroles.reports.figures.panel import Panel, plain
from headroles.reports.records import Summary
from headroles.reports.summary.pairs import is_outside, is_part, notable_pairs, pairs_of, pairs_table

MOST = 24
"""Roles drawn at most: those of the most notable pairs."""
REACH = 2.0
"""Doublings, or halvings, at the ends of the scale."""
ROW = 26
"""Height of a row in pixels."""
FEWER, MORE = "var(--tone-0)", "var(--tone-1)"
"""Colours of pairs that share fewer and more heads than by chance."""

Pairs = Mapping[tuple[str, str], Row]


def pairs(summary: Summary) -> Panel | None:
    """Draw how many heads every two roles share, over the number by chance; None where the run has none."""
    overlaps = {names: pair.found for names, pair in pairs_of(summary).items()}
    if not overlaps:
        return None
    chosen = notable_pairs(summary)
    names = _drawn_roles(summary)
    sheet = pairs_table(summary).sheet()
    outliers = sum(is_outside(pair.found) for pair in chosen)
    limit = f" The {len(names)} roles of the most notable pairs are drawn." if summary.many else ""
    return Panel(
        key="pairs",
        title="Pairs of roles",
        sentence="Heads that two roles share, against the number by chance (labels shuffled within layers).",
        caption=(
            "Number: heads of both roles. Orange: more than by chance, blue: fewer; a dot: outside "
            f"95\u00a0% of the shuffles ({outliers} of {plural(len(chosen), 'pair')}).{limit} Not drawn: a "
            "role with its own part. Heads are not a sample, so nothing is tested."
        ),
        figure=_figure(summary, names, overlaps),
        header=sheet.header,
        rows=sheet.texts,
    )


def _drawn_roles(summary: Summary) -> list[str]:
    """Return the roles to draw, in their order; of many, those of the most notable pairs."""
    names = [role.sieve for role in summary.roles if role.tally.role]
    if not summary.many:
        return names
    wanted: list[str] = []
    for pair in notable_pairs(summary):
        wanted += [name for name in (pair.found.first, pair.found.second) if name not in wanted]
    return [name for name in names if name in wanted[:MOST]]


def _figure(summary: Summary, names: list[str], overlaps: Pairs) -> Figure:
    """Draw the lower half of the map of roles by roles, a cell per pair."""
    rows, columns = names[1:], names[:-1]
    figure = blank(80 + ROW * max(len(rows), 1), margin={"l": 12, "r": 12, "t": 8, "b": 48})
    ratio, numbers, texts = _cells(rows, columns, overlaps)
    drawn = zip(*np.nonzero(~np.isnan(ratio)), strict=True)
    add_cells(
        figure, ratio, (FEWER, "var(--panel)", MORE), (-REACH, REACH), text=texts, numbers=numbers, size=11,
        hovertext=[f"{plain(rows[row])} and {plain(columns[column])}" for row, column in drawn],
        name="pairs", hovertemplate="%{hovertext}<br>heads of both: %{customdata[3]}<br>"
        "by chance %{customdata[4]:.1f} [%{customdata[5]:.1f}, %{customdata[6]:.1f}]<extra></extra>",
        colorbar={
            "tickvals": [-REACH, 0, REACH], "ticktext": ["¼", "1", "4"],
            "title": {"text": "times chance", "side": "right", "font": {"color": SOFT, "size": 12}},
            "tickfont": {"color": SOFT, "size": 12},
        },
    )  # fmt: skip
    if not numbers[..., 0].any(where=~np.isnan(ratio)):
        add_note(figure, "no head is shared", x=0.5, xref="paper", y=0.5, yref="paper")
    codes = {role.sieve: f"<b>{role.code}</b>" for role in summary.roles}
    ticks = {"tickmode": "array", "ticks": ""}
    sides = [f"{plain(name)}  {codes[name]}" for name in rows]
    set_axis(figure, "yaxis", tickvals=list(range(len(rows))), ticktext=sides, **ticks)
    feet = [codes[name] for name in columns]
    set_axis(figure, "xaxis", tickvals=list(range(len(columns))), ticktext=feet, tickangle=0, **ticks)
    return figure


def _cells(
    rows: list[str], columns: list[str], overlaps: Pairs
) -> tuple[Float[np.ndarray, "rows columns"], Float[np.ndarray, "rows columns 4"], list[list[str]]]:
    """Return doublings beyond chance, the numbers behind them, and the texts; NaN above the diagonal."""
    shape = (len(rows), len(columns))
    ratio, numbers = np.full(shape, math.nan), np.full((*shape, 4), math.nan)
    texts = [[""] * len(columns) for _ in rows]
    for row, first in enumerate(rows):
        for column, second in enumerate(columns[: row + 1]):
            pair = overlaps.get((first, second))
            if pair is None or is_part(first, second):
                continue
            numbers[row, column] = pair.both, pair.expected, pair.expected_low, pair.expected_high
            ratio[row, column] = _doublings(pair.both, pair.expected)
            texts[row][column] = f"{pair.both}{' •' * is_outside(pair)}"
    return ratio, numbers, texts


def _doublings(both: int, expected: float) -> float:
    """Return how often the expected number doubles to the shared one, within the scale.

    Half a head is added to both, so that small numbers do not look large.

    Example:
        >>> _doublings(7, 3.25), _doublings(0, 0.0), _doublings(0, 9.5)
        (1.0, 0.0, -2.0)
    """
    return max(-REACH, min(REACH, math.log2((both + 0.5) / (expected + 0.5))))
