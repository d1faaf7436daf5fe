"""Results of removing heads from a model: which heads leave, and the certificate of the damage."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief
from headroles.records.causal.columns import LOSS
from headroles.records.layers import Stack, stored_stack
from headroles.records.table import ENDS, SHARE, Column, Row, Table, chance, counted, interval_ends

if TYPE_CHECKING:
    import pandas as pd

WITHIN, NOT_SHOWN, FEW_UNITS = "within the bound", "not shown", "hinges on few units"
NOT_TESTED = "not tested"
"""Decisions about a set of heads. A set that hinges on few units has a small p, and is not certified. Sets
after the first that is not within the bound are measured, and not tested."""


def _right(part: float) -> str:
    """Return a share of right answers in per cent, with one decimal."""
    return "–" if math.isnan(part) else f"{100 * part:.1f}\u00a0%"


STEPS = Table(
    "steps.csv",
    "Sets of heads that were removed, and their tests",
    "a set",
    (
        counted("size", "Heads that are removed.", "heads"),
        counted("count", "Units that counted; none of them ordered the heads.", "units"),
        Column(
            "damage",
            "Mean damage over units, on the outcome's own scale (nats for a loss of words or classes).",
        ),
        Column(
            "mean", "Mean damage on the scale of the bound.", float, f"damage {ENDS}", ends=("low", "high")
        ),
        *interval_ends(),
        Column(
            "upper",
            "One-sided upper end: the smallest bound that the test would have let pass at alpha.", float,
            "upper bound",
        ),
        chance("p", "One-sided p of “the damage is at least the bound”.", "p"),
        Column(
            "missed",
            "Harm confined to fewer of the inputs than this share would be missed by these units with a "
            "probability above 5 %; 1 − 0.05^(1 / `count`).",
            within=SHARE,
        ),
        Column(
            "decision",
            "“within the bound”, “not shown”, “hinges on few units”, or “not tested” after the first set "
            "that was not within the bound.",
            str, "decision", words=(WITHIN, NOT_SHOWN, FEW_UNITS, NOT_TESTED),
        ),
        Column(
            "accuracy_before",
            "Share of inputs that the whole model gets right; NaN without classes.", float, "right before",
            _right, within=SHARE,
        ),
        Column(
            "accuracy_after",
            "Share of inputs that the pruned model gets right; NaN without classes.", float, "right after",
            _right, within=SHARE,
        ),
    ),
    name="Sets of heads",
    note=(
        "Where the outcome is the loss, `mean`, `low`, `high` and `upper` are shares of the loss without "
        "intervention: 0.01 is 1 %. Otherwise they are on the outcome's own scale."
    ),
)  # fmt: skip
"""Damage of removing growing sets of heads, and its tests."""


@dataclass(frozen=True, slots=True)
class Gain:
    """What is gained where the removed heads are really cut out of the weights (``certificate.json``).

    Attributes:
        heads: Query heads that were cut out; fewer than were removed where keys are shared.
        parameters_before: Parameters of the whole model.
        parameters_after: Parameters of the model without these heads.
        seconds_before: Seconds an input of the whole model takes, the smallest of several passes.
        seconds_after: Seconds an input of the cut model takes, measured in turns with the whole one.
        inputs: Inputs that were timed.
        device: Device and threads of the timing.
        reason: Why nothing was cut, as a sentence; "" where heads were cut. Numbers are NaN or 0 then.
    """

    heads: int = 0
    parameters_before: int = 0
    parameters_after: int = 0
    seconds_before: float = float("nan")
    seconds_after: float = float("nan")
    inputs: int = 0
    device: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FreshCheck:
    """Damage of the removed heads on inputs that nobody used before.

    Attributes:
        step: Damage and its test on these inputs, as a row of ``STEPS``.
        source: Name of the inputs.
        sha256: SHA-256 of the inputs that counted.
        examples: Inputs that counted.
        left_out: Inputs that were left out, because their units share a text, tokens or a document with the
            run.
    """

    step: Row
    source: str
    sha256: str
    examples: int
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class Pruning:
    """Heads that a model does without, with a certificate of the damage (the folder of ``headroles prune``).

    Heads were ordered by their damage on one half of the units. Growing sets of the first heads were removed
    from the model, and their joint damage was tested on the other half, until the first set whose damage was
    not shown to lie below the bound. The model of the folder lacks the heads of the largest set that passed.

    Attributes:
        outcome: What damage is measured on, one of ``PRUNE_OUTCOMES``.
        arm: Column of the run that ordered the heads, such as "loss:mean".
        bound: Damage below which a set may pass: a share of the loss, or on the outcome's own scale.
        alpha: Rate of certificates whose bound is violated.
        order: Layer and head of every head, those removed first in front.
        single: Mean damage of each head alone over the units that ordered them.
        removed: Heads that the model lacks.
        steps: Sets in their order.
        units: Names of the units that tested the sets.
        clean: Loss of these units without intervention; 1 for outcomes other than the loss.
        change: Damage of each set and unit; NaN where a unit has none.
        seen: Hashes of texts, tokens and groups of all inputs of the run.
        gain: What is gained where the heads are really cut out.
        check: Damage on fresh inputs; None where it was not asked for.
        manifest: Facts to repeat it: run, model, inputs, settings, versions.
        remarks: Further sentences that a reader must know.
    """

    outcome: str
    arm: str
    bound: float
    alpha: float
    order: Int[np.ndarray, "ordered 2"]
    single: Float[np.ndarray, "layers heads"]
    removed: Bool[np.ndarray, "layers heads"]
    steps: Table
    units: tuple[str, ...]
    clean: Float[np.ndarray, " units"]
    change: Float[np.ndarray, "steps units"]
    seen: tuple[str, ...] = ()
    gain: Gain = Gain()
    check: FreshCheck | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "prunings", {"steps": len(self.steps), "units": len(self.units)})

    @property
    def relative(self) -> bool:
        """Whether the bound is a share of the loss."""
        return self.outcome == LOSS

    @property
    def certified(self) -> Row | None:
        """The step of the largest set that passed; None where none did."""
        passed = self.steps.where(decision=WITHIN)
        return passed[-1] if passed else None

    @property
    def stack(self) -> Stack:
        """Return the layers by their positions."""
        return stored_stack(self.manifest.get("model") or {}, len(self.removed))

    @property
    def heads(self) -> dict[int, list[int]]:
        """Removed heads by the position of their layer, from 0; layers that keep all heads are left out."""
        rows = zip(self.stack.numbers, self.removed, strict=True)
        layers = ((number, np.flatnonzero(row).tolist()) for number, row in rows)
        return {layer: heads for layer, heads in layers if heads}

    def frame(self) -> "pd.DataFrame":
        """Return the steps as a table, one row for each set."""
        return self.steps.frame()
