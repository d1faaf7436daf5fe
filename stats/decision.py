"""Tests, corrections, families and intervals: names, words, and checks of decisions, without numpy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroles.errors import BadInput, UnknownName
from headroles.records.rules.rule import Decision, Rule


@dataclass(frozen=True, slots=True)
class Words:
    """A test or a correction in words.

    Attributes:
        short: As tables and captions say it.
        sentence: The same in a sentence: a test after "tested by", a correction after "the method of".
        work: Key of the work behind it, in ``reports/works.bib``; "" for none.
        interval: The interval that findings by a test show, unless the run chose another; "" of corrections.
        resamples: Whether it draws resamples.
    """

    short: str
    sentence: str = ""
    work: str = ""
    interval: str = ""
    resamples: bool = False


CORRECTIONS: Mapping[str, Words] = {
    "fdr_bh": Words("Benjamini–Hochberg", "Benjamini-Hochberg", "benjamini1995controlling"),
    "fdr_by": Words("Benjamini–Yekutieli", "Benjamini-Yekutieli", "benjamini2001control"),
    "fdr_tsbh": Words("two-stage Benjamini–Hochberg", "two-stage Benjamini-Hochberg"),
    "holm": Words("Holm", "Holm", "holm1979simple"),
    "holm-sidak": Words("Holm–Šidák", "Holm-Šidák"),
    "bonferroni": Words("Bonferroni", "Bonferroni"),
    "sidak": Words("Šidák", "Šidák"),
    "none": Words("none"),
}
"""The corrections that need p values only; ``maxT`` needs the scores (``stats.max_t``)."""
ALL_CORRECTIONS: Mapping[str, Words] = {
    **CORRECTIONS,
    "maxT": Words(
        "step-down max-t, heads resampled together", "step-down max-t", "romano2005exact", resamples=True
    ),
}
FAMILIES = ("sieve", "run", "layer")
"""Families: the heads of one sieve (default), all roles and heads of the run, or one layer of one sieve.

Sieves whose rules name one family (``Rule.together``), such as both directions of a relation, count as one.
"""
SKEW = "Hall's t, corrected for skew"
TESTS: Mapping[str, Words] = {
    "t-skew": Words(
        "one-sided one-sample t with Hall's correction for skew",
        "a one-sided one-sample t test with Hall's correction for skew",
        "hall1992removal",
        f"{SKEW} (that of the test)",
    ),
    "t": Words(
        "one-sided one-sample t",
        "a one-sided one-sample t test",
        interval="Student's t (that of the test)",
    ),
    "bootstrap-t": Words(
        "one-sided studentised bootstrap of the mean",
        "a one-sided studentised bootstrap of the mean",
        interval="studentised bootstrap (that of the test)",
        resamples=True,
    ),
    "sign-flip": Words(
        "one-sided sign flips of score − θ, unit by unit",
        "one-sided sign flips of score minus threshold",
        interval=f"{SKEW} (sign flips give none)",
        resamples=True,
    ),
    "wilcoxon": Words(
        "one-sided Wilcoxon signed ranks, of the pseudo-median",
        "the one-sided Wilcoxon signed-rank test",
        interval=f"{SKEW} (the test is one of the pseudo-median)",
    ),
    "sign": Words(
        "one-sided sign test, of the median",
        "the one-sided sign test",
        interval=f"{SKEW} (the test is one of the median)",
    ),
    "betting": Words(
        "one-sided test of the mean by betting, valid at every look",
        "a one-sided test by betting, which holds at every look",
        "waudbysmith2024estimating",
        "means that no capital has refuted, valid at every look (that of the test)",
    ),
    "t-published": Words(
        "one-sided one-sample t, spread divided by n",
        "a one-sided t test with the spread divided by n",
        interval="Student's t, spread divided by n (that of the test)",
    ),
}
"""The tests in words, by the names of ``METHODS`` in ``methods/names.py``."""
BETTING = "betting"
"""The test that may be looked at after every unit."""
INTERVALS = ("test", "t", "bca")
"""Intervals of the mean: the test's own (default), Student's, or the BCa bootstrap's."""
STUDENTISED = ("t-skew", "t", "bootstrap-t", "sign-flip")
"""Tests whose heads can be resampled together by max-t."""
ANYTIME = ("fdr_bh", "fdr_by", "holm", "bonferroni", "none")
"""Corrections that hold under any dependence of p that hold at every look; over them ``fdr_bh`` is e-BH."""
FEWEST, MOST = 99, 1_000_000
"""Fewest and most resamples, or swaps of two runs, that are allowed."""
ENOUGH_FOR_NOT = 50
"""Units below which no head is called "not": a rare-event score at the margin looks absent too often.

Of scores kept as moments: equally informative groups of equal weight, which are fewer than the units.
"""
ENOUGH_WITHOUT_BOUND = 300
"""The same where the largest possible score is not known."""


