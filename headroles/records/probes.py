"""Probes: the protocol that a probe follows, and the records of their results.

Results are the best head of each row, its baselines, gaps between conditions, and trained probes. A probe
has items about gold annotation, and baselines that a head has to beat.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from headroles.records.brief import brief
from headroles.records.documents import Choices, Window
from headroles.records.numbers import percent, points, two_decimals
from headroles.records.table import (
    ENDS,
    HEAD,
    LAYER,
    MISSING,
    SHARE,
    Cell,
    Column,
    Row,
    Table,
    chance,
    counted,
    interval_ends,
)

FROM_1 = (-1.0, math.inf)
"""Range of numbers from 0, and −1 for none."""


@dataclass(frozen=True, slots=True, eq=False)
class BaselineCounts:
    """Right answers of the baselines of each row, per example, from which ``judge_again`` tests.

    Attributes:
        rows: Names of the rows: ``"dependency:nsubj"``, ``"coreference:pronoun"``, ``"trees:uuas"``.
        baselines: Names of all baselines of all probes, such as ``"+1"``, ``"nearest"``.
        rivals: Positions of the baselines that heads have to beat, per row.
        hits: Right answers per row, example and baseline; −1 where the baseline does not apply.
        items: Items per row and example.
        lost: Items per row that no window of a document contains (cut off, or no right answer in the
            window), at the document's first example.
    """

    rows: tuple[str, ...]
    baselines: tuple[str, ...]
    rivals: tuple[tuple[int, ...], ...]
    hits: Int[np.ndarray, "rows examples baselines"]
    items: Int[np.ndarray, "rows examples"]
    lost: Int[np.ndarray, "rows examples"]

    __repr__ = brief


def best_head_cell(row: Row) -> Cell:
    """Return layer, head and direction of a row's best head; an en dash where none could be chosen."""
    if row.layer < 0:
        return MISSING
    return Cell(f"{row.layer}-{row.head} {row.direction}".rstrip(), row.layer + row.head / 1000)


def baseline_cell(row: Row, decimals: int = 1) -> Cell:
    """Return name and accuracy of the baseline of a row, in per cent."""
    accuracy = percent(row.baseline_accuracy, decimals)
    return Cell(f"{row.baseline}: {accuracy}" if row.baseline else "–", row.baseline_accuracy)


