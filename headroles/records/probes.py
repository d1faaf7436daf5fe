"""Probes: the protocol that a probe follows, and the records of their results.

Results are the best head of each row, its baselines, gaps between conditions, and trained probes. A probe
has items about gold annotation, and baselines that a head has to beat.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from headroles.records.brief import brief
from headroles.records.documents import Choices, Window


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


@dataclass(frozen=True, slots=True)
class BestHead:
    """Row of ``best.csv``: the best head of a row, chosen on one half of the units, tested on the other.

    Under the preset "published" all units both select and test: "test half" then means all units, and
    there is no test.

    Accuracies are right answers over all items of the row (NaN without items); intervals are 95 %,
    with standard errors clustered by unit.

    Attributes:
        row: Relation or kind of mention, such as ``"dependency:nsubj"``.
        direction: "→" (the item's word attends) or "←" (it is attended to); "" where there is only one.
        layer: Layer of the head, from 0; −1 where no head could be selected.
        head: Index of the head in its layer, from 0.
        items: Items of the test half.
        units: Units of the test half that have items.
        selection: Accuracy of the head on the selection half, which is optimistic.
        accuracy: Accuracy on the test half.
        low: Lower end of its interval.
        high: Upper end.
        baseline: The baseline with the highest accuracy on the selection half, such as "-1".
        baseline_accuracy: Its accuracy on the test half.
        difference: Accuracy minus that of the baseline, on the test half.
        difference_low: Lower end of its interval.
        difference_high: Upper end.
        margin: Margin that the difference is tested against.
        statistic: Test statistic of difference ≤ margin.
        p: One-sided p of difference ≤ margin.
        q: ``p`` adjusted over the rows of the probe.
        p_not: One-sided p of difference ≥ margin.
        q_not: ``p_not`` adjusted over the rows of the probe.
        contrast: Mean attention beyond the head's own distance profile, test half; NaN where not measured.
        contrast_low: Lower end of its interval.
        contrast_high: Upper end.
        decision: "beyond" the baseline, "not", "undetermined" or "untestable".
    """

    row: str
    direction: str
    layer: int
    head: int
    items: int
    units: int
    selection: float
    accuracy: float
    low: float
    high: float
    baseline: str
    baseline_accuracy: float
    difference: float
    difference_low: float
    difference_high: float
    margin: float
    statistic: float
    p: float
    q: float
    p_not: float
    q_not: float
    contrast: float
    contrast_low: float
    contrast_high: float
    decision: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Row of ``baselines.csv``: the accuracy of a baseline over all units.

    Attributes:
        row: Relation or kind of mention.
        baseline: Name, such as "-1" (the word before), "nearest", "right-branching".
        items: Items of the row.
        units: Units that have items.
        accuracy: Right answers over items.
        low: Lower end of its 95 % interval, clustered by unit.
        high: Upper end.
    """

    row: str
    baseline: str
    items: int
    units: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ConditionGap:
    """Row of ``conditions.csv``: one head under two conditions (WinoBias pro/anti, GAP by gender).

    Attributes:
        layer: Layer of the head, from 0.
        head: Index of the head in its layer, from 0.
        measure: "accuracy", or "f1" (GAP's own: each name of a passage is classified as true or false).
        first: Name of the first condition ("pro", "feminine").
        second: Name of the second ("anti", "masculine").
        both: The measure over all items.
        first_value: The measure under the first condition.
        second_value: The measure under the second condition.
        difference: First minus second.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Two-sided p of no difference.
        q: ``p`` adjusted over the heads.
    """

    layer: int
    head: int
    measure: str
    first: str
    second: str
    both: float
    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    p: float
    q: float


@dataclass(frozen=True, slots=True)
class TrainedProbe:
    """Row of ``trained.csv``: a trained probe, or a baseline for it, on the test sentences.

    Attributes:
        classifier: "attention", "attention+words", "distances+words", "right-branching", "left-branching".
        weights: "trained" model or "random" weights (the control); "" where no model is read.
        uas: Words with the right head over all words but punctuation, 0 to 1.
        low: Lower end of its 95 % interval over documents; NaN below 20 documents.
        high: Upper end.
        words: Words of the test.
        units: Documents of the test.
        trained_on: Sentences trained on; 0 for baselines.
        epochs: Passes over them until the held-out loss was lowest.
        seed: Seed of initial weights, order and held-out part.
    """

    classifier: str
    weights: str
    uas: float
    low: float
    high: float
    words: int
    units: int
    trained_on: int
    epochs: int
    seed: int


@dataclass(frozen=True, slots=True)
class ProbeComparison:
    """Row of ``contests.csv``: two trained probes on the same words, paired, clustered by document.

    Attributes:
        first: First classifier, with " (random weights)" for the control.
        second: Second classifier, likewise.
        difference: UAS of the first minus the second; below 20 documents, all that follows is NaN.
        low: Lower end of its 95 % interval.
        high: Upper end.
        statistic: Test statistic of no difference.
        p: Two-sided p of no difference.
        q: ``p`` adjusted over the pairs.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    statistic: float
    p: float
    q: float


@dataclass(frozen=True, slots=True)
class ProbeWeight:
    """Row of ``weights.csv``: the weight of a head in the attention-only probe.

    Attributes:
        classifier: "attention".
        layer: Layer of the head, from 0.
        head: Index of the head in its layer, from 0.
        direction: "→" (dependent attends to head) or "←".
        weight: On the log-odds scale, per unit of attention.
    """

    classifier: str
    layer: int
    head: int
    direction: str
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class ProbeResults:
    """All results of probes beyond the findings.

    Attributes:
        tallies: Right answers of the baselines, from which the best heads are tested; None where only
            classifiers were trained.
        best: Best head per row.
        baselines: Accuracy per row and baseline.
        gaps: Gap between conditions per head, where documents have conditions.
        trained: Accuracy per trained probe and baseline.
        contests: Comparison per pair of trained probes.
        weights: Learned weight per head and direction.
    """

    tallies: BaselineCounts | None
    best: tuple[BestHead, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    gaps: tuple[ConditionGap, ...] = ()
    trained: tuple[TrainedProbe, ...] = ()
    contests: tuple[ProbeComparison, ...] = ()
    weights: tuple[ProbeWeight, ...] = ()

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
