"""Results of a surface run as tables that sort."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headroles.records.findings import Labelling
from headroles.records.numbers import mean
from headroles.records.table import (
    ENDS,
    MISSING,
    Cell,
    Column,
    Row,
    Sheet,
    Table,
    chance,
    counted,
    head_cell,
    interval_ends,
)
from headroles.reports.words.surface import (
    GROUP,
    column_name,
    decision_counts,
    even_attention,
    has_scores,
    layers_of,
    noop_of,
    peak,
)


def _head(row: Row) -> Cell:
    """Return the head with the largest mean; a dash where there is none."""
    return MISSING if row.head is None else head_cell(row)


STATISTICS = Table(
    "",
    "Where attention heads look",
    "a statistic",
    (
        Column(
            "statistic", "Name of the statistic.", str, "statistic", short="attention to", terminal="narrow"
        ),
        Column("even", "Value of even attention.", float, "even"),
        counted("above", "Heads above even attention.", "above", text=str, terminal="narrow"),
        counted("below", "Heads below even attention.", "below", text=str, terminal="narrow"),
        counted("undetermined", "Heads that the inputs do not decide.", "undetermined", text=str),
        counted("untestable", "Heads that cannot be tested.", "untestable", text=str),
        Column("layer", "Layer of the head with the largest mean.", "int | None"),
        Column(
            "head", "The head with the largest mean.", "int | None", "largest in head", cell=_head,
            short="strongest", terminal="narrow",
        ),
        Column(
            "mean", "Its mean.", float, f"its mean {ENDS}", mean, ("low", "high"), short=f"mean {ENDS}",
            terminal="narrow",
        ),
        *interval_ends(),
        chance("q", "Its q of the test above even attention.", "q", terminal="narrow"),
        Column(
            "largest_layer", "The layer with the largest mean.", "int | None", "largest in layer",
            lambda value: "–" if value is None else str(value),
        ),
        Column(
            "layer_mean", "Its mean.", float, f"its mean {ENDS}", mean, ("layer_low", "layer_high")
        ),
        *interval_ends("layer_low", "layer_high"),
    ),
    name="Statistics",
)  # fmt: skip
"""Every statistic, with the head and the layer that have the largest means."""


def statistics(labelling: Labelling, names: Mapping[str, str] | None = None) -> Table:
    """Return one row per statistic: heads by decision, head and layer with the largest means.

    Args:
        labelling: The result of a surface run.
        names: Names of the columns to list; None: those of all statistics in words.
    """
    if names is None:
        known = (name for name in labelling.findings.sieves if name.startswith(GROUP))
        names = {name: column_name(name) for name in known}
    table = STATISTICS.rows(_statistic(labelling, name) for name in names)
    return table.describe("statistic", text=names.__getitem__)


def _statistic(labelling: Labelling, column: str) -> dict[str, Any]:
    """Return the values of one statistic."""
    findings, nan = labelling.findings, math.nan
    outcomes = ("above", "below", "undetermined", "untestable")
    row: dict[str, Any] = {"statistic": column, "even": even_attention(findings, column)}
    row |= dict(zip(outcomes, decision_counts(findings, column), strict=True))
    row |= {"layer": None, "head": None, "mean": nan, "low": nan, "high": nan, "q": nan}
    row |= {"largest_layer": None, "layer_mean": nan, "layer_low": nan, "layer_high": nan}
    if has_scores(findings, column):
        top = peak(labelling, column)
        row |= {"layer": top.layer, "head": top.head, "q": top.q}
        row |= {"mean": top.mean.mean, "low": top.mean.low, "high": top.mean.high}
    layers = layers_of(labelling, column)
    if layers:
        most = layers[int(layers["mean"].argmax())]
        row |= {"largest_layer": most.layer, "layer_mean": most.mean}
        row |= {"layer_low": most.low, "layer_high": most.high}
    return row


def noop_sheet(labelling: Labelling) -> Sheet | None:
    """Return every test of attention that does not matter, but for kinds no input has; None without any."""
    noop = noop_of(labelling)
    noop = noop.take(np.isin(noop["kind"], [*{test.kind for test in noop if test.count}]))
    return noop.sheet() if noop else None
