"""Families of questions of any kind, put to the same engine as heads: one value per example and question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Findings
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Columns
from headroles.stats.comparing.equivalence import adjust_equivalence, equivalence_p
from headroles.stats.correction import significant
from headroles.stats.engine import judge
from headroles.stats.families import family_members
from headroles.stats.resolution import fewest_resamples

CONTRAST, OWN = ":contrast", ":own"


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Questions of one kind about several arms, each with a value per example.

    Attributes:
        arms: Names of the arms.
        units: Unit of each example.
        families: Number of the family that each question belongs to, from 0; families of different arms are
            different, unless the decision's family is the run.
        values: A value per arm, example and question; NaN where there is none.
        bounds: Smallest and largest value possible in each arm; NaN where unknown.
        contrast: Values that must lie beyond 0, too; None for none.
        null: Value under the null.
    """

    arms: tuple[str, ...]
    units: tuple[str, ...]
    families: Int[np.ndarray, " questions"]
    values: Float[np.ndarray, "arms examples questions"]
    bounds: Sequence[tuple[float, float]]
    contrast: Float[np.ndarray, "arms examples questions"] | None = None
    null: float = 0.0

    def negated(self) -> "Questions":
        """Return the same questions in the other direction: values mirrored at the null."""
        contrast, twice = None if self.contrast is None else -self.contrast, 2 * self.null
        bounds = tuple((twice - high, twice - low) for low, high in self.bounds)
        return replace(self, values=twice - self.values, bounds=bounds, contrast=contrast)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Outcome of questions, one entry per arm and question.

    Attributes:
        count: Units that counted.
        mean: Mean over units.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: One-sided p of "at most the null", of the values alone.
        p_joint: The larger of that and p of the contrast.
        q: ``p_joint`` adjusted over its family.
        decision: Codes of ``records.findings.DECISIONS``; 0 where the null is refuted.
        contrast: Outcome of the contrast by itself; None without one.
    """

    count: Int[np.ndarray, "arms questions"]
    mean: Float[np.ndarray, "arms questions"]
    low: Float[np.ndarray, "arms questions"]
    high: Float[np.ndarray, "arms questions"]
    p: Float[np.ndarray, "arms questions"]
    p_joint: Float[np.ndarray, "arms questions"]
    q: Float[np.ndarray, "arms questions"]
    decision: Int[np.ndarray, "arms questions"]
    contrast: "Answers | None" = None


def judge_questions(questions: Questions, decision: Decision) -> Answers:
    """Test questions by ``stats.engine.judge``, as if each were a head and each family a layer.

    Null of each: the mean over units is at most the null value, or that of the contrast at most 0
    (intersection-union). Alternative: both are larger. Unit: ``questions.units``. Assumptions, correction,
    interval and the guard against few units are those of the decision, as for heads.

    Args:
        questions: At least one arm and one question.
        decision: As of the run. The family "run" joins all arms and families. Where a test draws, it
            draws at least as often as its largest family needs.
    """
    scores, rules = _scores_of(questions)
    findings = judge(scores, rules, _decision_of(decision, rules, scores))
    return _answers(findings, questions)


def _scores_of(questions: Questions) -> tuple[Scores, list[Rule]]:
    """Return questions as scores of a model whose layers are families, and their rules.

    A question with a contrast has three columns: joint, the contrast, and the values alone.
    """
    columns, rules = list[np.ndarray](), list[Rule]()
    for k, (arm, (low, high)) in enumerate(zip(questions.arms, questions.bounds, strict=True)):
        rule = Rule(arm, null=questions.null, margin=0.0, low=low, high=high)
        columns.append(questions.values[k])
        if questions.contrast is None:
            rules.append(rule)
            continue
        wide = 2 * max(abs(low), abs(high))
        rules += [
            replace(rule, contrast=arm + CONTRAST),
            replace(rule, sieve=arm + CONTRAST, role=False, low=-wide, high=wide),
            replace(rule, sieve=arm + OWN, role=False),
        ]
        columns += [questions.contrast[k], questions.values[k]]
    values = np.stack([_spread(column, questions.families) for column in columns])
    count = len(questions.units)
    null = np.array([rule.null for rule in rules])
    scores = Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=tuple(map(str, range(count))),
        units=questions.units,
        tokens=np.zeros(count, dtype=np.int64),
        cells=np.full((len(rules), count), np.nan),
        values=values.astype(np.float32),
        null=np.repeat(null[:, None], count, axis=1),
    )
    return scores, rules


def _spread(
    values: Float[np.ndarray, "rows questions"], families: Int[np.ndarray, " questions"]
) -> Float[np.ndarray, "rows families most"]:
    """Return values with an axis of families, filled up with NaN."""
    places = _places(families)
    grid = np.full((len(values), *_grid(families)), np.nan)
    grid[:, families, places] = values
    return grid


def _grid(families: Int[np.ndarray, " questions"]) -> tuple[int, int]:
    return int(families.max()) + 1, int(np.bincount(families).max())


def _places(families: Int[np.ndarray, " questions"]) -> Int[np.ndarray, " questions"]:
    """Return the place of each question within its family.

    Example:
        >>> _places(np.array([0, 1, 0, 1, 1])).tolist()
        [0, 0, 1, 1, 2]
    """
    order, sizes = np.argsort(families, kind="stable"), np.bincount(families)
    places = np.empty(len(families), dtype=np.int64)
    places[order] = np.arange(len(families)) - (np.cumsum(sizes) - sizes)[families[order]]
    return places


def _decision_of(decision: Decision, rules: Sequence[Rule], scores: Scores) -> Decision:
    """Return the decision for a grid of families: a layer is a family, and there are enough resamples."""
    family = "run" if decision.family == "run" else "layer"
    needed = fewest_resamples(replace(decision, family=family), rules, scores.layers, scores.heads)
    return replace(decision, family=family, resamples=max(decision.resamples, needed))


def _answers(findings: Findings, questions: Questions) -> Answers:
    families = questions.families
    places = _places(families)

    def take(name: str, columns: Sequence[int]) -> np.ndarray:
        grid: np.ndarray = getattr(findings, name)[list(columns)]
        return grid[:, families, places]

    step = 1 if questions.contrast is None else 3
    main, own = range(0, len(findings.rules), step), range(step - 1, len(findings.rules), step)
    numbers = {name: take(name, main) for name in ("count", "mean", "low", "high", "q", "decision")}
    contrast = None
    if step > 1:
        others = range(1, len(findings.rules), step)
        names = ("count", "mean", "low", "high", "p", "q", "decision")
        taken = {name: take(name, others) for name in names}
        contrast = Answers(**taken, p_joint=taken["p"], contrast=None)
    return Answers(**numbers, p=take("p", own), p_joint=take("p", main), contrast=contrast)


def direction(code: int, less: bool, units: int, words: tuple[str, str]) -> str:
    """Return the decision of a question and of the same question in the other direction, in words.

    Args:
        code: Decision of the question, of ``records.findings.DECISIONS``; 0 where its null is refuted.
        less: Whether the null of the other direction is refuted.
        units: Units that were tested; below ``FEWEST_UNITS`` nothing is decided.
        words: The decision where the one is refuted, and where the other is.

    Example:
        >>> words = ("more", "less")
        >>> [direction(code, less, 20, words) for code, less in ((0, False), (1, True), (1, False))]
        ['more', 'less', 'undetermined']
        >>> direction(0, False, 19, words)
        'undetermined'
        >>> direction(3, False, 1, words)
        'untestable'
    """
    if code != 3 and units < FEWEST_UNITS:
        return DECISIONS[2]
    if code == 0:
        return words[0]
    return words[1] if less else DECISIONS[3 if code == 3 else 2]


@dataclass(frozen=True, slots=True, eq=False)
class Equivalence:
    """Whether means lie within bounds around 0, one entry per column and head.

    Attributes:
        p: P of "at least the bound away from 0" (two one-sided tests).
        q: ``p`` adjusted over its family.
        within: Whether that is refuted.
    """

    p: Float[np.ndarray, "columns *heads"]
    q: Float[np.ndarray, "columns *heads"]
    within: Bool[np.ndarray, "columns *heads"]


def equivalences(
    scores: Scores, rules: Sequence[Rule], bounds: Sequence[float], decision: Decision
) -> Equivalence:
    """Test whether the means of heads lie within a bound around 0 (``comparing.equivalence``).

    Args:
        scores: One value per column, example and head, with a chance value of 0.
        rules: One per column; low and high are used.
        bounds: Bound of each column; without one above 0, nothing is tested.
        decision: Test, correction, family and alpha.
    """
    columns = list(Columns(scores, [replace(rule, null=0.0, margin=0.0, contrast="") for rule in rules]))
    p = np.full((len(rules), scores.layers * scores.heads), np.nan)
    counted = p.copy()
    for k, bound in enumerate(bounds):
        if bound > 0:
            p[k], counted[k] = equivalence_p(columns[k], decision, bound)
    families = family_members(rules, scores.layers, scores.heads, decision.family)
    positive = [bound if bound > 0 else 1.0 for bound in bounds]
    q = adjust_equivalence(columns, families, counted, decision, positive)
    grid = (len(rules), scores.layers, scores.heads)
    return Equivalence(
        p.reshape(grid), q.reshape(grid), significant(q, decision.alpha, counted).reshape(grid)
    )


def equivalent_questions(questions: Questions, bounds: Sequence[float], decision: Decision) -> Equivalence:
    """Test whether means of questions lie within the bound of their arm around 0, as ``equivalences``.

    Args:
        questions: Without contrasts.
        bounds: Of each arm.
        decision: As ``judge_questions`` takes it.

    Returns:
        One entry per arm and question.
    """
    scores, rules = _scores_of(questions)
    found = equivalences(scores, rules, bounds, _decision_of(decision, rules, scores))
    families, places = questions.families, _places(questions.families)
    return Equivalence(*(grid[:, families, places] for grid in (found.p, found.q, found.within)))
