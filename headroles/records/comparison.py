"""What a comparison of two runs found: every paired difference, and the roles that were gained or lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.arrays import frozen_grids
from headroles.records.example import Decision, Rule
from headroles.records.findings import Findings
from headroles.records.notebook import comparison_html

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = ("changed", "equivalent", "undetermined", "untestable")
COLUMNS = (
    "count", "mean_a", "mean_b", "difference", "effect", "low", "high",
    "statistic", "p", "q", "p_equivalent", "q_equivalent",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Paired differences, one entry per sieve, layer and head (columns of ``differences.csv``).

    Attributes:
        rules: How each sieve is judged, as in run A; in the order of the first axis.
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
        q: ``p``, set to 1 for heads called equivalent, adjusted over its family.
        p_equivalent: P of "a change of at least the bound, in either direction": the larger of two
            one-sided p.
        q_equivalent: ``p_equivalent`` adjusted over its family.
        outcome: 0 changed, 1 equivalent, 2 undetermined, 3 untestable (``OUTCOMES``).
    """

    rules: tuple[Rule, ...]
    count: Int[np.ndarray, "sieves layers heads"]
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

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only."""
        frozen_grids(self, "differences", (*COLUMNS, "outcome"))

    @property
    def sieves(self) -> tuple[str, ...]:
        """Names of the sieves, contrasts included."""
        return tuple(rule.sieve for rule in self.rules)

    def of(self, sieve: str) -> int:
        """Position of a sieve on the first axis."""
        return self.sieves.index(sieve)

    def counts(self, sieve: int) -> tuple[int, int, int, int]:
        """Heads of a sieve (by position) that are changed, equivalent, undetermined, untestable."""
        changed, equivalent, undetermined, untestable = (
            int((self.outcome[sieve] == code).sum()) for code in range(len(OUTCOMES))
        )
        return changed, equivalent, undetermined, untestable


@dataclass(frozen=True, slots=True)
class LayerChange:
    """One sieve in one layer (a row of ``layers.csv``).

    Attributes:
        sieve: Its name.
        layer: From 0.
        changed: Heads whose score changed.
        equivalent: Heads equivalent within the bound.
        undetermined: Heads of which neither can be said.
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
class Swapped:
    """Labels gained and lost beside their reference: the two runs swapped at random within each unit.

    Attributes:
        sieve: The role; "" for all roles together.
        labels_a: Heads with the role in A (role labels, for all roles together).
        labels_b: In B.
        gained: Heads with the role in B and not in A.
        lost: Heads with the role in A and not in B.
        changed: ``gained + lost``.
        gained_mean: Mean of ``gained`` over the swaps; that of ``lost`` estimates the same number.
        gained_low: 2.5 % point over the swaps.
        gained_high: 97.5 % point.
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
        differences: Of every sieve and head.
        before: Findings of run A, judged anew with ``decision`` on the units of the comparison.
        after: Findings of run B, likewise.
        decision: How both are judged.
        bound: Differences within ± bound are equivalent, on the score scale.
        layers: Every sieve in every layer.
        swaps: Labels gained and lost beside their reference; all roles together come last.
        manifest: Everything needed to reproduce the comparison (JSON types only).
        remarks: What a reader must know, one sentence each.
    """

    differences: Differences
    before: Findings
    after: Findings
    decision: Decision
    bound: float
    layers: tuple[LayerChange, ...] = ()
    swaps: tuple[Swapped, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    remarks: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """One row per sieve × layer × head with the columns of ``differences.csv``."""
        import pandas as pd

        found = self.differences
        sieve, layer, head = (index.ravel() for index in np.indices(found.count.shape))
        table: dict[str, Any] = {
            "sieve": np.array(found.sieves, dtype=object)[sieve], "layer": layer, "head": head
        }  # fmt: skip
        table |= {name: getattr(found, name).ravel() for name in COLUMNS}
        table["outcome"] = np.array(OUTCOMES, dtype=object)[found.outcome.ravel()]
        return pd.DataFrame(table)

    def labels(self) -> pd.DataFrame:
        """One row per head: its roles in A and in B, those gained and those lost, joined by ``;``."""
        import pandas as pd

        names = self.before.roles
        held_a, held_b = (
            found.decision[[rule.role for rule in found.rules]].reshape(len(names), found.count[0].size) == 0
            for found in (self.before, self.after)
        )
        layer, head = (index.ravel() for index in np.indices(self.before.count.shape[1:]))
        columns: dict[str, Any] = {"layer": layer, "head": head}
        for name, held in (
            ("roles_a", held_a),
            ("roles_b", held_b),
            ("gained", held_b & ~held_a),
            ("lost", held_a & ~held_b),
        ):
            columns[name] = [";".join(np.array(names, dtype=object)[one]) for one in held.T]
        return pd.DataFrame(columns)

    def by_layer(self) -> pd.DataFrame:
        """One row per sieve and layer, with the columns of ``layers.csv``."""
        return _table(LayerChange, self.layers)

    def by_role(self) -> pd.DataFrame:
        """Labels gained and lost beside their reference, with the columns of ``swaps.csv``."""
        return _table(Swapped, self.swaps)

    def _repr_html_(self) -> str:
        """Counts per sieve with its largest change, and every head's roles gained and lost, for notebooks."""
        return comparison_html(
            self.differences, self.before, self.after, self.decision, self.bound, self.manifest
        )


def _table(kind: type, records: tuple[Any, ...]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame([asdict(record) for record in records], columns=[each.name for each in fields(kind)])
    return table.astype({each.name: "Int64" for each in fields(kind) if "int" in str(each.type)})
