"""Numbers and verdicts in words."""

import math
import unicodedata

from headroles.records import Decision
from headroles.reports.content import Interval, Overlap, Role, Strongest

ENOUGH_FOR_NOT = 50
"""Units below which the engine never says "not"; said on the page."""

CORRECTIONS = {
    "fdr_bh": "Benjamini–Hochberg (fdr_bh)",
    "fdr_by": "Benjamini–Yekutieli (fdr_by)",
    "holm": "Holm (holm)",
    "bonferroni": "Bonferroni (bonferroni)",
    "none": "none",
}
TESTS = {
    "t-skew": "one-sided one-sample t with Hall's correction for skew (t-skew)",
    "t": "one-sided one-sample t (t)",
    "t-published": "one-sided one-sample t, spread divided by n (t-published)",
}


def number(value: float) -> str:
    """Three significant digits; an en dash where there is nothing to say.

    Example:
        >>> number(0.12345), number(1234567.0), number(3e-9), number(float("nan")), number(0.0)
        ('0.123', '1,234,567', '3e-09', '–', '0')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}".replace("-", "−", 1) if value < 0 else f"{value:.3g}"


def exact(value: float) -> str:
    """A setting as it was given, with at least two decimals.

    Example:
        >>> exact(0.1), exact(0.1 + 0.02), exact(3.0), exact(0.005)
        ('0.10', '0.12', '3.00', '0.005')
    """
    text = f"{value:g}"
    return f"{value:.2f}" if "e" not in text and len(text.partition(".")[2]) < 2 else text


def mean(value: float) -> str:
    """A mean score, two decimals, three where the second would not show."""
    if math.isnan(value):
        return "–"
    text = f"{value:.2f}" if abs(value) >= 0.05 else f"{value:.3f}"
    return text.replace("-", "−")


def interval(value: Interval) -> str:
    """A mean with its interval.

    Example:
        >>> interval(Interval(0.81, 0.79, 0.83))
        '0.81 [0.79, 0.83]'
    """
    return f"{mean(value.mean)} [{mean(value.low)}, {mean(value.high)}]"


def isolate(text: str) -> str:
    """A name that cannot turn the writing direction of the sentence around it.

    Example:
        >>> isolate("local") == "local", isolate("\u202elocal").endswith("\u2069")
        (True, True)
    """
    quiet = {"L", "EN", "ES", "CS", "ET", "ON", "WS"}
    directed = any(unicodedata.bidirectional(letter) not in quiet for letter in text)
    return f"\u2068{text}\u2069" if directed else text


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "head"), plural(1200, "head")
        ('1 head', '1,200 heads')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listing(names: list[str]) -> str:
    """Names joined as a sentence joins them.

    Example:
        >>> listing(["a"]), listing(["a", "b", "c"])
        ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def family(decision: Decision, tests: int, run_tests: int) -> str:
    """Which p values were corrected together, in words."""
    level = f"{decision.alpha:g}"
    over = f"over the {plural(tests, 'head')} of this sieve"
    if decision.family == "run":
        over = f"over all {plural(run_tests, 'test')} of this run"
    if decision.correction == "none":
        return f"p ≤ {level}, not corrected, {over}"
    return f"q ≤ {level} {over}, {decision.correction}"


def promise(decision: Decision) -> str:
    """What the correction promises."""
    level = f"{100 * decision.alpha:g}\u00a0%"
    scope = "this run's tests" if decision.family == "run" else "one sieve's heads"
    if decision.correction == "none":
        return (
            f"Nothing was corrected: of heads exactly at θ, {level} become a role by chance, in every sieve."
        )
    if decision.correction.startswith("fdr"):
        return (
            f"Within a family ({scope}), at most {level} of the roles are expected to be false "
            f"and, separately, at most {level} of the nots."
        )
    return (
        f"Within a family ({scope}), the chance of even one false role is at most {level} "
        f"and, separately, that of one false not."
    )


def verdict(role: Role, decision: Decision, run_tests: int, statistic: str) -> str:
    """What the run says about one role, without the role's name."""
    tally = role.tally
    if not tally.tests:
        return (
            f"Not applicable here: none of the {plural(tally.heads, 'head')} could be tested "
            "(fewer than two units with a score, or scores without spread or known bounds)."
        )
    below = f"significantly below θ = {exact(role.threshold)}"
    if role.contrast:
        below += f", or contrast significantly below {exact(role.contrast_threshold)}"
    parts = [
        f"{tally.role or 'None'} of {plural(tally.heads, 'head')} "
        f"({family(decision, tally.tests, run_tests)}); {tally.not_role} are not ({below})"
    ]
    parts.append(f"{tally.undetermined} undetermined")
    if tally.untestable:
        parts.append(f"{tally.untestable} could not be tested")
    sentences = [", ".join(parts) + "."]
    if role.contrast:
        sentences.append(
            f"Both had to pass: {statistic} beyond θ = {exact(role.threshold)} and contrast "
            f"({isolate(role.contrast)}) beyond {exact(role.contrast_threshold)}."
        )
    if role.strongest is not None:
        sentences.append(strongest(role.strongest, statistic))
    return " ".join(sentences)


def strongest(head: Strongest, statistic: str) -> str:
    """The strongest head of a role, with its interval or intervals."""
    place = f"Strongest: layer {head.layer} head {head.head}"
    if head.contrast is None:
        return f"{place}, mean {interval(head.score)}."
    return f"{place}, {statistic} {interval(head.score)}, contrast {interval(head.contrast)}."


def overlap(pair: Overlap, roles: tuple[Role, ...]) -> str:
    """One pair of roles, as a share."""
    first, second = roles[pair.first], roles[pair.second]
    return (
        f"Of the {plural(first.tally.role, isolate(first.sieve) + ' head')}, "
        f"{100 * pair.share:.0f}\u00a0% are also {isolate(second.sieve)} "
        f"({plural(pair.both, 'head')}; {pair.expected:.1f} expected if the two were unrelated)."
    )
