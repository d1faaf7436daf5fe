"""What a certificate says, in sentences that folders, pages and the terminal share."""

import math

from headroles.records.causal.columns import ACCURACY, DISTRIBUTION, LOSS, REPRESENTATION, TOKENS
from headroles.records.causal.pruning import FEW_UNITS, WITHIN, FreshCheck, Pruning
from headroles.records.table import Row

MEASURES = {
    LOSS: "the loss",
    DISTRIBUTION: "the distribution of the output (total variation)",
    REPRESENTATION: "the representation of an input (1 − cosine)",
    TOKENS: "the hidden states of tokens (1 − cosine)",
    ACCURACY: "accuracy",
}
"""Outcomes in words, as what changes."""
TURNS = {LOSS: ("rise", "fall"), ACCURACY: ("fall", "rise")}
NO_TURN = ("change", "change")
"""What damage and its opposite are called, by outcome."""


def amount(pruning: Pruning, value: float) -> str:
    """Return a damage on the scale of the bound: per cent of the loss, points of accuracy, or a number.

    Example:
        >>> import numpy as np
        >>> from headroles.records.causal.pruning import STEPS
        >>> grid = np.zeros((1, 2))
        >>> fields = dict(arm="loss:mean", bound=0.01, alpha=0.05, order=np.zeros((2, 2), dtype=np.int64))
        >>> fields |= dict(single=grid, removed=grid > 0, steps=STEPS, units=(), clean=np.zeros(0))
        >>> fields |= dict(change=np.zeros((0, 0)))
        >>> [amount(Pruning(outcome=name, **fields), 0.0123) for name in ("loss", "accuracy", "tokens")]
        ['1.2 %', '1.2 points', '0.0123']
    """
    if pruning.outcome in (LOSS, ACCURACY):
        digits = 1 if abs(value) >= 0.001 or value == 0 else 2
        unit = "%" if pruning.outcome == LOSS else "points"
        return f"{100 * value:.{digits}f} {unit}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")


def _heads(count: int, total: int) -> str:
    return f"{count} of {total} heads"


def _at_most(pruning: Pruning, step: Row) -> str:
    """Return the largest damage that the test leaves possible; a negative one is a least gain."""
    worse, better = TURNS.get(pruning.outcome, NO_TURN)
    if step.upper < 0:
        return f"{MEASURES[pruning.outcome]} {better}s by at least {amount(pruning, -step.upper)}"
    return f"{MEASURES[pruning.outcome]} {worse}s by at most {amount(pruning, step.upper)}"


def _shift(pruning: Pruning, value: float) -> str:
    """Return a damage as a noun with its direction: a fall of accuracy is damage, a rise is none."""
    worse, better = TURNS.get(pruning.outcome, NO_TURN)
    if value == 0:
        return "no change"
    return f"a {better if value < 0 else worse} of {amount(pruning, abs(value))}"


def missed_sentence(step: Row) -> str:
    """Return which harm the units of a set could miss; "" without units.

    Example:
        >>> missed_sentence(Row(missed=0.02951))
        'Damage confined to fewer than 2.95 % of inputs would be missed with a probability above 5 %.'
    """
    if math.isnan(step.missed):
        return ""
    share = math.floor(10_000 * step.missed) / 100
    return (
        f"Damage confined to fewer than {share:.2f} % of inputs would be missed with a probability above 5 %."
    )


def certificate_sentence(pruning: Pruning) -> str:
    """Return what was certified, with mean, upper end, bound and units; or that no head can go.

    The upper end is one-sided, at the confidence of the certificate.
    """
    total, step = pruning.removed.size, pruning.certified
    bound = amount(pruning, pruning.bound)
    level = f"{100 * (1 - pruning.alpha):g} %"
    if step is None:
        first = pruning.steps[0]
        why = (
            f"the claim hinges on few of the {first.count} units"
            if first.decision == FEW_UNITS
            else f"{_at_most(pruning, first)} with {level} confidence on {first.count} units"
        )
        return (
            f"No head is removed. Without {_heads(first.size, total)}, damage below the bound of {bound} "
            f"is not shown: {why}."
        )
    removed = f"{_heads(step.size, total)} {'is' if step.size == 1 else 'are'} removed"
    return (
        f"{removed}. With {level} confidence, {_at_most(pruning, step)}; the "
        f"bound is {bound}. The mean is {_shift(pruning, step.mean)}, on {step.count} units that did not "
        f"choose the heads. {missed_sentence(step)}"
    )


def accuracy_sentence(step: Row) -> str:
    """Return accuracy before and after; "" without classes."""
    if step.accuracy_before != step.accuracy_before:
        return ""
    return (
        f"Accuracy on these units is {step.accuracy_before:.3f} with all heads, and "
        f"{step.accuracy_after:.3f} without those removed."
    )


def check_sentence(pruning: Pruning, check: FreshCheck) -> str:
    """Return whether the damage lies below the bound on fresh inputs."""
    step, bound = check.step, amount(pruning, pruning.bound)
    level = f"{100 * (1 - pruning.alpha):g} %"
    verdict = {
        WITHIN: f"the damage lies below the bound of {bound}",
        FEW_UNITS: f"damage below the bound of {bound} is not shown, because the claim hinges on few units",
    }.get(step.decision, f"damage below the bound of {bound} is not shown")
    left = ""
    if check.left_out:
        left = f" {check.left_out} inputs were left out: their units share a text or document with the run."
    return (
        f"On {step.count} fresh units of {check.source}, {verdict}. With {level} confidence, "
        f"{_at_most(pruning, step)}. The mean is {_shift(pruning, step.mean)} (95 % interval: "
        f"{_shift(pruning, step.low)} to {_shift(pruning, step.high)}). {missed_sentence(step)}{left}"
    )


def gain_sentence(pruning: Pruning) -> str:
    """Return what is gained where the heads are cut out of the weights, or why they are not."""
    gain = pruning.gain
    if gain.reason:
        return gain.reason
    if not gain.heads:
        return ""
    fewer = 1 - gain.parameters_after / gain.parameters_before
    return (
        f"With {gain.heads} heads cut out of the weights, the model has {gain.parameters_after:,} parameters "
        f"instead of {gain.parameters_before:,} ({100 * fewer:.1f} % fewer). An input takes "
        f"{1000 * gain.seconds_after:.3g} ms instead of {1000 * gain.seconds_before:.3g} ms ({gain.device}; "
        f"{gain.inputs} inputs)."
    )


def statements(pruning: Pruning) -> list[str]:
    """Return all sentences about a pruning, the certificate first."""
    step = pruning.certified
    sentences = [certificate_sentence(pruning), "" if step is None else accuracy_sentence(step)]
    if (check := pruning.check) is not None:
        sentences.append(f"{check_sentence(pruning, check)} {accuracy_sentence(check.step)}".rstrip())
    return [sentence for sentence in (*sentences, gain_sentence(pruning)) if sentence]
