"""Plan a study: the number of examples that it needs, before anything is run.

Values are checked before scipy is imported.
"""

from dataclasses import dataclass

import numpy as np

from headroles.errors import BadInput
from headroles.options.finished import PlanOptions
from headroles.options.keywords import keywords_of
from headroles.stats.decision import ENOUGH_FOR_NOT, check_share

SIZES = (50, 100, 128, 200, 500, 1000)
"""Numbers of examples for which the smallest effect is given."""
AROUND = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Points of the curve, as multiples of the examples needed."""
ORIENTATION = 0.1
"""The share of heads shown in addition to the cautious case of a false discovery rate."""


@dataclass(frozen=True, slots=True)
class Case:
    """An assumption about the other heads, and the number of examples that follows.

    Attributes:
        share: Share of the family's tests assumed to be significant; None where it plays no part or
            no guess was made (a single one).
        cut: The level that a head's unadjusted p must reach, between 0 and 1.
        words: Formula of the cut, such as ``"alpha / 144 heads"``.
        examples: The smallest number of examples (units) that gives the wanted power.
    """

    share: float | None
    cut: float
    words: str
    examples: int


@dataclass(frozen=True, slots=True)
class Study:
    """The number of examples to collect, and what other numbers would find.

    Attributes:
        effect: Distance of a head's mean from θ = null + margin, in standard deviations over units.
        lowest: How far the lowest possible score lies below θ, likewise.
        power: The wanted probability of finding such a head.
        alpha: Level of the correction.
        correction: The correction.
        family: Tests corrected together.
        heads: Heads of the model.
        sieves: Number of roles.
        tests: Tests in a family.
        case: The assumption, its cut, and the number of examples of a role without a contrast.
        joint: The same for a role with a contrast, where the means of score and contrast both lie
            ``effect`` beyond their margins. Each is found with the root of ``power``, so both are found with
            at least ``power`` (``stats.power.power_of_part``). A contrast is a difference, so its lowest
            value lies twice as far below its margin.
        orientation: For a false discovery rate without a share, the same where one head in ten
            holds the role; else None.
        curve: Pairs of a number of examples and the power it gives, in ascending order.
        detectable: Pairs of a number of examples and the smallest effect found with that power.
    """

    effect: float
    lowest: float
    power: float
    alpha: float
    correction: str
    family: str
    heads: int
    sieves: int
    tests: int
    case: Case
    joint: Case
    orientation: Case | None
    curve: tuple[tuple[int, float], ...]
    detectable: tuple[tuple[int, float], ...]

    @property
    def examples(self) -> int:
        """The number of examples (units) to collect for a role without a contrast."""
        return self.case.examples

    @property
    def notes(self) -> tuple[str, ...]:
        """Limits of the number, one sentence each."""
        notes = [
            "For a role with a contrast, plan for the smaller of the two effects (score, contrast). The "
            "larger one makes the power larger, up to that of one test alone.",
            f"A role must hold with missing units, too. Their worst score is taken to lie {self.lowest:g} SD "
            f"below the threshold, that of a contrast {2 * self.lowest:g}: --lowest. On QNLI the medians "
            "were 4 and 8.",
            "Normal scores are assumed. Where a head's scores have a long tail to the left, t-skew "
            "(the default test) finds it less often: collect more.",
        ]
        if self.examples < ENOUGH_FOR_NOT:
            notes.append(f'"not" needs at least {ENOUGH_FOR_NOT} units.')
        return tuple(notes)


@keywords_of(PlanOptions, "effect", "head_count", "sieves")
def study(options: PlanOptions) -> Study:
    """Return how many examples to collect so that a head with an effect is labelled with its role.

    One head's one-sided t test (statsmodels' ``TTestPower``: normal scores, independent units) at the
    level that the correction is assumed to leave it (``stats.power.assumed_cut``). The default test,
    t-skew, finds fewer heads with left-skewed scores (figures: ``stats.power.power_of``). The role must also
    hold with missing units at the lowest score (``lowest``), and nothing is decided below 20 units. Examples
    are counted in units: where examples come from groups (documents), it is groups that are needed. A role
    with a contrast asks for two such tests to reject, so each is planned with the root of ``power``
    (``Study.joint``).

    Args:
        {options}

    A labelling has the effect as ``effect`` in ``findings.csv``. Roles share a
    family for ``family="run"`` only. ``share`` counts tests that come out as roles, above 0 and up to 1.

    Raises:
        UnknownName: For a correction or family that does not exist.
        BadInput: For numbers out of range, or options that do not go together.

    Example:
        >>> plan = study(effect=0.3, head_count=144, correction="holm")
        >>> plan.examples, plan.joint.examples, plan.case.words
        (205, 347, 'alpha / 144 heads')
    """
    effect, heads, sieves, layers = options.effect, options.head_count, options.sieves, options.layer_count
    power, alpha, share, lowest = options.power, options.alpha, options.share, options.lowest
    correction, family = options.correction, options.family
    _check_together(correction, family, heads, share, layers)
    from headroles.stats.power import (
        assumed_cut,
        detectable_effect,
        power_of_part,
        required_units,
        t_test_power,
    )

    tests = {"sieve": heads, "run": heads * sieves, "layer": heads // (layers or 1)}[family]

    def case(guess: float | None, wanted: float = power, lowest: float = lowest) -> Case:
        cut = assumed_cut(correction, alpha, tests, guess)
        words = _cut_formula(correction, _count_tests(tests, family), tests, guess)
        return Case(guess, cut, words, required_units(effect, cut, wanted, lowest))

    chosen = case(share)
    curve = sorted({max(2, round(step * chosen.examples)) for step in AROUND})
    powers = [t_test_power(effect, count, chosen.cut, lowest) for count in curve]
    smallest = detectable_effect(np.array(SIZES), chosen.cut, power, lowest)
    return Study(
        effect=effect,
        lowest=lowest,
        power=power,
        alpha=alpha,
        correction=correction,
        family=family,
        heads=heads,
        sieves=sieves,
        tests=tests,
        case=chosen,
        joint=case(share, power_of_part(power), 2 * lowest),
        orientation=case(ORIENTATION) if _is_fdr(correction) and share is None else None,
        curve=tuple(zip(curve, powers, strict=True)),
        detectable=tuple(zip(SIZES, smallest.tolist(), strict=True)),
    )


def _is_fdr(correction: str) -> bool:
    return correction.startswith("fdr")


def _count_tests(tests: int, family: str) -> str:
    counted = f"{tests:,} {'head' if tests == 1 else 'heads'}"
    return {"sieve": counted, "run": f"{tests:,} tests", "layer": f"{counted} of a layer"}[family]


def _cut_formula(correction: str, counted: str, tests: int, share: float | None) -> str:
    """Return the formula of the cut."""
    if correction == "none":
        return "alpha"
    if correction in ("sidak", "holm-sidak"):
        return f"1 − (1 − alpha)^(1 / {counted})"
    words = f"alpha / {counted}"
    if _is_fdr(correction) and share is not None and share * tests > 1:
        words = f"alpha × expected share {share:g}"
    if correction != "fdr_by":
        return words
    from headroles.stats.power import harmonic

    return f"{words} / harmonic sum {harmonic(tests):.3g}"


def _check_together(
    correction: str, family: str, heads: int, share: float | None, layers: int | None
) -> None:
    """Refuse options that do not go together."""
    if share is not None:
        check_share(share)
    if share is not None and not _is_fdr(correction):
        raise BadInput(
            f"share matters to false discovery rates (fdr_bh, fdr_by, fdr_tsbh) only; "
            f"leave it out with the correction {correction!r}"
        )
    if (layers is None) == (family == "layer"):
        given = "got none" if layers is None else f"got it with the family {family!r}"
        raise BadInput(f"--layer-count is needed for the family 'layer' and for no other, but {given}")
    if layers is not None and heads % layers:
        raise BadInput(
            f"heads are those of all layers, the same number in each, but got {heads} heads "
            f"for {layers} layers"
        )
