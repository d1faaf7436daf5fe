"""Result of a comparison of two runs: every paired difference, and the roles gained or lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.brief import brief
from headroles.records.findings import Findings, HeadGrid
from headroles.records.layers import Stack, stored_stack
from headroles.records.prompt import comparison_text
from headroles.records.rules.rule import Decision
from headroles.records.shown.notebook import comparison_html

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = ("changed", "equivalent", "undetermined", "untestable")
COLUMNS = (
    "count", "mean_a", "mean_b", "difference", "effect", "low", "high",
    "statistic", "p", "q", "p_equivalent", "q_equivalent",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Differences(HeadGrid):
    """Paired differences, one entry per sieve, layer and head (columns of ``differences.csv``).

    Attributes:
        rules: Rule of each sieve, as in run A; in the order of the first axis.
        count: Units with a score in both runs.
        mean_a: Mean score of run A over those units, on the score scale.
        mean_b: Mean score of run B over the same units.
        difference: Mean over units of (score B − null B) − (score A − null A).
        effect: ``difference`` over the standard deviation of the units' differences (Cohen's d of
            paired samples, d_z), signed; NaN without spread.
        low: Lower end of the 95 % interval of the difference (two-sided, not adjusted for selection).
        high: Upper end.
        statistic: The test statistic of the difference against 0.
        p: Two-sided p of "no change".
        q: ``p``, guarded against units that are missing and set to 1 for heads that are equivalent or have an
            interval within ± bound, adjusted over its family.
        p_equivalent: P of "a change of at least the bound, in either direction": the larger of two
            one-sided p.
        q_equivalent: ``p_equivalent``, guarded likewise, adjusted over its family.
        outcome: 0 changed, 1 equivalent, 2 undetermined, 3 untestable (``OUTCOMES``).
    """

    mean_a: Float[np.ndarray, "sieves layers heads"]
    mean_b: Float[np.ndarray, "sieves layers heads"]
    difference: Float[np.ndarray, "sieves layers heads"]
    effect: Float[np.ndarray, "sieves layers heads"]
    low: Float[np.ndarray, "sieves layers heads"]
    high: Float[np.ndarray, "sieves layers heads"]
    statistic: Float[np.ndarray, "sieves layers heads"]
    p: Float[np.ndarray, "sieves layers heads"]
    q: Float[np.ndarray, "sieves layers heads"]
    p_equivalent: Float[np.ndarray, "sieves layers heads"]
    q_equivalent: Float[np.ndarray, "sieves layers heads"]
    outcome: Int[np.ndarray, "sieves layers heads"]

    __repr__ = brief

    def counts(self, sieve: int) -> tuple[int, int, int, int]:
        """Count heads of a sieve (by position) that are changed, equivalent, undetermined, untestable."""
        changed, equivalent, undetermined, untestable = (
            int((self.outcome[sieve] == code).sum()) for code in range(len(OUTCOMES))
        )
        return changed, equivalent, undetermined, untestable


@dataclass(frozen=True, slots=True)
class LayerChange:
    """Counts of changes of one sieve in one layer (a row of ``layers.csv``).

    Attributes:
        sieve: Name of the sieve.
        layer: Its position in the model, from 0.
        changed: Heads whose score changed.
        equivalent: Heads equivalent within the bound.
        undetermined: Heads with neither outcome.
        untestable: Heads that could not be tested.
        difference: Mean difference over the layer's heads, on the score scale; NaN when no head has one.
        absolute: Mean absolute difference over them.
        labels_a: Heads with the role in run A; None for contrasts, which are no roles.
        labels_b: Heads with the role in run B.
        gained: Heads with the role in B and not in A.
        lost: Heads with the role in A and not in B.
    """

    sieve: str
    layer: int
    changed: int
    equivalent: int
    undetermined: int
    untestable: int
    difference: float
    absolute: float
    labels_a: int | None
    labels_b: int | None
    gained: int | None
    lost: int | None


@dataclass(frozen=True, slots=True)
class RoleChange:
    """Labels gained and lost, with a reference from swapping the two runs at random within each unit.

    Attributes:
        sieve: The role; "" for all roles together.
        labels_a: Heads with the role in A (role labels, for all roles together).
        labels_b: Heads with the role in B.
        gained: Heads with the role in B and not in A.
        lost: Heads with the role in A and not in B.
        changed: ``gained + lost``.
        gained_mean: Mean of ``gained`` over the swaps; the mean of ``lost`` estimates the same number.
        gained_low: 2.5 % point over the swaps.
        gained_high: 97.5 % point over the swaps.
        lost_mean: As ``gained_mean``, of ``lost``.
        lost_low: As ``gained_low``.
        lost_high: As ``gained_high``.
        changed_mean: As ``gained_mean``, of ``changed``.
        changed_low: As ``gained_low``.
        changed_high: As ``gained_high``.
        p: ``(1 + swaps with at least as many changed) / (1 + swaps)``.
        q: ``p`` adjusted over the roles; NaN for all roles together, which is a test by itself.
    """

    sieve: str
    labels_a: int
    labels_b: int
    gained: int
    lost: int
    changed: int
    gained_mean: float
    gained_low: float
    gained_high: float
    lost_mean: float
    lost_low: float
    lost_high: float
    changed_mean: float
    changed_low: float
    changed_high: float
    p: float
    q: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two runs on the same examples, or one model on two inputs of equal layout.

    Attributes:
        differences: Differences of every sieve and head.
        before: Findings of run A, judged again on the units of the comparison, by the test of A and the
            rest of ``decision``.
        after: Findings of run B, likewise.
        decision: Test of the differences; correction and level of all.
        bound: Differences within ± bound are equivalent, on the score scale.
        layers: Counts of changes of every sieve in every layer.
        swaps: Labels gained and lost with their reference; all roles together are last.
        manifest: All facts needed to reproduce the comparison (JSON types only).
        remarks: Remarks for the reader, one sentence each.
    """

    differences: Differences
    before: Findings
    after: Findings
    decision: Decision
    bound: float
    layers: tuple[LayerChange, ...] = ()
    swaps: tuple[RoleChange, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    remarks: tuple[str, ...] = ()

    @property
    def stack(self) -> Stack:
        """Return the layers of run A by their positions; both runs have the same."""
        model = self.manifest.get("a", {}).get("model") or {}
        return stored_stack(model, self.differences.count.shape[1])

    def frame(self) -> pd.DataFrame:
        """Return one row per sieve × layer × head with the columns of ``differences.csv``."""
        import pandas as pd

        table = self.differences.flat_columns(COLUMNS, self.stack)
        table["outcome"] = np.array(OUTCOMES, dtype=object)[self.differences.outcome.ravel()]
        return pd.DataFrame(table)

    def labels(self) -> pd.DataFrame:
        """Return one row per head: roles in A, in B, gained and lost, joined by ``;``."""
        import pandas as pd

        names = self.before.roles
        held_a, held_b = (
            run.decision[[rule.role for rule in run.rules]].reshape(len(names), run.count[0].size) == 0
            for run in (self.before, self.after)
        )
        layer, head = (index.ravel() for index in np.indices(self.before.count.shape[1:]))
        columns: dict[str, Any] = {"layer": self.stack.positions[layer], "head": head}
        for name, held in (
            ("roles_a", held_a),
            ("roles_b", held_b),
            ("gained", held_b & ~held_a),
            ("lost", held_a & ~held_b),
        ):
            columns[name] = [";".join(np.array(names, dtype=object)[roles]) for roles in held.T]
        return pd.DataFrame(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def by_layer(self) -> pd.DataFrame:
        """Return one row per sieve and layer, with the columns of ``layers.csv``."""
        return _table(LayerChange, self.layers)

    def by_role(self) -> pd.DataFrame:
        """Return labels gained and lost with their reference, with the columns of ``swaps.csv``."""
        return _table(RoleChange, self.swaps)

    def __repr__(self) -> str:
        """Return both models, the answer and counts of changed heads per sieve, in at most 20 lines."""
        from headroles.kinds import comparison_answer

        answer = [sentence.text for sentence in comparison_answer(self).sentences]
        return comparison_text(self.differences, self.decision, self.bound, self.manifest, answer)

    def _repr_html_(self) -> str:
        """Return the answer, counts per sieve, and roles gained and lost, for notebooks."""
        from headroles.kinds import comparison_answer

        return comparison_html(
            self.differences,
            self.before,
            self.after,
            self.decision,
            self.bound,
            self.manifest,
            comparison_answer(self),
            self.stack,
        )


def _table(kind: type, records: tuple[Any, ...]) -> pd.DataFrame:
    """Return records of one kind as a table; whole numbers may be missing."""
    import pandas as pd

    columns = fields(kind)
    table = pd.DataFrame([asdict(record) for record in records], columns=[column.name for column in columns])
    return table.astype({column.name: "Int64" for column in columns if "int" in str(column.type)})