def inputs_needed(found_units: int, of_inputs: int, enough: int = ENOUGH_FOR_NOT) -> int:
    """Return how many inputs would give a role enough units, at the share of inputs that had one so far.

    Args:
        found_units: Units with a value for the role: at least 0.
        of_inputs: Inputs that were read for them: at least 1.
        enough: Units that decide the role.

    Returns:
        At least ``of_inputs``: that number itself where the units are enough. 0 without any unit, because no
        share was seen. The number is an estimate: say "about" before it.

    Example:
        Of 60 sentences, 13 have an adverb.

        >>> inputs_needed(13, 60), inputs_needed(70, 160), inputs_needed(0, 60)
        (231, 160, 0)
    """
    return max(of_inputs, -(-enough * of_inputs // found_units)) if found_units else 0


def check_decision(decision: Decision) -> None:
    """Refuse unknown names and numbers out of range.

    Raises:
        UnknownName: For a test, correction, family or interval that does not exist.
        BadInput: For another alpha, seed or number of resamples, or max-t with a test it does not fit.
    """
    for kind, name, known in (
        ("test", decision.test, TESTS),
        ("correction", decision.correction, ALL_CORRECTIONS),
        ("family", decision.family, FAMILIES),
        ("interval", decision.interval, INTERVALS),
    ):
        if name not in known:
            raise UnknownName(kind, name, known)
    check_probability("alpha", decision.alpha)
    if not FEWEST <= decision.resamples <= MOST:
        raise BadInput(
            f"resamples must be a whole number of at least {FEWEST} and at most {MOST:,}, but got "
            f"{decision.resamples}"
        )
    if decision.seed < 0:
        raise BadInput(
            f"the seed of resampling must be a whole number of at least 0, but got {decision.seed}"
        )
    if decision.correction == "maxT" and decision.test not in STUDENTISED:
        raise BadInput(
            f"maxT compares studentised means, but the test {decision.test!r} tests something else; "
            f"take one of {', '.join(STUDENTISED)}, or another correction"
        )
    check_betting(decision)


def check_betting(decision: Decision) -> None:
    """Refuse what does not hold at every look, where the test bets.

    Raises:
        BadInput: For a correction or an interval that is made for one look.
    """
    if decision.test != BETTING:
        return
    if decision.correction not in ANYTIME:
        raise BadInput(
            f"the test {BETTING!r} holds at every look with corrections that need nothing but p, but "
            f"{decision.correction!r} needs more; take one of {', '.join(ANYTIME)}, or another test"
        )
    if decision.interval != "test":
        raise BadInput(
            f"the test {BETTING!r} has an interval that holds at every look, but {decision.interval!r} holds "
            f"at one; leave the interval out, or take another test"
        )


def check_bounds(decision: Decision, rules: Sequence[Rule], *, summed: bool = False) -> None:
    """Refuse the test ``betting`` where bounds of scores are not stated before any data.

    Args:
        decision: Test of the run.
        rules: One per column.
        summed: Whether only sums over the inputs are kept.

    Raises:
        BadInput: For columns without stated bounds, pooled ones, and sums.
    """
    if decision.test != BETTING:
        return
    wrong = [rule.sieve for rule in rules if rule.pooled or math.isnan(rule.stated_low + rule.stated_high)]
    if wrong:
        raise BadInput(
            f"the test {decision.test!r} needs the smallest and largest score that can occur, stated before "
            f"any score is seen, but {', '.join(wrong)} {'has' if len(wrong) == 1 else 'have'} none; leave "
            f"{'it' if len(wrong) == 1 else 'them'} out, or take another test"
        )
    if summed:
        raise BadInput(
            f"the test {decision.test!r} needs the score of every input, but only sums were kept; keep all "
            f"scores, or take another test"
        )


def check_probability(name: str, value: float) -> None:
    """Refuse a level or power that does not lie between 0 and 1.

    Raises:
        BadInput: When it does not, or is 0 or 1.
    """
    if not 0 < value < 1:
        raise BadInput(f"{name} must lie between 0 and 1, both excluded, but got {value}")


def check_effect(effect: float) -> None:
    """Refuse an effect that is not above 0.

    Raises:
        BadInput: When it is not, or is infinite.
    """
    if not 0 < effect < float("inf"):
        raise BadInput(
            f"effect must be a number above 0, in standard deviations beyond the threshold, but got {effect}"
        )


def check_share(share: float) -> None:
    """Refuse an expected share of heads that is not above 0 and at most 1.

    Raises:
        BadInput: When it is not.
    """
    if not 0 < share <= 1:
        raise BadInput(f"share must lie above 0 and be at most 1, but got {share}")
