"""The figure of pairs of roles: shares with their intervals over the range expected under permuted labels."""

import plotly.graph_objects as go

from headroles.records.assessment import RoleOverlap
from headroles.reports.figures.panel import FAINT, INK, RULE, SOFT, SYMBOLS, Panel, blank, plain, tone
from headroles.reports.records import Role, Summary
from headroles.reports.summary.pairs import (
    expected_text,
    is_outside,
    notable_pairs,
    overlap_text,
    pair_rows,
    pairs_of,
)
from headroles.reports.words.words import RELABELLINGS, plural

MOST_ROWS = 14
"""Rows after which no further pair is drawn."""
STEP = 40
"""Height of a row in pixels."""
HEADER = (
    "of the first, also the second", "contrasts", "heads of the first", "of the second",
    "of both [95\u00a0%]", "share of the first [95\u00a0%]", "dealt within layers [95\u00a0% range]",
)  # fmt: skip


def pairs(summary: Summary) -> Panel | None:
    """Draw the overlap of the most notable pairs; None where the run computed none."""
    all_pairs = pairs_of(summary)
    if not all_pairs:
        return None
    chosen = notable_pairs(summary)
    lines: list[RoleOverlap] = []
    for pair in chosen:
        lines += [row for row in (pair.found, pair.bare) if row is not None and row.heads_first]
        if len(lines) >= MOST_ROWS:
            break
    outliers = sum(is_outside(pair.found) for pair in chosen)
    figure = _figure(summary, lines)
    return Panel(
        key="pairs",
        title="Pairs of roles",
        sentence=(
            "Share of one role's heads that also hold another role, beside the share that dealing labels at "
            "random within layers gives."
        ),
        caption=_caption(outliers, len(chosen), len(lines)),
        figure=figure,
        header=HEADER,
        rows=pair_rows(summary),
    )


def _caption(beyond: int, chosen: int, lines: int) -> str:
    """Return how to read the figure, and how many pairs lie outside the expected range."""
    lie, come = ("lies", "comes") if beyond == 1 else ("lie", "come")
    outliers = f"{beyond} {lie} outside this range (a few would by chance) and {come} first"
    limit = f" The first {lines} rows are drawn." if lines >= MOST_ROWS else ""
    return (
        "Mark: the share this run found, hollow without the contrast beyond distance. Whiskers: its "
        f"95\u00a0% interval over {RELABELLINGS} resamples of the inputs. Bar: 95\u00a0% range of dealing "
        "the second role's labels anew within each layer, its mean as a stroke. Of "
        f"{plural(chosen, 'pair')} with a head in common, "
        f"{outliers if beyond else 'none lies outside this range'}.{limit} Pairs of a sieve and its own "
        "part are in the table only. Heads are not a sample: this describes the model and tests nothing."
    )


def _figure(summary: Summary, lines: list[RoleOverlap]) -> go.Figure:
    """Draw one row per overlap."""
    figure = blank(70 + STEP * max(len(lines), 1), margin={"l": 12, "r": 20, "t": 8, "b": 52})
    roles = {role.sieve: role for role in summary.roles}
    for place, row in enumerate(lines):
        level = float(len(lines) - 1 - place)
        _reference(figure, row, level)
        _mark(figure, row, level, roles[row.first])
        without = "" if row.contrasts == "with" else ", without the contrast"
        figure.add_annotation(
            x=0, y=level + 0.28, xref="paper", xanchor="left", yanchor="middle", showarrow=False,
            text=f"{_pair_name(row)}: {row.both} of {row.heads_first}{without}",
            font={"size": 12, "color": SOFT if without else INK},
        )  # fmt: skip
    if not lines:
        figure.add_annotation(
            x=0.5, y=0, xref="paper", showarrow=False, text="no head is shared", font={"color": SOFT}
        )  # fmt: skip
    figure.update_xaxes(
        title_text="share of the first role's heads", range=[-0.02, 1.02], tickformat=".0%", showline=True,
        tickvals=[0, 0.25, 0.5, 0.75, 1],
    )  # fmt: skip
    figure.update_yaxes(visible=False, range=[-0.5, max(len(lines), 1) - 0.4])
    return figure


def _reference(figure: go.Figure, row: RoleOverlap, level: float) -> None:
    """Draw the range of permuted labels as a bar, its mean as a stroke."""
    low, mean, high = (
        value / row.heads_first for value in (row.expected_low, row.expected, row.expected_high)
    )
    box = {"type": "rect", "y0": level - 0.27, "y1": level - 0.01, "layer": "below"}
    box |= {"fillcolor": RULE, "line": {"color": FAINT, "width": 1}}
    figure.add_shape(**box, x0=low - 0.002, x1=high + 0.002)
    figure.add_shape(
        type="line", x0=mean, x1=mean, y0=level - 0.27, y1=level - 0.01, line={"color": SOFT, "width": 2}
    )


def _pair_name(row: RoleOverlap) -> str:
    """Return the name of a pair."""
    return f"{plain(row.first)}, also {plain(row.second)}"


def _mark(figure: go.Figure, row: RoleOverlap, level: float, role: Role) -> None:
    """Draw the share that the run found over its interval, which need not be centred on it."""
    figure.add_scatter(
        x=[row.share_low, row.share_high], y=[level - 0.14] * 2, mode="lines+markers", hoverinfo="skip",
        line={"color": tone(role), "width": 2},
        marker={"symbol": "line-ns-open", "size": 9, "color": tone(role), "line": {"width": 2}},
    )  # fmt: skip
    figure.add_scatter(
        x=[row.share], y=[level - 0.14], mode="markers", name=_pair_name(row),
        marker={
            "symbol": SYMBOLS[role.symbol], "size": 10,
            "color": tone(role) if row.contrasts == "with" else "var(--paper)",
            "line": {"color": tone(role), "width": 2},
        },
        hovertemplate=(
            f"%{{fullData.name}}: {overlap_text(row)}<br>"
            f"dealt within layers: {expected_text(row)}<extra></extra>"
        ),
    )  # fmt: skip
