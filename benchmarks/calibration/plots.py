"""Draw the pictures of the summary page: false roles, false nots, and what is found and covered."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
import numpy as np
from column_tables import column_cells, column_units
from limits import Cell, errors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import made_cells, sizes

mpl.use("svg")
Data = dict[str, Any]
NOMINAL = 0.05
SHAPES = ("normal", "heavy-tailed", "right-skewed", "left-skewed")
"""Made scores that get a panel."""
WAYS = (
    ("t-skew", "holm", "t-skew (default), holm", "#0063a8", "o"),
    ("t-skew", "maxT", "t-skew, maxT", "#00786b", "s"),
    ("t", "holm", "t, holm", "#b5480a", "^"),
)
"""Test, correction, words, colour and marker of every line."""
GUARDS = (("guarded", "as decided", "#0063a8"), ("bare", "without the check", "#8a8a8a"))
SMALLEST = 0.002
"""Rates below this are drawn here, since an axis of ratios has no 0."""
INTERVALS = (("t-skew", "o"), ("t", "^"), ("bootstrap-t", "s"), ("bca", "D"))
COLOURS = {"t-skew": "#0063a8", "t": "#b5480a", "bootstrap-t": "#00786b", "bca": "#8e3a9d"}
SIDES = ("role", "not")
STYLE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "drawn.mplstyle"


def _text(figure: Figure) -> str:
    """Return a figure as SVG without a date, so that equal figures give equal files."""
    file = StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _units_axis(axes: Axes, units: Sequence[int]) -> None:
    """Draw the numbers of units as equal steps of a logarithmic axis."""
    axes.set_xscale("log")
    axes.set_xticks(units, [str(size) for size in units], fontsize=7.5)
    axes.minorticks_off()
    axes.set_xlabel("units")


def _rate_axis(axes: Axes, first: bool) -> None:
    """Draw shares of families on a logarithmic axis, with the nominal rate as a dashed line."""
    axes.set_yscale("log")
    ticks = (0.002, 0.01, 0.05, 0.2, 1.0)
    axes.set_ylim(0.0015, 1.2)
    axes.set_yticks(ticks, [f"{tick:g}" if first else "" for tick in ticks])
    axes.minorticks_off()
    axes.axhline(NOMINAL, color="#444444", linewidth=0.8, linestyle="--")


def _made_panel(axes: Axes, cells: Sequence[Cell], side: int) -> None:
    """Draw the family-wise error of every way of testing for one shape of scores."""
    units = sizes(cells)
    for test, correction, words, colour, marker in WAYS:
        rates = [max(errors(cell, test, correction, "null", (side,))[0][0], SMALLEST) for cell in cells]
        axes.plot(units, rates, color=colour, marker=marker, markersize=4, linewidth=1.2, label=words)
    _units_axis(axes, units)


def _real_panel(axes: Axes, data: Data, side: int) -> None:
    """Draw the median and the largest error over the columns of real runs, with the check and without it."""
    units = column_units(data)
    for guard, words, colour in GUARDS:
        rates = np.array(
            [
                [max(part(_column_errors(data, size, guard, side)), SMALLEST) for part in (median, max)]
                for size in units
            ]
        )
        axes.plot(units, rates[:, 1], color=colour, linewidth=1.2, linestyle="-", marker="v", markersize=4,
                  label=f"{words}, worst")  # fmt: skip
        axes.plot(units, rates[:, 0], color=colour, linewidth=1.0, linestyle=":", marker=".", markersize=5,
                  label=f"{words}, median")  # fmt: skip
    _units_axis(axes, units)


def _column_errors(data: Data, units: int, guard: str, side: int) -> list[float]:
    """Return the family-wise error of every column of scores, with every head at its threshold."""
    return [cell["errors"][f"all, {guard}"][side] for cell in column_cells(data, units, True)]


def false_claims(data: Data, side: int) -> str:
    """Draw how many families of heads at the threshold have a false role (side 0) or a false not (side 1).

    Args:
        data: The content of ``calibration.json``.
        side: 0 for roles, 1 for nots.
    """
    real = bool(column_cells(data))
    shapes = [name for name in SHAPES if any(cell["population"] == name for cell in made_cells(data))]
    with mpl.rc_context(fname=STYLE):
        figure = Figure(figsize=(8.6, 3.3))
        panels = figure.subplots(1, max(1, len(shapes) + real), squeeze=False)[0]
        for place, name in enumerate(shapes):
            _made_panel(
                panels[place], [cell for cell in made_cells(data) if cell["population"] == name], side
            )
            panels[place].set_title(f"{name} scores")
        if real:
            _real_panel(panels[-1], data, side)
            panels[-1].set_title("columns of real runs")
        for place, axes in enumerate(panels):
            _rate_axis(axes, place == 0)
        panels[0].set_ylabel(f"families with a false {SIDES[side]}")
        if shapes:
            figure.legend(*panels[0].get_legend_handles_labels(), loc="lower left", ncols=3, fontsize=7.5)
        if real:
            handles = panels[-1].get_legend_handles_labels()
            figure.legend(*handles, loc="lower right", ncols=2, fontsize=7.5)
        figure.tight_layout(rect=(0, 0.13, 1, 1))
        return _text(figure)


def found_and_covered(data: Data) -> str:
    """Draw the share of true roles that are found, and the coverage of the intervals of a mean.

    Args:
        data: The content of ``calibration.json``.
    """
    with mpl.rc_context(fname=STYLE):
        figure = Figure(figsize=(8.6, 3.3))
        power, *covered = figure.subplots(1, 3, width_ratios=(1.2, 1, 1))
        _power_panel(power, [cell for cell in made_cells(data) if cell["population"] == "normal"])
        for axes, name in zip(covered, ("normal", "right-skewed"), strict=True):
            _coverage_panel(axes, [cell for cell in made_cells(data) if cell["population"] == name])
            axes.set_title(f"95 % intervals, {name}")
        covered[0].set_ylabel("covered")
        figure.tight_layout()
        return _text(figure)


def _power_panel(axes: Axes, cells: Sequence[Cell]) -> None:
    """Draw the share of true roles found by the default test under two corrections."""
    units = sizes(cells)
    for correction, colour, marker in (("fdr_bh", "#0063a8", "o"), ("holm", "#b5480a", "^")):
        for effect, line in (("0.5", "-"), ("0.3", ":")):
            shares = [errors(cell, "t-skew", correction, f"power {effect}", (0,))[0][0] for cell in cells]
            axes.plot(units, shares, color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1.2,
                      label=f"{correction}, d = {effect}")  # fmt: skip
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("true roles found")
    axes.set_title("power, normal scores")
    _units_axis(axes, units)
    if units:
        axes.legend(fontsize=7.5, loc="lower right")


def _coverage_panel(axes: Axes, cells: Sequence[Cell]) -> None:
    """Draw the coverage of every kind of interval for one shape of scores."""
    having = [cell for cell in cells if "coverage" in cell]
    units = sizes(having)
    for name, marker in INTERVALS:
        shares = [cell["coverage"][name][0] for cell in having]
        axes.plot(units, shares, color=COLOURS[name], marker=marker, markersize=4, linewidth=1.2, label=name)
    axes.axhline(0.95, color="#444444", linewidth=0.8, linestyle="--")
    axes.set_ylim(0.9, 0.98)
    _units_axis(axes, units)
    if units:
        axes.legend(fontsize=7.5, loc="lower right")


PICTURES: dict[str, Callable[[Data], str]] = {
    "calibration-roles.svg": lambda data: false_claims(data, 0),
    "calibration-nots.svg": lambda data: false_claims(data, 1),
    "calibration-power.svg": found_and_covered,
}
"""The pictures by file name."""
