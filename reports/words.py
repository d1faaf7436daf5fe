"""Numbers, names, levels and verdicts in words."""

import math
from typing import NamedTuple

from headroles.records.assessment import MIDDLE, NEAR, NEARER, ExtremeP
from headroles.records.example import Example
from headroles.records.layers import Stack
from headroles.records.numbers import mean, p_text, percent_text, plural, share, two_decimals, with_range
from headroles.records.rules.rule import Decision
from headroles.records.table import Row, Table
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

CAPTION = (
    "A role with parts, such as delimiter, counts only where the head holds none of them. Whiskers: where "
    "the numbers lie in 95\u00a0% of fresh samples of as many inputs. Heads and layers are not a sample."
)
"""Of figures and tables of heads with several roles."""


class Interval(NamedTuple):
    """A mean with its 95 % interval, not adjusted for selection."""

    mean: float
    low: float
    high: float


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
    family = {"run": "this run's tests", "layer": "one sieve's heads in one layer"}
    scope = family.get(decision.family, "one sieve's heads")
    if decision.correction == "none":
        return (
            f"Nothing was corrected: of heads exactly at the threshold, {level} become a role by chance, in "
            "every sieve."
        )
    if decision.correction.startswith("fdr"):
        return (
            f"Within a family ({scope}), at most {level} of the roles are expected to be false and, "
            f"separately, at most {level} of the nots, of the explained heads and of the absent heads."
        )
    return (
        f"Within a family ({scope}), the chance of even one false role is at most {level} and, separately, "
        "that of a false not, of a falsely explained head and of a falsely absent head."
    )


def layers_sentence(rows: Table) -> str:
    """Return how many roles heads hold, in a sentence; ``rows`` are those of one run, all layers first."""
    whole = rows[0]
    held = with_range(*map(two_decimals, (whole.mean, whole.mean_low, whole.mean_high)))
    several = with_range(*map(share, (whole.several, whole.several_low, whole.several_high)))
    return f"A head holds {held} roles on average; {several} of heads hold two or more."


def middle_row(rows: Table) -> Row | None:
    """Return the row of the middle layers; None where there are too few layers."""
    return next((row for row in rows if row.scope == MIDDLE), None)


def middle_sentence(rows: Table) -> str:
    """Return whether the middle layers of a run have most heads with several roles; "" where unknown."""
    row = middle_row(rows)
    if row is None:
        return ""
    p = p_text(row.p)
    surplus = with_range(*map(points, (row.several, row.several_low, row.several_high)))
    return (
        f"Middle third of layers less the others: {surplus} percentage points of such heads "
        f"({middle_verdict(row)}, p {'' if p.startswith('<') else '= '}{p} over inputs). "
        f"Of all choices of as many layers, {share(row.reference)} have a surplus at least as large."
    )


def points(value: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return "–" if math.isnan(value) else f"{100 * value:+.0f}".replace("-", "−")


def middle_verdict(row: Row) -> str:
    """Return what the two-sided interval says about the surplus of the middle layers, in a few words."""
    if row.several_low > 0:
        return "a surplus"
    return "a deficit" if row.several_high < 0 else "undetermined"


def extremes_sentence(counts: ExtremeP) -> str:
    """Return how many p values lie near 0 or 1, in a sentence; "" without a test."""
    if not counts.tests:
        return ""
    return (
        f"{counts.near:,} of {counts.tests:,} p ({percent_text(counts.share)}) lie near 0 or 1, "
        f"below {NEAR:g} or above {1 - NEAR:g}; "
        f"{counts.nearer:,} ({percent_text(counts.share_nearer)}) below {NEARER:g} or above {1 - NEARER:g}."
    )


def visible_pieces(example: Example) -> tuple[str, ...]:
    r"""Return the tokens as readers see them: bytes of byte-level pieces become letters, blanks become ``▁``.

    Pieces of other tokenizers stay as they are. A byte-level piece that holds a part of a letter
    only shows its bytes, as in ``\xc3``.

    Example:
        >>> visible_pieces(Example("note", ("ol", "Ã©", "Ġ!")))
        ('ol', 'é', '▁!')
    """
    pieces = [token for token, special in zip(example.tokens, example.special, strict=True) if not special]
    letters = set("".join(pieces))
    if not (letters & {"Ġ", "Ċ"} and letters <= BYTES.keys()):
        return example.tokens

    def visible(piece: str) -> str:
        text = bytes(map(BYTES.__getitem__, piece)).decode(errors="backslashreplace")
        return text.replace(" ", "▁").replace("\n", "⏎")

    marked = zip(example.tokens, example.special, strict=True)
    return tuple(token if special else visible(token) for token, special in marked)


def _bytes() -> dict[str, int]:
    """Return the byte of each letter of a byte-level vocabulary; printable bytes stand for themselves."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTES = _bytes()
"""Byte of each letter of a byte-level vocabulary."""
