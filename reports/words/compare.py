"""Sentences and rows of a comparison; the page and the terminal share them."""

from collections import Counter

import numpy as np

from headroles.records.comparison import OUTCOMES, Comparison
from headroles.records.numbers import (
    count,
    exact,
    isolate,
    join_names,
    mean,
    number,
    plural,
    with_range,
)
from headroles.records.rules.rule import FAMILIES, Decision
from headroles.records.table import Row
from headroles.reports.words.words import Interval, interval


def label_changes_by_layer(comparison: Comparison) -> Counter[int]:
    """Count the labels gained or lost in each layer, all roles together; 0 for layers without any."""
    moved = Counter(dict.fromkeys(range(comparison.before.count.shape[1]), 0))
    for row in comparison.layers:
        moved[row.layer] += (row.gained or 0) + (row.lost or 0)
    return moved


def role_change_sentence(comparison: Comparison) -> str:
    """Return the layers in which roles moved most: the fewest with at least half of the moved labels.

    Of equal layers the earlier comes first. A description: layers are not a sample.
    """
    moved = label_changes_by_layer(comparison)
    total = moved.total()
    if not total:
        return "No head gained or lost a role."
    chosen: list[int] = []
    for layer, _ in sorted(moved.items(), key=lambda pair: (-pair[1], pair[0])):
        chosen.append(layer)
        if 2 * sum(moved[number] for number in chosen) >= total:
            break
    where = _layers(sorted(chosen))
    share = sum(moved[number] for number in chosen)
    part = f"{share:,} of {total:,}" if share < total else f"all {total:,}" if total > 1 else "the only"
    return f"Roles moved most in {where}: {part} {'labels' if total > 1 else 'label'} gained or lost."


def _layers(numbers: list[int]) -> str:
    """Return layers by number as a sentence names them."""
    return f"layer{'s' if len(numbers) > 1 else ''} {join_names([str(number) for number in numbers])}"


def score_change_sentence(comparison: Comparison) -> str:
    """Return the layers whose scores differ most and least, by the mean absolute difference."""
    differences = comparison.differences
    roles = [rule.role for rule in differences.rules]
    size = np.abs(differences.difference[roles])
    known = ~np.isnan(size)
    if not known.any():
        return "No score could be compared."
    total, heads = np.where(known, size, 0.0).sum(axis=(0, 2)), known.sum(axis=(0, 2))
    layers = np.divide(total, heads, out=np.full(total.shape, np.nan), where=heads > 0)
    if not np.nanmax(layers):
        return "No mean score differs."
    most, least = int(np.nanargmax(layers)), int(np.nanargmin(layers))
    numbers = comparison.stack.numbers
    return (
        f"Scores moved most in layer {numbers[most]} (mean absolute difference {mean(float(layers[most]))} "
        f"over its heads and roles) and least in layer {numbers[least]} ({mean(float(layers[least]))})."
    )


def outcomes_sentence(comparison: Comparison) -> str:
    """Return how many pairs of head and role changed, are equivalent, and so on; contrasts are no roles."""
    outcome = comparison.differences.outcome[[rule.role for rule in comparison.differences.rules]]
    changed, equivalent, undetermined, untestable = (
        int((outcome == code).sum()) for code in range(len(OUTCOMES))
    )
    text = (
        f"Of {plural(outcome.size, 'head × role pair')}, {changed:,} changed, {equivalent:,} are equivalent "
        f"within ±{exact(comparison.bound)} and {undetermined:,} are undetermined"
    )
    return text + (f"; {untestable:,} could not be tested." if untestable else ".")


def label_change_text(row: Row) -> str:
    """Return how many labels differ, with the number under swaps; p only where more than one differs."""
    differ = "1 label differs" if row.changed == 1 else f"{row.changed or 'no'} labels differ"
    text = (
        f"{row.labels_a:,} in A, {row.labels_b:,} in B; {differ} ({row.gained:,} gained, {row.lost:,} lost)"
    )
    if np.isnan(row.p):
        return text
    low, high = count(row.changed_low), count(row.changed_high)
    text += f"; after swaps {with_range(count(row.changed_mean), low, high)} differ"
    if row.changed == 1:
        return text + "; a single head at the edge of the decision is no finding"
    return text + f", p = {number(row.p)}"


def swap_p(row: Row) -> tuple[float, float]:
    """Return p and q of the swap test; NaN where a single label differs, which is no finding."""
    return (
        (float("nan"), float("nan")) if row.gained is None or row.gained + row.lost == 1 else (row.p, row.q)
    )


