"""Result of a replication: roles of one run, tested on the inputs of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headroles.records.numbers import percent, points, two_decimals
from headroles.records.prompt import replication_text
from headroles.records.rules.rule import Decision
from headroles.records.table import (
    HEAD,
    LAYER,
    SHARE,
    Cell,
    Column,
    Row,
    Table,
    chance,
    counted,
    interval_ends,
)

if TYPE_CHECKING:
    import pandas as pd


REPLICATES = Table("replicated.csv", "The table that `--out` names", "a role of a head in run A", (
    Column("sieve", "Name of the column, such as \"local\" or \"dependency:nsubj:→\".", str), LAYER, HEAD,
    Column("mean_a", "Mean score in A, on the score scale."),
    Column("null_a", "Mean chance value in A."),
    chance("q_a", "Adjusted p in A."),
    counted("count", "Units of B that counted."),
    Column("mean", "Mean score in B."),
    Column("null", "Mean chance value in B."),
    Column("margin", "Distance beyond the null that counts, as in A."),
    *interval_ends(),
    Column("statistic", "Test statistic of `mean − null − margin` in B."),
    chance("p", "One-sided p of \"not beyond the margin\" in B; joint with the contrast where there is one."),
    chance("q", "`p` adjusted over the roles of A in the same family."),
    chance("p_not", "One-sided p of \"not below the margin\" in B, of the score alone."),
    chance("q_not", "`p_not` adjusted likewise."),
    Column("decision", "Decision in B: `role` (it replicates), `not`, `undetermined`, `untestable` or "
           "`explained`.", str, words=("role", "not", "undetermined", "untestable", "explained")),
))  # fmt: skip
COUNTS = Table(
    "", "Roles of A on B", "a column, or a row of a probe (\"dependency:nsubj\", both directions)",
    (
        Column("name", "Name of the column, or of the row.", str, "row", terminal="narrow"),
        counted("columns", "Number of columns counted together."),
        counted("roles", "Roles in A, all of which are tested on B.", "roles in A", terminal="narrow"),
        counted("role", "Of these, roles in B.", "role in B", terminal="narrow"),
        counted("not_role", "Of these, \"not\" in B.", "not", terminal="narrow"),
        counted("undetermined", "Of these, undetermined in B.", "undetermined", terminal="narrow"),
        counted("untestable", "Of these, without enough units in B.", "untestable", terminal="narrow"),
        counted("explained", "Of these, explained by their contrast in B.", "explained", terminal="narrow"),
        counted("heads", "Heads (of all its columns) with a mean in both runs."),
        Column("correlation", "Pearson's r of their means in A and in B; NaN for fewer than three heads or "
               "no spread. It describes these heads: no test is made of it.", float, "r", two_decimals,
               terminal="narrow", within=(-1.0, 1.0)),
    ),
    first=("name", "roles", "role", "explained"),
)  # fmt: skip


def _direction(row: Row) -> Cell:
    text = f"{row.layer}-{row.head} {row.direction}".rstrip()
    return Cell(text, text)


BEST = Table("", "Best heads of A on B", "a row of a probe", (
    Column("row", "Row of the probe, such as \"dependency:nsubj\".", str, "best head of A",
           terminal="narrow"),
    Column("direction", "\"→\", \"←\" or empty.", str, "head", cell=_direction, terminal="narrow"),
    LAYER, replace(HEAD, heading="", meaning="Index in its layer of the head that A chose."),
    Column("decision_a", "Decision in A: `beyond` its baseline, `not`, `undetermined` or `untestable`.", str),
    Column("accuracy_a", "Accuracy on the test half of A.", float, "A: % right", percent, terminal="narrow",
           within=SHARE),
    Column("difference_a", "Accuracy minus that of the baseline, on the test half of A.", float, "A: beyond",
           points, terminal="narrow", within=(-1.0, 1.0)),
    counted("count", "Units of B that counted."),
    Column("accuracy", "Accuracy in B, over all items.", float, "B: % right", percent, terminal="narrow",
           within=SHARE),
    Column("baseline_accuracy", "Accuracy of B's own cross-fitted baseline.", within=SHARE),
    Column("difference", "Accuracy minus that of the baseline, in B.", float, "B: beyond", points,
           ("difference_low", "difference_high"), terminal="narrow", within=(-1.0, 1.0)),
    *interval_ends("difference_low", "difference_high"),
    chance("p", "One-sided p of difference ≤ margin in B."),
    chance("q", "`p` adjusted over the rows of the probe that are beyond their baselines in A; NaN for "
           "others.",
           "q", terminal="narrow"),
    Column("decision", "Decision in B: `beyond`, `not`, `undetermined`, `untestable`; empty where A "
           "proposed no head.", str, "B", terminal="narrow"),
))  # fmt: skip


def _gap(row: Row) -> Cell:
    text = f"{row.first} − {row.second}" + (f", {row.measure}" if row.measure != "accuracy" else "")
    return Cell(text, text)


GAPS = Table(
    "", "Gaps of A on B", "a gap between two conditions that A found for a head",
    (
        LAYER, HEAD,
        Column("measure", "What the gap is of.", str, "gap in A", cell=_gap, terminal="narrow",
               words=("accuracy", "f1")),
        Column("first", "Name of the first condition (\"pro\", \"feminine\").", str),
        Column("second", "Name of the second (\"anti\", \"masculine\").", str),
        Column("difference_a", "First minus second in A.", float, "A: points", points, terminal="narrow",
               within=(-1.0, 1.0)),
        chance("q_a", "Adjusted two-sided p in A."),
        Column("difference", "First minus second in B.", float, "B: points", points, ("low", "high"),
               terminal="narrow", within=(-1.0, 1.0)),
        *interval_ends(),
        chance("p", "One-sided p in B of \"no gap in the direction of A\"."),
        chance("q", "`p` adjusted over the gaps that A found for these conditions and this measure.", "q",
               terminal="narrow"),
        Column("decision", "In B: `gap` (it replicates), `reversed` (significant the other way), "
               "`undetermined` or `untestable`.", str, "B", terminal="narrow"),
    ),
    first=("measure",),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Replication:
    """The roles of run A on the inputs of run B.

    Attributes:
        decision: Test, correction, family and alpha that judge B.
        replicates: Every role of A in the columns of both runs, tested on run B (``REPLICATES``).
        columns: Counts per column of both runs (``COUNTS``).
        rows: Counts per row of a probe, over its columns; a column of no row is counted by itself.
        best: Best head of A per row of a probe, on all data of B (``BEST``).
        gaps: Gaps between conditions that A found, tested on the documents of B (``GAPS``).
        only_a: Columns that only A has, which are left out.
        only_b: Columns that only B has, which are left out.
        notes: Remarks for the reader, one sentence each.
        manifest: Facts about both runs (JSON types only).
    """

    decision: Decision
    replicates: Table = REPLICATES
    columns: Table = COUNTS
    rows: Table = COUNTS
    best: Table = BEST
    gaps: Table = GAPS
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def outcomes(self) -> Counter[str]:
        """Number of roles of A per decision in B."""
        return Counter(row.decision for row in self.replicates)

    def frame(self) -> pd.DataFrame:
        """Return one row per role of A, with its test on B."""
        return self.replicates.frame()

    def by_column(self) -> pd.DataFrame:
        """Return one row per column of both runs."""
        return self.columns.frame()

    def by_row(self) -> pd.DataFrame:
        """Return one row per row of a probe, over both directions, or per other column."""
        return self.rows.frame()

    def best_heads(self) -> pd.DataFrame:
        """Return one row per row of a probe: the best head of A, on B."""
        return self.best.frame()

    def condition_gaps(self) -> pd.DataFrame:
        """Return one row per gap between conditions that A found, with its test on B."""
        return self.gaps.frame()

    def __repr__(self) -> str:
        """Return roles of A by their decision in B, in at most 20 lines."""
        return replication_text(self)

    def _repr_html_(self) -> str:
        """Return how many roles hold again, and counts per row as a table, for notebooks."""
        from headroles.kinds import notebook_of

        return notebook_of(self)
