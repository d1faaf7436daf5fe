"""Numbers, names and verdicts in words."""

import math

from headroles.records.layers import Stack
from headroles.records.numbers import mean, plural, share
from headroles.records.rules.rule import Decision
from headroles.records.shown.notebook import BOTH as BOTH
from headroles.records.shown.notebook import FAMILIES as FAMILIES
from headroles.reports.records import Interval
from headroles.stats.decision import ALL_CORRECTIONS, TESTS

ABSENT = 0.02
"""Bound around chance within which a mean is absent; the assessment's, stated on the page."""
HALF = 0.5
"""Share of units below which a role holds in the minority of them."""
POWER = 0.8
"""Power with which a detectable effect is found; the assessment's, stated on the page."""
RELABELLINGS = 500
"""Resamples behind the intervals of overlaps and depth; the assessment's, stated on the page."""
STEADY = 0.9
"""Least probability that a fresh sample gives a label again for it to count as stable."""


def is_e_bh(test: str, correction: str) -> bool:
    """Return whether Benjamini-Hochberg over the p of a test is the procedure e-BH."""
    return (test, correction) == ("betting", "fdr_bh")


def correction_words(test: str, correction: str) -> str:
    """Return a correction in words, by its name; unknown names stay as they are.

    Example:
        >>> correction_words("t", "fdr_bh"), correction_words("betting", "fdr_bh")
        ('Benjamini–Hochberg (fdr_bh)', 'e-BH: Benjamini–Hochberg over 1/E, under any dependence (fdr_bh)')
    """
    if is_e_bh(test, correction):
        return "e-BH: Benjamini–Hochberg over 1/E, under any dependence (fdr_bh)"
    words = ALL_CORRECTIONS.get(correction)
    return correction if words is None or correction == "none" else f"{words.short} ({correction})"


def words_of_test(test: str) -> str:
    """Return a test in words, by its name; unknown names stay as they are.

    Example:
        >>> words_of_test("t")
        'one-sided one-sample t (t)'
    """
    return f"{TESTS[test].short} ({test})" if test in TESTS else test


def interval(value: Interval) -> str:
    """Return a mean with its interval; alone where it has none.

    Example:
        >>> interval(Interval(0.81, 0.79, 0.83))
        '0.81 [0.79, 0.83]'
    """
    if math.isnan(value.low):
        return mean(value.mean)
    return f"{mean(value.mean)} [{mean(value.low)}, {mean(value.high)}]"


def layers_read(stack: Stack) -> str:
    """Return the number of layers that are read, and that of all layers where these are more.

    Example:
        >>> from headroles.records.layers import StackLayer, plain_stack
        >>> layers_read(plain_stack(2)), layers_read(Stack((StackLayer(3),), 4))
        ('2 layers', '1 of 4 layers')
    """
    count = len(stack.layers)
    return plural(count, "layer") if stack.whole else f"{count:,} of {plural(stack.blocks, 'layer')}"


def heads_in_layers(stack: Stack, heads: int) -> str:
    """Return the number of all heads, and where they are.

    Args:
        stack: The layers by their positions.
        heads: Heads of a layer.

    Example:
        >>> from headroles.records.layers import StackLayer, plain_stack
        >>> heads_in_layers(plain_stack(2), 3), heads_in_layers(Stack((StackLayer(3),), 4), 3)
        ('6 heads in 2 layers', '3 heads, attention in 1 of 4 layers')
    """
    count, layers = plural(len(stack.layers) * heads, "head"), plural(len(stack.layers), "layer")
    return f"{count} in {layers}" if stack.whole else f"{count}, {stack.words}"


def layers_of_heads(stack: Stack, heads: int, noun: str) -> str:
    """Return the number of all heads, with layers and heads of each in brackets, as methods state them.

    Example:
        >>> from headroles.records.layers import StackLayer, plain_stack
        >>> layers_of_heads(plain_stack(2), 3, "head"), layers_of_heads(Stack((StackLayer(3),), 4), 3, "head")
        ('6 heads (2 layers of 3)', '3 heads (1 of 4 layers, of 3)')
    """
    comma = "" if stack.whole else ","
    return f"{plural(len(stack.layers) * heads, noun)} ({layers_read(stack)}{comma} of {heads})"


def interval_name(decision: Decision) -> str:
    """Return which 95 % interval of the mean the findings show.

    Example:
        >>> interval_name(Decision(interval="t"))
        "Student's t (t)"
    """
    names = {"t": "Student's t (t)", "bca": "bias-corrected and accelerated bootstrap (bca)"}
    own = TESTS[decision.test].interval if decision.test in TESTS else decision.interval
    return names.get(decision.interval, own)


def uses_resamples(decision: Decision) -> bool:
    """Return whether the test, the correction or the interval drew resamples."""
    test, correction = TESTS.get(decision.test), ALL_CORRECTIONS.get(decision.correction)
    drawn = any(words is not None and words.resamples for words in (test, correction))
    return drawn or decision.interval == "bca"


def error_rate(decision: Decision, unit: str = "role", claims: str = "labels", claim: str = "label") -> str:
    r"""Return which part of the claims of a run may be false, in a few words.

    Args:
        decision: Correction, family and alpha.
        unit: What a family of tests belongs to.
        claims: What the tests claim, in the plural.
        claim: The same in the singular.

    Example:
        >>> error_rate(Decision()), error_rate(Decision(), "statistic", "“above”", "“above”")
        ('false labels ≤ 5\xa0% per role', 'false “above” ≤ 5\xa0% per statistic')
    """
    level = share(decision.alpha)
    scope = {"run": "in the run", "layer": f"per {unit} and layer"}.get(decision.family, f"per {unit}")
    if decision.correction == "none":
        return f"{level} false {claims} by chance, not corrected"
    kind = f"false {claims}" if decision.correction.startswith("fdr") else f"chance of any false {claim}"
    return f"{kind} ≤ {level} {scope}"


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level = f"{100 * decision.alpha:g}\u00a0%"
    scope = {"run": "this run's tests", "layer": "one sieve's heads in one layer"}.get(
        decision.family, "one sieve's heads"
    )
    if decision.correction == "none":
        return (
            f"Nothing was corrected: of heads exactly at the threshold, {level} become a role by chance, in "
            f"every sieve."
        )
    if decision.correction.startswith("fdr"):
        return (
            f"Within a family ({scope}), at most {level} of the roles are expected to be false "
            f"and, separately, at most {level} of the nots, of the explained heads and of the absent heads."
        )
    return (
        f"Within a family ({scope}), the chance of even one false role is at most {level} "
        f"and, separately, that of a false not, of a falsely explained head and of a falsely absent head."
    )