ITEMS = counted("items", "Items of the row.", "items")
UNITS = counted("units", "Units that have items.", "units")
BEST_HEADS = Table(
    "best.csv",
    "The best head of every row",
    "a relation or kind of mention",
    (
        Column(
            "row", "Relation or kind of mention, such as `dependency:nsubj`.", str, "row", terminal="narrow"
        ),
        Column(
            "direction",
            "“→” (the item's word attends) or “←” (it is attended to); “” where there is only one.", str,
        ),
        replace(LAYER, meaning=f"{LAYER.meaning[:-1]}; −1 where no head could be selected.", within=FROM_1),
        replace(HEAD, cell=best_head_cell, within=FROM_1),
        replace(
            ITEMS, meaning="Items of the test half.",
            cell=lambda row: Cell(f"{row.items:,}", row.items, f"{row.units:,} units"),
        ),
        replace(UNITS, meaning="Units of the test half that have items."),
        Column(
            "selection", "Accuracy of the head on the selection half, which is optimistic.", float, "chosen",
            percent, terminal="wide", within=SHARE,
        ),
        Column(
            "accuracy", "Accuracy on the test half.", float, f"tested {ENDS}", percent, ("low", "high"),
            terminal="narrow", short="tested", within=SHARE,
        ),
        *interval_ends(),
        Column(
            "baseline",
            "The baseline with the highest accuracy on the selection half, such as `-1` (the word before).",
            str, "baseline", cell=baseline_cell, terminal="narrow",
        ),
        Column("baseline_accuracy", "Its accuracy on the test half.", within=SHARE),
        Column(
            "difference", "Accuracy minus that of the baseline, on the test half.", float,
            f"difference {ENDS}", points, ("difference_low", "difference_high"), terminal="narrow",
            short="difference",
        ),
        *interval_ends("difference_low", "difference_high"),
        Column("margin", "Margin that the difference is tested against."),
        Column("statistic", "Test statistic of difference ≤ margin."),
        chance("p", "One-sided p of difference ≤ margin."),
        chance("q", "`p` adjusted over the rows of the probe.", "q", terminal="wide", short="q"),
        chance("p_not", "One-sided p of difference ≥ margin."),
        chance("q_not", "`p_not` adjusted over the rows of the probe."),
        Column(
            "contrast",
            "Mean attention beyond the head's own distance profile, test half; NaN where not measured.",
            float, f"contrast {ENDS}", two_decimals, ("contrast_low", "contrast_high"), terminal="wide",
            short="contrast",
        ),
        *interval_ends("contrast_low", "contrast_high"),
        Column(
            "decision", "“beyond” the baseline, “not”, “undetermined” or “untestable”.", str, "decision",
            terminal="narrow", words=("beyond", "not", "undetermined", "untestable"),
        ),
    ),
    name="Best heads",
    first=(
        "row", "head", "items", "units", "selection", "accuracy", "baseline", "difference", "q", "decision",
    ),
    note=(
        "It was chosen on one half of the units, and tested on the other. Under the preset `published` all "
        "units do both, and nothing is tested. Accuracies are right answers over all items of the row; "
        "standard errors are clustered by unit."
    ),
)  # fmt: skip
"""The best head of every row of every probe."""
BASELINES = Table(
    "baselines.csv",
    "Every baseline",
    "a row of the probe and a baseline",
    (
        Column("row", "Relation or kind of mention.", str, "row"),
        Column(
            "baseline", "Name, such as `-1` (the word before), `nearest`, `right-branching`.", str,
            "baseline",
        ),
        ITEMS,
        UNITS,
        Column(
            "accuracy", "Right answers over items.", float, f"right, % {ENDS}", percent, ("low", "high"),
            within=SHARE,
        ),
        *interval_ends(),
    ),
    name="Baselines",
)  # fmt: skip
"""The accuracy of every baseline over all units; intervals are clustered by unit."""
CONDITION_GAPS = Table(
    "conditions.csv",
    "Gaps between two conditions, of WinoBias and GAP",
    "a head and a gap",
    (
        LAYER,
        replace(HEAD, cell=lambda row: Cell(f"{row.layer}-{row.head}", row.layer + row.head / 1000)),
        Column(
            "measure",
            "`accuracy`, or `f1` (GAP's own: each name of a passage is classified as true or false).", str,
        ),
        Column("first", "Name of the first condition (`pro`, `feminine`).", str),
        Column("second", "Name of the second (`anti`, `masculine`).", str),
        Column(
            "both", "The measure over all items.", float, "all", percent, terminal="narrow", within=SHARE
        ),
        Column(
            "first_value", "The measure under the first condition.", float, "first", percent,
            terminal="narrow", within=SHARE,
        ),
        Column(
            "second_value", "The measure under the second condition.", float, "second", percent,
            terminal="narrow", within=SHARE,
        ),
        Column(
            "difference", "First minus second.", float, f"difference, points {ENDS}", points,
            ("low", "high"), terminal="narrow", short=f"difference {ENDS}",
        ),
        *interval_ends(),
        chance("p", "Two-sided p of no difference.", "p"),
        chance("q", "`p` adjusted over the heads.", "q", terminal="narrow"),
    ),
    name="Gaps",
)  # fmt: skip
"""Every head under two conditions."""


def _of_probe(name: str) -> Callable[[Row], Cell]:
    """Return what writes a number of a trained probe; baselines have none."""

    def cell(row: Row) -> Cell:
        value = getattr(row, name)
        return (
            Cell(f"{value:,}" if name == "trained_on" else str(value), value) if row.trained_on else MISSING
        )

    return cell


