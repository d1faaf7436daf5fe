"""Figures of an atlas: p values of all runs, roles a head by layer, and agreement of labels."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.atlas.atlas import Atlas
from headroles.records.numbers import percent_text, plural, two_decimals
from headroles.reports.figures.drawing import (
    SOFT,
    Figure,
    add_cells,
    add_note,
    add_scatter,
    blank,
    error_bars,
    set_axis,
)
from headroles.reports.figures.panel import Panel, plain
from headroles.reports.label_figures import ends_of
from headroles.reports.sections.atlas_sheets import agreement_sheet, p_table
from headroles.reports.words.words import CAPTION

BINS = 20
"""Fields of equal width in which p values are counted: the first and the last are those near 0 and 1."""
ROW = 30
"""Height of a row of a map in pixels."""
MOST_COLUMNS = 12
"""Pairs of runs that have a name and numbers in a map of agreement; more do not fit on a small screen."""
COLOURS = 8
"""Colours of runs; a ninth run takes the first again, with another line."""
DASHES = ("solid", "dash", "dot")


def atlas_panels(atlas: Atlas) -> tuple[Panel, ...]:
    """Draw every figure of an atlas but the maps, in the order of its page.

    Args:
        atlas: Of some runs.
    """
    agreement = (
        agreement_panel(atlas, place, group)
        for place, group in enumerate(atlas.groups)
        if any(row.group == group for row in atlas.agreement)
    )
    return (*agreement, p_panel(atlas), several_panel(atlas))


def largest_means(atlas: Atlas, role: str) -> dict[str, float]:
    """Return the largest mean of a role over the runs of each statistic."""
    tops: dict[str, float] = {}
    for run, found in zip(atlas.runs, atlas.findings, strict=True):
        if role in found.roles:
            top = float(np.nanmax(found.numbers["mean"][found.of(role)], initial=0.0))
            tops[run.statistic] = max(top, tops.get(run.statistic, 0.0))
    return tops


def p_counts(atlas: Atlas) -> Float[np.ndarray, "runs bins"]:
    """Return the share of p values of each run in each of the fields from 0 to 1; NaN without a test."""
    edges = np.linspace(0, 1, BINS + 1)
    rows = []
    for place in range(len(atlas.runs)):
        p = atlas.p_values(place)
        known = p[~np.isnan(p)]
        counts = np.histogram(known, edges)[0]
        rows.append(counts / known.size if known.size else np.full(BINS, np.nan))
    return np.stack(rows)


def p_panel(atlas: Atlas) -> Panel:
    """Draw where the p values of every run lie between 0 and 1."""
    shares = p_counts(atlas)
    figure = blank(70 + ROW * len(atlas.runs), margin={"l": 12, "r": 12, "t": 8, "b": 52})
    text = [[f"{100 * part:.0f}" if part >= 0.005 else "" for part in row] for row in shares.tolist()]
    add_cells(
        figure, shares, ("var(--panel)", "var(--tone-0)"), (0, 1), text=text, size=11,
        hovertemplate="%{customdata[2]:.1%} of p<extra></extra>",
    )  # fmt: skip
    set_axis(
        figure, "xaxis", title="p before correction", tickmode="array",
        tickvals=[-0.5, 4.5, 9.5, 14.5, 19.5], ticktext=["0", "0.25", "0.5", "0.75", "1"],
        range=[-0.6, BINS - 0.4],
    )  # fmt: skip
    _run_axis(figure, atlas)
    table = p_table(atlas)
    sheet, last = table.sheet(), table[-1]
    return Panel(
        key="p-values",
        title="p values of all runs",
        sentence=f"{percent_text(last.share)} of {plural(last.tests, 'p value')} lie near 0 or 1, one row "
        "per run.",
        caption="Per cent of the p values of a run in each twentieth of the line from 0 to 1. The first "
        "field is p below 0.05, the last p above 0.95. With a contrast, p is the larger of the two tests.",
        figure=figure,
        header=sheet.header,
        rows=sheet.texts,
    )


def _run_axis(figure: Figure, atlas: Atlas) -> None:
    """Write the names of the runs at the rows of a map."""
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(atlas.runs))),
        ticktext=[plain(run.name) for run in atlas.runs],
    )  # fmt: skip


def several_panel(atlas: Atlas) -> Panel:
    """Draw roles a head and the share of heads with several roles, over relative depth, a line per run."""
    figure = blank(460, margin={"l": 56, "r": 16, "t": 28, "b": 52})
    parts = (
        ("", "Roles a head", (0.55, 1.0)),
        ("2", "Heads with two or more roles, %", (0.0, 0.43)),
    )
    tops = [0.0, 0.0]
    for number, (run, several) in enumerate(zip(atlas.runs, atlas.several, strict=True)):
        shift = (number - (len(atlas.runs) - 1) / 2) * 0.05 / max(len(atlas.runs), 4) / run.blocks
        depth = (run.depths + shift * 6).tolist()
        for part, (axis, _, _) in enumerate(parts):
            ends = ends_of(several, part)
            tops[part] = max(tops[part], *(high for _, _, high in ends))
            add_scatter(
                figure, x=depth, y=[value for value, _, _ in ends], yaxis=f"y{axis}", mode="lines+markers",
                name=plain(run.name), meta={"role": number}, **_line(number),
                error_y=error_bars(ends, color=_colour(number), thickness=1.1, width=2),
                customdata=[
                    [layer, low, high] for layer, (_, low, high) in zip(run.layers, ends, strict=True)
                ],
                hovertemplate="%{fullData.name}, layer %{customdata[0]}: %{y:.2f} "
                "[%{customdata[1]:.2f}, %{customdata[2]:.2f}]<extra></extra>",
            )  # fmt: skip
    for (axis, title, domain), top in zip(parts, tops, strict=True):
        high = top or 1.0
        set_axis(
            figure,
            f"yaxis{axis}",
            domain=list(domain),
            range=[-0.06 * high, 1.12 * high],
            nticks=5,
            anchor="x",
        )
        add_note(
            figure, title, color=SOFT, x=0, xref="paper", xanchor="left", y=1, yref=f"y{axis} domain",
            yanchor="bottom",
        )  # fmt: skip
    _depth_axis(figure, atlas)
    sheet = atlas.layers.sheet()
    return Panel(
        key="several",
        title="Roles a head by layer",
        sentence="Roles a head, and heads with two or more roles, by layer: a line per run.",
        caption=CAPTION,
        figure=figure,
        header=sheet.header,
        rows=sheet.texts,
        legend=tuple(range(len(atlas.runs))),
    )


def _depth_axis(figure: Figure, atlas: Atlas) -> None:
    """Write the layers below the figure, or relative depth where runs have different ones."""
    stacks = {(run.layers, run.blocks) for run in atlas.runs}
    first = atlas.runs[0]
    step = 1 if len(first.layers) <= 16 else 4
    ticks = (
        {
            "tickvals": first.depths[::step].tolist(),
            "ticktext": [str(layer) for layer in first.layers[::step]],
        }
        if len(stacks) == 1
        else {"tickvals": [0, 0.25, 0.5, 0.75, 1], "ticktext": ["0", "0.25", "0.5", "0.75", "1"]}
    )
    title = "layer" if len(stacks) == 1 else "relative depth"
    set_axis(
        figure, "xaxis", title=title, showgrid=False, range=[0, 1], tickmode="array", anchor="free",
        position=0, **ticks,
    )  # fmt: skip


def _colour(number: int) -> str:
    """Return the colour of a run."""
    return f"var(--tone-{number % COLOURS})"


def _line(number: int) -> dict[str, object]:
    """Return the looks of a run's line."""
    dash = DASHES[number // COLOURS % len(DASHES)]
    return {
        "line": {"color": _colour(number), "width": 1.5, "dash": dash},
        "marker": {"color": _colour(number), "size": 7},
    }


def agreement_panel(atlas: Atlas, place: int, group: str) -> Panel:
    """Draw kappa of every role and pair of runs of one group, and the means over pairs.

    Args:
        atlas: Of some runs.
        place: Place of the group among the groups.
        group: Its name.
    """
    rows = [row for row in atlas.agreement if row.group == group and row.sieve]
    roles = list(dict.fromkeys(row.sieve for row in rows))
    pairs = list(dict.fromkeys((row.run_a, row.run_b) for row in rows if row.run_a))
    columns = [*pairs, ("", "")]
    kappa = np.full((len(roles), len(columns)), np.nan)
    for row in rows:
        kappa[roles.index(row.sieve), columns.index((row.run_a, row.run_b))] = row.kappa
    shortest = _short_names([atlas.runs[number].name for number in atlas.members(group)], group)
    names = [f"{plain(shortest[a])}<br>{plain(shortest[b])}" for a, b in pairs]
    many = len(columns) > MOST_COLUMNS
    figure = blank(90 + ROW * len(roles), margin={"l": 12, "r": 12, "t": 8, "b": 60})
    words = [f"{plain(shortest[a])} and {plain(shortest[b])}" if b else "mean" for a, b in columns]
    add_cells(
        figure, kappa, ("var(--panel)", "var(--tone-2)"), (0, 1), size=11,
        text=[["" if many else two_decimals(value) for value in line] for line in kappa.tolist()],
        hovertext=[words[column] for column in np.nonzero(~np.isnan(kappa))[1]],
        hovertemplate="%{hovertext}: kappa %{customdata[2]:.2f}<extra></extra>",
    )  # fmt: skip
    set_axis(
        figure, "xaxis", tickmode="array", tickvals=[] if many else list(range(len(columns))),
        ticktext=[] if many else [*names, "<b>mean</b>"],
        tickangle=0 if len(columns) <= 8 else 90,
    )  # fmt: skip
    set_axis(
        figure, "yaxis", tickmode="array", tickvals=list(range(len(roles))),
        ticktext=[plain(role) for role in roles],
    )  # fmt: skip
    sheet = agreement_sheet(atlas, group)
    return Panel(
        key="agreement" if len(atlas.groups) == 1 else f"agreement-{place + 1}",
        title=f"Agreement of labels: {group}",
        sentence=f"Cohen's kappa of the heads with each role, for every pair of runs ({group}).",
        caption="1 is full agreement, 0 that of labels with the same counts at random. No field: in both "
        "runs no head holds the role, or one of them could not test it. Intervals over inputs stand in "
        "the table." + " A column is a pair of runs, in the order of the table; the last is the mean." * many,
        figure=figure,
        header=sheet.header,
        rows=sheet.texts,
    )


def _short_names(names: Sequence[str], group: str) -> dict[str, str]:
    """Return the names of runs without that of their group, by their whole names."""
    return {name: name.removesuffix(f" {group}") for name in names}
