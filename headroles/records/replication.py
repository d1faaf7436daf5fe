"""Result of a replication: roles of one run, tested on the inputs of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headroles.records.prompt import replication_text
from headroles.records.rules.rule import Decision
from headroles.records.shown.notebook import replication_html

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Replicate:
    """One role of run A, tested on run B (a row of the written table).

    Attributes:
        sieve: Name of the column, such as ``"local"`` or ``"dependency:nsubj:→"``.
        layer: Layer of the head, from 0.
        head: Index of the head in its layer, from 0.
        mean_a: Mean score in A, on the score scale.
        null_a: Mean chance value in A.
        q_a: Adjusted p in A.
        count: Units of B that counted.
        mean: Mean score in B.
        null: Mean chance value in B.
        margin: Distance beyond the null that counts, as in A.
        low: Lower end of the 95 % interval of the mean in B.
        high: Upper end.
        statistic: Test statistic of ``mean − null − margin`` in B.
        p: One-sided p of "not beyond the margin" in B; joint with the contrast where there is one.
        q: ``p`` adjusted over the roles of A in the same family.
        p_not: One-sided p of "not below the margin" in B, of the score alone.
        q_not: ``p_not`` adjusted likewise.
        decision: Decision in B: "role" (it replicates), "not", "undetermined", "untestable" or "explained".
    """

    sieve: str
    layer: int
    head: int
    mean_a: float
    null_a: float
    q_a: float
    count: int
    mean: float
    null: float
    margin: float
    low: float
    high: float
    statistic: float
    p: float
    q: float
    p_not: float
    q_not: float
    decision: str


@dataclass(frozen=True, slots=True)
class ReplicationCounts:
    """Counts of roles of A by their decision in B: of one column, or of the columns of one row of a probe.

    Attributes:
        name: Name of the column, or of the row (``"dependency:nsubj"``, both directions).
        columns: Number of columns counted together.
        roles: Roles in A, all of which are tested on B.
        role: Of these, roles in B.
        not_role: Of these, "not" in B.
        undetermined: Of these, undetermined in B.
        untestable: Of these, without enough units in B.
        explained: Of these, explained by their contrast in B.
        heads: Heads (of all its columns) with a mean in both runs.
        correlation: Pearson's r of their means in A and in B; −1 to 1, NaN for fewer than three heads
            or no spread. It describes these heads: no test is made of it.
    """

    name: str
    columns: int
    roles: int
    role: int
    not_role: int
    undetermined: int
    untestable: int
    explained: int
    heads: int
    correlation: float


@dataclass(frozen=True, slots=True)
class BestReplicate:
    """The best head of a row of a probe in A, on all data of B.

    Attributes:
        row: Row of the probe, such as ``"dependency:nsubj"``.
        direction: "→", "←" or "".
        layer: Layer of the head that A chose, from 0.
        head: Index of the head in its layer, from 0.
        decision_a: Decision in A: "beyond" its baseline, "not", "undetermined" or "untestable".
        accuracy_a: Accuracy on the test half of A.
        difference_a: Accuracy minus that of the baseline, on the test half of A.
        count: Units of B that counted.
        accuracy: Accuracy in B, over all items.
        baseline_accuracy: Accuracy of B's own cross-fitted baseline.
        difference: Accuracy minus that of the baseline, in B.
        difference_low: Lower end of its 95 % interval.
        difference_high: Upper end.
        p: One-sided p of difference ≤ margin in B.
        q: ``p`` adjusted over the rows of the probe that are beyond their baselines in A; NaN for others.
        decision: Decision in B: "beyond", "not", "undetermined", "untestable"; "" where A proposed no head.
    """

    row: str
    direction: str
    layer: int
    head: int
    decision_a: str
    accuracy_a: float
    difference_a: float
    count: int
    accuracy: float
    baseline_accuracy: float
    difference: float
    difference_low: float
    difference_high: float
    p: float
    q: float
    decision: str


@dataclass(frozen=True, slots=True)
class GapReplicate:
    """A gap between two conditions that A found for a head, tested on the documents of B.

    Attributes:
        layer: Layer of the head, from 0.
        head: Index of the head in its layer, from 0.
        measure: "accuracy" or "f1".
        first: Name of the first condition ("pro", "feminine").
        second: Name of the second ("anti", "masculine").
        difference_a: First minus second in A.
        q_a: Adjusted two-sided p in A.
        difference: First minus second in B.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: One-sided p in B of "no gap in the direction of A".
        q: ``p`` adjusted over the gaps that A found for these conditions and this measure.
        decision: In B: "gap" (it replicates), "reversed" (significant the other way), "undetermined" or
            "untestable".
    """

    layer: int
    head: int
    measure: str
    first: str
    second: str
    difference_a: float
    q_a: float
    difference: float
    low: float
    high: float
    p: float
    q: float
    decision: str


@dataclass(frozen=True, slots=True, eq=False)
class Replication:
    """The roles of run A on the inputs of run B.

    Attributes:
        decision: Test, correction, family and alpha that judge B.
        replicates: Every role of A in the columns of both runs.
        columns: Counts per column of both runs.
        rows: Counts per row of a probe, over its columns; a column of no row is counted by itself.
        best: Best head of A per row of a probe, tested on B.
        gaps: Gaps between conditions that A found, tested on B.
        only_a: Columns that only A has, which are left out.
        only_b: Columns that only B has, which are left out.
        notes: Remarks for the reader, one sentence each.
        manifest: Facts about both runs (JSON types only).
    """

    decision: Decision
    replicates: tuple[Replicate, ...]
    columns: tuple[ReplicationCounts, ...]
    rows: tuple[ReplicationCounts, ...]
    best: tuple[BestReplicate, ...] = ()
    gaps: tuple[GapReplicate, ...] = ()
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def outcomes(self) -> Counter[str]:
        """Number of roles of A per decision in B."""
        return Counter(replicate.decision for replicate in self.replicates)

    def frame(self) -> pd.DataFrame:
        """Return one row per role of A, with its test on B."""
        return _table(Replicate, self.replicates)

    def by_column(self) -> pd.DataFrame:
        """Return one row per column of both runs."""
        return _table(ReplicationCounts, self.columns)

    def by_row(self) -> pd.DataFrame:
        """Return one row per row of a probe, over both directions, or per other column."""
        return _table(ReplicationCounts, self.rows)

    def best_heads(self) -> pd.DataFrame:
        """Return one row per row of a probe: the best head of A, on B."""
        return _table(BestReplicate, self.best)

    def condition_gaps(self) -> pd.DataFrame:
        """Return one row per gap between conditions that A found, with its test on B."""
        return _table(GapReplicate, self.gaps)

    def __repr__(self) -> str:
        """Return roles of A by their decision in B, in at most 20 lines."""
        return replication_text(self.rows, self.outcomes, self.decision, len(self.notes))

    def _repr_html_(self) -> str:
        """Return how many roles hold again, and counts per row as a table, for notebooks."""
        return replication_html(self.rows, self.outcomes, self.decision, self.notes)


def _table(kind: type, records: tuple[Any, ...]) -> pd.DataFrame:
    """Return records of one kind as a table."""
    import pandas as pd

    names = [column.name for column in fields(kind)]
    return pd.DataFrame([asdict(record) for record in records], columns=names)