TRAINED_PROBES = Table(
    "trained.csv",
    "Trained probes, and baselines for them, on the test sentences",
    "a trained probe",
    (
        Column(
            "classifier",
            "`attention`, `attention+words`, `distances+words`, `right-branching` or `left-branching`.", str,
            "probe", cell=lambda row: Cell(classifier_name(row), classifier_name(row)), terminal="narrow",
            short="trained probe",
        ),
        Column(
            "weights",
            "`trained` model or `random` weights (the control); empty where no model is read.", str,
            words=("trained", "random", ""),
        ),
        Column(
            "uas", "Words with the right head over all words but punctuation, 0 to 1.", float,
            f"UAS, % {ENDS}", percent, ("low", "high"), terminal="narrow", short=f"UAS {ENDS}", within=SHARE,
        ),
        Column("low", "Lower end of its 95 % interval over documents; NaN below 20 documents."),
        Column("high", "Upper end."),
        counted("words", "Words of the test.", "words", terminal="narrow"),
        counted("units", "Documents of the test.", "units"),
        counted(
            "trained_on", "Sentences trained on; 0 for baselines.", "sentences trained on",
            cell=_of_probe("trained_on"), terminal="narrow", short="trained on",
        ),
        counted(
            "epochs", "Passes over them until the held-out loss was lowest.", "epochs",
            cell=_of_probe("epochs"), terminal="narrow",
        ),
        Column(
            "seed", "Seed of initial weights, order and held-out part.", int, "seed", cell=_of_probe("seed")
        ),
    ),
    name="Trained probes",
)  # fmt: skip
"""Trained probes and baselines for them."""
PROBE_CONTESTS = Table(
    "contests.csv",
    "Paired tests between trained probes, on the same words, clustered by document",
    "a pair of probes",
    (
        Column(
            "first", "First classifier, with “ (random weights)” for the control.", str, "first − second",
            cell=lambda row: Cell(f"{row.first} − {row.second}", row.first), terminal="narrow",
        ),
        Column("second", "Second classifier, likewise.", str),
        Column(
            "difference",
            "UAS of the first minus the second; below 20 documents, all that follows is NaN.", float,
            f"UAS, points {ENDS}", points, ("low", "high"), terminal="narrow", short=f"UAS {ENDS}",
        ),
        *interval_ends(),
        Column("statistic", "Test statistic of no difference.", float, "statistic", two_decimals),
        chance("p", "Two-sided p of no difference.", "p"),
        chance("q", "`p` adjusted over the pairs.", "q", terminal="narrow"),
    ),
    name="Trained probes against each other",
)  # fmt: skip
"""Trained probes against each other."""
PROBE_WEIGHTS = Table(
    "weights.csv",
    "Weights of heads in the attention-only probe",
    "a probe, a head and a direction",
    (
        Column("classifier", "`attention`.", str),
        LAYER,
        HEAD,
        Column("direction", "“→” (dependent attends to head) or “←”.", str, "direction", words=("→", "←")),
        Column("weight", "On the log-odds scale, per unit of attention.", float, "weight", two_decimals),
    ),
    name="Weights",
)  # fmt: skip
"""The weight of every head in the attention-only probe, in either direction."""


def classifier_name(row: Row) -> str:
    """Return the name of a trained probe, the control marked as such.

    Example:
        >>> classifier_name(Row(classifier="attention", weights="random"))
        'attention (random weights)'
    """
    return f"{row.classifier} (random weights)" if row.weights == "random" else row.classifier


@dataclass(frozen=True, slots=True, eq=False)
class ProbeResults:
    """All results of probes beyond the findings.

    Attributes:
        tallies: Right answers of the baselines, from which the best heads are tested; None where only
            classifiers were trained.
        best: Best head of every row.
        baselines: Accuracy of every row and baseline.
        gaps: Gap between conditions of every head, where documents have conditions.
        trained: Accuracy of every trained probe and baseline.
        contests: Comparison of every pair of trained probes.
        weights: Learned weight of every head and direction.
    """

    tallies: BaselineCounts | None
    best: Table = BEST_HEADS
    baselines: Table = BASELINES
    gaps: Table = CONDITION_GAPS
    trained: Table = TRAINED_PROBES
    contests: Table = PROBE_CONTESTS
    weights: Table = PROBE_WEIGHTS

    __repr__ = brief


CONTRAST_PART = "matched"
"""Last part of the names of contrast columns."""


@runtime_checkable
class Probe(Protocol):
    """A question with right answers, answered by every head on every window.

    A probe is a ``ChoiceProbe`` (a word chooses among candidates, read on the device) or a
    ``DecodingProbe`` (a structure decoded from a head's whole word attention, on the CPU).
    """

    @property
    def name(self) -> str:
        """First part of the names of its columns."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Relations, kinds of mention or measures, such as "all", "nsubj"."""

    @property
    def directions(self) -> tuple[str, ...]:
        """``("→", "←")``, or ``("",)`` where only the query word's own attention is read."""

    @property
    def baselines(self) -> tuple[str, ...]:
        """Names of the baselines; those that heads have to beat are first."""

    @property
    def rivals(self) -> int:
        """Number of baselines that heads have to beat; the best of them is chosen on other data."""

    def baseline_hits(self, window: Window) -> Int[np.ndarray, "rows baselines"]:
        """Count right answers of each baseline over the items of a window."""


@runtime_checkable
class ChoiceProbe(Probe, Protocol):
    """A probe whose items are choices of words."""

    @property
    def contrast(self) -> bool:
        """Whether attention on the right word beyond the head's distance profile is also measured."""

    def choices(self, window: Window) -> tuple[Choices, Int[np.ndarray, " rows"]]:
        """Return the items of a window, and per row the number of items that the window cannot answer."""


@runtime_checkable
class DecodingProbe(Probe, Protocol):
    """A probe that decodes a structure from word attention."""

    def items(self, window: Window) -> Int[np.ndarray, " rows"]:
        """Count items of a window per row."""

    def decode(
        self, attention: Float[np.ndarray, "heads words words"], window: Window
    ) -> Int[np.ndarray, "rows directions heads"]:
        """Count right items per row, direction and head of one layer, from word attention of the window."""
