"""Compare trained probes and baselines with annotated trees: accuracies and paired tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.probes import PROBE_CONTESTS, TRAINED_PROBES
from headroles.records.table import Table
from headroles.runs.probe.trained.sentences import Sentence
from headroles.stats.columns import unit_numbers
from headroles.stats.correction import adjust
from headroles.stats.methods.closed_form import has_no_spread, student
from headroles.stats.methods.reliance import missed_p
from headroles.stats.moments import describe
from headroles.stats.pooled import jackknife_values, pooled_unit_values

RANDOM_SUFFIX = " (random weights)"


@dataclass(frozen=True, slots=True, eq=False)
class ProbeAnswers:
    """Answers of one probe or baseline on the test sentences.

    Attributes:
        classifier: Name of the probe or baseline.
        weights: "trained" or "random" weights of the model it reads; "" where it reads none.
        right: Judged words with the right head, per sentence.
        trained_on: Number of training sentences; 0 for baselines.
        epochs: Passes over them until the held-out loss was lowest.
    """

    classifier: str
    weights: str
    right: Int[np.ndarray, " sentences"]
    trained_on: int = 0
    epochs: int = 0

    @property
    def name(self) -> str:
        """The name of the classifier, marked for the control."""
        return self.classifier + RANDOM_SUFFIX * (self.weights == "random")


def right_heads(
    chosen: Sequence[Int[np.ndarray, "_"]], sentences: Sequence[Sentence]
) -> Int[np.ndarray, " sentences"]:
    """Count the judged words of each sentence whose chosen head is the annotated one."""
    return np.array(
        [
            int(((heads == sentence.heads) & sentence.judged).sum())
            for heads, sentence in zip(chosen, sentences, strict=True)
        ],
        dtype=np.int64,
    )


def accuracy_rows(answered: Sequence[ProbeAnswers], sentences: Sequence[Sentence], seed: int) -> Table:
    """Return the accuracy of each probe and baseline on the test sentences, with its 95 % interval.

    The interval is Student's, with the jackknife's error, one document left out in turn, and one degree of
    freedom less than the documents that hold judged words; NaN below 20 documents. Simulated, it covers the
    truth in 0.94 to 0.96 of runs where documents are even, and in as little as 0.83 of those with 20
    documents of very uneven sizes whose accuracy falls with size (``benchmarks/calibration/trained.py``).

    Args:
        answered: Probes and baselines.
        sentences: The test sentences.
        seed: Seed of the training, which is reported.
    """
    sums, words = _by_unit(answered, sentences)
    holding = words > 0
    sums, words = sums[holding], words[holding]
    low, high = np.full((2, len(answered)), np.nan)
    if len(words) >= FEWEST_UNITS:
        sample = describe(jackknife_values(sums, np.broadcast_to(words[:, None], sums.shape)))
        outcome = student(sample, 0.0)
        low, high = np.clip(outcome.low, 0.0, 1.0), np.clip(outcome.high, 0.0, 1.0)
    total = int(words.sum())
    return TRAINED_PROBES.of(
        classifier=[answers.classifier for answers in answered],
        weights=[answers.weights for answers in answered],
        uas=sums.sum(axis=0) / (total or np.nan),
        low=low,
        high=high,
        words=[total] * len(answered),
        units=[len(words)] * len(answered),
        trained_on=[answers.trained_on for answers in answered],
        epochs=[answers.epochs for answers in answered],
        seed=[seed] * len(answered),
    )


def contests(answered: Sequence[ProbeAnswers], sentences: Sequence[Sentence]) -> Table:
    """Test the difference of every pair on the same words, later minus earlier, clustered by document.

    Null: both have the same accuracy in the population of documents; alternative: they differ. With
    x_d the difference of right words in document d, n_d its judged words and R = Σx / Σn, Student's t
    of R with the jackknife's error, one document left out in turn (``headroles.stats.pooled``), with one
    degree of freedom less than documents. q is Holm's
    over the pairs. The trained weights are treated as fixed: other training documents or seeds
    would add to the error. Two probes that never differ have p = 1. A difference
    that is the same in every document has no error, and p is NaN. p is at least the probability that
    documents which speak against it are missing, taken to be of average size. Below 20 documents nothing is
    tested.

    Args:
        answered: Probes and baselines, in the order of the table.
        sentences: The test sentences.
    """
    units = unit_numbers([sentence.unit for sentence in sentences])
    words = np.array([int(sentence.judged.sum()) for sentence in sentences], dtype=np.float64)
    pairs = [(later, earlier) for earlier, later in combinations(answered, 2)]
    if not pairs or not words.any():
        return PROBE_CONTESTS
    with np.errstate(invalid="ignore"):
        shares = np.stack([(first.right - second.right) / words for first, second in pairs], axis=1)
    sample = describe(pooled_unit_values(shares, words, units))
    outcome = student(sample, 0.0)
    constant = has_no_spread(sample)
    equal = constant & (np.abs(sample.mean) < 1e-12)
    above = np.maximum(outcome.p, missed_p(sample, 0.0, -1.0, 1))
    below = np.maximum(outcome.p_not, missed_p(sample, 0.0, 1.0, -1))
    p = np.where(constant, np.where(equal, 1.0, np.nan), np.minimum(1.0, 2 * np.fmin(above, below)))
    few = sample.count < FEWEST_UNITS
    p = np.where(few, np.nan, p)
    return PROBE_CONTESTS.of(
        first=[first.name for first, _ in pairs],
        second=[second.name for _, second in pairs],
        difference=sample.mean,
        low=np.where(few, np.nan, outcome.low),
        high=np.where(few, np.nan, outcome.high),
        statistic=np.where(constant | few, np.nan, outcome.statistic),
        p=p,
        q=adjust(p, "holm"),
    )


def _by_unit(
    answered: Sequence[ProbeAnswers], sentences: Sequence[Sentence]
) -> tuple[Float[np.ndarray, "units rows"], Float[np.ndarray, " units"]]:
    """Count the right words per document and row, and the judged words per document."""
    units = unit_numbers([sentence.unit for sentence in sentences])
    count = int(units.max(initial=-1)) + 1
    judged = np.array([int(sentence.judged.sum()) for sentence in sentences], dtype=np.float64)
    words = np.bincount(units, weights=judged, minlength=count)
    sums = [
        np.bincount(units, weights=answers.right.astype(np.float64), minlength=count) for answers in answered
    ]
    return np.stack(sums, axis=1), words
