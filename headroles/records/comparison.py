"""Result of a comparison of two runs: every paired difference, and the roles gained or lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.assessment import NAME
from headroles.records.brief import brief
from headroles.records.findings import Findings, HeadGrid
from headroles.records.layers import Stack, stored_stack
from headroles.records.numbers import count as count_text
from headroles.records.numbers import mean, number
from headroles.records.prompt import comparison_text
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision
from headroles.records.table import COUNT, ENDS, HEAD, LAYER, Cell, Column, Row, Table, chance, counted

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = ("changed", "equivalent", "undetermined", "untestable", "identical")
ALL_SAME, SAME = "one model on the same examples", "the same examples"
LAYOUT, APART = "one model on two inputs of equal layout", "other inputs"
"""Ways in which the inputs of two runs match; those of runs that are apart have no pairs."""
DIFFERENCES = Table("differences.csv", "Every head under both models", "a sieve, layer and head", (
    NAME, LAYER, HEAD,
    counted("count", "Units with a score in both runs.", "units"),
    Column("mean_a", "Mean score of run A over those units, on the score scale.", float, "mean A", mean),
    Column("mean_b", "Mean score of run B over the same units.", float, "mean B", mean),
    Column("difference", "Mean over units of (score B − null B) − (score A − null A).", float,
           f"difference {ENDS}", mean, ("low", "high")),
    Column("effect", "`difference` over the standard deviation of the units' differences (Cohen's d of "
           "paired samples, d_z), signed; NaN without spread."),
    Column("low", "Lower end of the 95 % interval of the difference (two-sided, not adjusted for "
           "selection)."),
    Column("high", "Upper end."),
    Column("statistic", "The test statistic of the difference against 0."),
    chance("p", "Two-sided p of \"no change\"."),
    chance("q", "`p`, guarded against units that are missing and set to 1 for heads that are equivalent or "
           "have an interval within ± bound, adjusted over its family.", "q"),
    chance("p_equivalent", "P of \"a change of at least the bound, in either direction\": the larger of two "
           "one-sided p."),
    chance("q_equivalent", "`p_equivalent`, guarded likewise, adjusted over its family.", "q of equivalence"),
    Column("outcome", "`changed`, `equivalent`, `undetermined`, `untestable`, or `identical`: the scores of "
           "every unit are the same, so nothing is tested.", str, "outcome",
           words=OUTCOMES),
), name="Differences")  # fmt: skip
COLUMNS = tuple(column.name for column in DIFFERENCES.columns[3:-1])
"""Columns of numbers of ``DIFFERENCES``, which are arrays of ``Differences``."""


def _listed(names: str) -> str:
    return names.replace(";", ", ")


MOVED = Table("labels.csv", "Roles gained and lost", "a head", (
    LAYER, replace(HEAD, heading="layer-head"),
    Column("roles_a", "Roles in run A, joined by `;`.", str), Column("roles_b", "Roles in run B.", str),
    Column("gained", "Roles in B alone.", str, "gained", _listed),
    Column("lost", "Roles in A alone.", str, "lost", _listed),
), name="Heads whose roles moved")  # fmt: skip
LAYERS = Table("layers.csv", "Changes of every layer", "a sieve and a layer", (
    Column("sieve", "Name of the sieve.", str, "sieve"), replace(LAYER, heading="layer"),
    counted("changed", "Heads whose score changed.", "changed"),
    counted("equivalent", "Heads equivalent within the bound.", "equivalent"),
    counted("undetermined", "Heads with neither outcome.", "undetermined"),
    counted("untestable", "Heads that could not be tested.", "untestable"),
    counted("identical", "Heads whose scores are the same in both runs.", "identical"),
    Column("difference", "Mean difference over the layer's heads, on the score scale; NaN when no head has "
           "one.", float, "mean difference"),
    Column("absolute", "Mean absolute difference over them.", float, "mean |difference|", within=COUNT),
    Column("labels_a", "Heads with the role in run A; None for contrasts, which are no roles.",
           "int | None", within=COUNT),
    Column("labels_b", "Heads with the role in run B.", "int | None", within=COUNT),
    Column("gained", "Heads with the role in B and not in A.", "int | None", within=COUNT),
    Column("lost", "Heads with the role in A and not in B.", "int | None", within=COUNT),
))  # fmt: skip


def swap_chance(name: str, text: Callable[[float], str] = number) -> Callable[[Row], Cell]:
    """Return the writer of p or q of swaps: none where one label differs, as one head is no finding."""

    def cell(row: Row) -> Cell:
        value = math.nan if row.gained is None or row.gained + row.lost == 1 else getattr(row, name)
        return Cell(text(value), value)

    return cell


def _role_cell(row: Row) -> Cell:
    text = phrase_of(row.sieve).title if row.sieve else ALL_ROLES
    return Cell(text, text)


ALL_ROLES = "all roles together"
"""Name of the row of all roles where people read ``SWAPS``."""
SWAPS = Table("swaps.csv", "Labels that change when the two models are swapped at random", "a role", (
    Column("sieve", "The role; empty for all roles together.", str, "role", cell=_role_cell),
    counted("labels_a", "Heads with the role in A (role labels, for all roles together).", "in A"),
    counted("labels_b", "Heads with the role in B.", "in B"),
    counted("gained", "Heads with the role in B and not in A.", "gained"),
    counted("lost", "Heads with the role in A and not in B.", "lost"),
    counted("changed", "`gained + lost`.", "changed"),
    *(
        Column(f"{kind}_{name}", meaning.format(kind), float, "by swaps" * (name == "mean"), count_text,
               (f"{kind}_low", f"{kind}_high"), within=COUNT)
        for kind, meanings in (
            ("gained", ("Mean of `{}` over the swaps; the mean of `lost` estimates the same number.",
                        "2.5 % point over the swaps.", "97.5 % point over the swaps.")),
            *((kind, ("As `gained_mean`, of `{}`.", "As `gained_low`.", "As `gained_high`."))
              for kind in ("lost", "changed")),
        )
        for name, meaning in zip(("mean", "low", "high"), meanings, strict=True)
    ),
    chance("p", "`(1 + swaps with at least as many changed) / (1 + swaps)`.", "p", cell=swap_chance("p")),
    chance("q", "`p` adjusted over the roles; NaN for all roles together, which is a test by itself.", "q",
           cell=swap_chance("q")),
), name="Roles gained and lost", first=(
    "sieve", "labels_a", "labels_b", "gained", "gained_mean", "lost", "lost_mean", "changed", "changed_mean",
), note="The two runs are swapped at random within each unit.")  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Differences(HeadGrid):
    """Paired differences, one entry per sieve, layer and head.

    Its arrays are the columns of ``DIFFERENCES``, which says what they mean.

    Attributes:
        rules: Rule of each sieve, as in run A; in the order of the first axis.
        outcome: 0 changed, 1 equivalent, 2 undetermined, 3 untestable, 4 identical (``OUTCOMES``).
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

    def counts(self, sieve: int) -> tuple[int, ...]:
        """Count heads of a sieve (by position) with each of ``OUTCOMES``."""
        return tuple(int((self.outcome[sieve] == code).sum()) for code in range(len(OUTCOMES)))


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
        layers: Counts of changes of every sieve in every layer (``LAYERS``).
        swaps: Labels gained and lost with their reference; all roles together are last (``SWAPS``).
        manifest: All facts needed to reproduce the comparison (JSON types only).
        remarks: Remarks for the reader, one sentence each.
    """

    differences: Differences
    before: Findings
    after: Findings
    decision: Decision
    bound: float
    layers: Table = LAYERS
    swaps: Table = SWAPS
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    remarks: tuple[str, ...] = ()

    @property
    def stack(self) -> Stack:
        """Return the layers of run A by their positions; both runs have the same."""
        model = self.manifest.get("a", {}).get("model") or {}
        return stored_stack(model, self.differences.count.shape[1])

    @property
    def table(self) -> Table:
        """Return every difference, one row per sieve × layer × head."""
        outcome = np.array(OUTCOMES, dtype=object)[self.differences.outcome.ravel()]
        return DIFFERENCES.of(**self.differences.flat_columns(COLUMNS, self.stack), outcome=outcome)

    @property
    def moved(self) -> Table:
        """Return the roles of every head in A, in B, gained and lost."""
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
        return MOVED.of(**columns)

    def frame(self) -> pd.DataFrame:
        """Return one row per sieve × layer × head with the columns of ``differences.csv``."""
        return self.table.frame()

    def labels(self) -> pd.DataFrame:
        """Return one row per head: roles in A, in B, gained and lost, joined by ``;``."""
        return self.moved.frame()

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def by_layer(self) -> pd.DataFrame:
        """Return one row per sieve and layer, with the columns of ``layers.csv``."""
        return self.layers.frame()

    def by_role(self) -> pd.DataFrame:
        """Return labels gained and lost with their reference, with the columns of ``swaps.csv``."""
        return self.swaps.frame()

    def __repr__(self) -> str:
        """Return both models, the answer and counts of changed heads per sieve, in at most 20 lines."""
        from headroles.kinds import report_of

        return comparison_text(self, [sentence.text for sentence in report_of(self).answer.sentences])

    def _repr_html_(self) -> str:
        """Return the answer, counts per sieve, and roles gained and lost, for notebooks."""
        from headroles.kinds import notebook_of

        return notebook_of(self)