def sieve_verdict(comparison: Comparison, place: int) -> str:
    """Return the verdict about one sieve, without its name."""
    differences = comparison.differences
    changed, equivalent, undetermined, untestable = differences.counts(place)
    heads = changed + equivalent + undetermined + untestable
    if untestable == heads:
        return (
            f"None of the {plural(heads, 'head')} could be tested: fewer than two units with a score in both "
            "runs, or scores without spread and known bounds."
        )
    parts = [
        f"{changed or 'None'} of {plural(heads, 'head')} changed",
        f"{equivalent} equivalent within ±{exact(comparison.bound)}",
        f"{undetermined} undetermined",
    ]
    parts += [f"{untestable} untestable"] if untestable else []
    sentences = [", ".join(parts) + "."]
    name = differences.rules[place].sieve
    sentences += [
        f"Heads with the role: {label_change_text(row)}."
        for row in comparison.swaps
        if name and row.sieve == name
    ]
    largest = _largest(comparison, place)
    return " ".join([*sentences, largest] if largest else sentences)


def _largest(comparison: Comparison, place: int) -> str:
    """Return the changed head with the largest difference; "" when none changed."""
    differences = comparison.differences
    size = np.where(differences.outcome[place] == 0, np.abs(differences.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return ""
    layer, head = (int(index) for index in np.unravel_index(int(size.argmax()), size.shape))
    at = (place, layer, head)
    value = Interval(
        float(differences.difference[at]), float(differences.low[at]), float(differences.high[at])
    )
    return f"Largest: layer {comparison.stack.numbers[layer]} head {head}, {interval(value)}."


def glossary(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return what the words of the page mean: each outcome with what it promises."""
    level, bound = f"{100 * comparison.decision.alpha:g}\u00a0%", exact(comparison.bound)
    return (
        (
            "difference",
            "B − A, averaged over units. The largest was chosen on these inputs, so it tends to be a little "
            "large.",
        ),
        (
            "equivalent",
            f"The difference lies within ±{bound}, shown by two one-sided tests at {level} each. This "
            "test has precedence, even where a smaller change is detectable.",
        ),
        ("changed", f"The mean difference is not 0, and its interval reaches beyond ±{bound}."),
        ("undetermined", "The inputs settle neither."),
        ("error rate", promise(comparison.decision)),
        ("interval", "95\u00a0% interval of the mean difference, not adjusted for selection."),
        (
            "by swaps",
            "Mean and 95\u00a0% range when A and B are swapped at random within every unit, and both are "
            "labelled anew. Labels near the threshold move by chance; this shows how many.",
        ),
        (
            "p, q of swaps",
            "Share of swaps that move at least as many labels, the data among them. q is adjusted over the "
            "roles. Where one label differs no p is shown: one head at the threshold is no finding.",
        ),
    )


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls for both outcomes."""
    level = f"{100 * decision.alpha:g}\u00a0%"
    family = f"{FAMILIES.get(decision.family, decision.family)}; every contrast by itself"
    if decision.correction == "none":
        return f"Nothing was corrected: of heads without a change, {level} are called changed by chance."
    if decision.correction.startswith("fdr"):
        return (
            f"Within a family ({family}), at most {level} of the heads called equivalent are expected not to "
            f"be and, separately, at most {level} of those called changed."
        )
    return (
        f"Within a family ({family}), the chance of even one false “equivalent” is at most {level} and, "
        f"separately, that of one false “changed”."
    )


def test_line(decision: Decision, bound: float) -> str:
    """Return test, correction and bound in one line."""
    family = FAMILIES.get(decision.family, decision.family)
    corrected = "no correction" if decision.correction == "none" else f"{decision.correction} over {family}"
    return f"{decision.test} on paired differences, {corrected}, alpha {decision.alpha:g}, bound ±{bound:g}"


def run_names(comparison: Comparison) -> tuple[str, str]:
    """Return the names of the runs: their models, or their folders where the models are the same."""
    runs = [comparison.manifest.get(name, {}) for name in ("a", "b")]
    models = [str(run.get("model", {}).get("name") or "") for run in runs]
    folders = [str(run.get("folder") or "") for run in runs]
    for pair in (models, folders):
        if all(pair) and pair[0] != pair[1]:
            return isolate(pair[0]), isolate(pair[1])
    return "A", "B"
