"""What a comparison says, in sentences; the page and the terminal use the same ones."""

from collections import Counter

import numpy as np

from headroles.records.comparison import OUTCOMES, Comparison, Swapped
from headroles.records.example import Decision
from headroles.reports.content import Interval
from headroles.reports.words.words import (
    FAMILIES,
    count,
    exact,
    interval,
    isolate,
    listing,
    mean,
    number,
    plural,
    ranged,
)


def moved_by_layer(comparison: Comparison) -> Counter[int]:
    """Labels gained or lost in each layer, all roles together; layers without any are there with 0."""
    moved = Counter(dict.fromkeys(range(comparison.before.count.shape[1]), 0))
    for each in comparison.layers:
        moved[each.layer] += (each.gained or 0) + (each.lost or 0)
    return moved


def roles_moved(comparison: Comparison) -> str:
    """In which layers roles moved most: the fewest layers with at least half of the moved labels.

    Of equal layers the earlier comes first. A description: layers are not a sample.
    """
    moved = moved_by_layer(comparison)
    total = moved.total()
    if not total:
        return "No head gained or lost a role."
    chosen: list[int] = []
    for layer, _ in sorted(moved.items(), key=lambda pair: (-pair[1], pair[0])):
        chosen.append(layer)
        if 2 * sum(moved[each] for each in chosen) >= total:
            break
    where = _layers(sorted(chosen))
    share = sum(moved[each] for each in chosen)
    told = f"{share:,} of {total:,}" if share < total else f"all {total:,}" if total > 1 else "the only"
    return f"Roles moved most in {where}: {told} {'labels' if total > 1 else 'label'} gained or lost."


def _layers(numbers: list[int]) -> str:
    return f"layer{'s' if len(numbers) > 1 else ''} {listing([str(each) for each in numbers])}"


def scores_moved(comparison: Comparison) -> str:
    """In which layer scores differ most, by the mean absolute difference over its heads and roles."""
    found = comparison.differences
    roles = [rule.role for rule in found.rules]
    size = np.abs(found.difference[roles])
    known = ~np.isnan(size)
    if not known.any():
        return "No score could be compared."
    total, heads = np.where(known, size, 0.0).sum(axis=(0, 2)), known.sum(axis=(0, 2))
    layers = np.divide(total, heads, out=np.full(total.shape, np.nan), where=heads > 0)
    if not np.nanmax(layers):
        return "No mean score differs."
    most, least = int(np.nanargmax(layers)), int(np.nanargmin(layers))
    return (
        f"Scores moved most in layer {most} (mean absolute difference {mean(float(layers[most]))} over its "
        f"heads and roles) and least in layer {least} ({mean(float(layers[least]))})."
    )


def outcomes(comparison: Comparison) -> str:
    """How many heads × roles changed, are equivalent, and so on; contrasts are no roles."""
    outcome = comparison.differences.outcome[[rule.role for rule in comparison.differences.rules]]
    changed, equivalent, undetermined, untestable = (
        int((outcome == code).sum()) for code in range(len(OUTCOMES))
    )
    told = (
        f"Of {plural(outcome.size, 'head × role pair')}, {changed:,} changed, {equivalent:,} are equivalent "
        f"within ±{exact(comparison.bound)} and {undetermined:,} are undetermined"
    )
    return told + (f"; {untestable:,} could not be tested." if untestable else ".")


LAYER_HEADER = (
    "layer", *OUTCOMES, "mean |difference|", "labels in A", "labels in B", "gained", "lost"
)  # fmt: skip


SIEVE_HEADER = ("sieve", "layer", *OUTCOMES, "mean difference", "mean |difference|")


def sieve_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Every sieve in every layer: outcomes, mean difference and mean absolute difference."""
    return [
        (
            each.sieve, str(each.layer), *(str(getattr(each, outcome)) for outcome in OUTCOMES),
            number(each.difference), number(each.absolute),
        )
        for each in comparison.layers
    ]  # fmt: skip


def layer_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Every layer over its heads and roles: outcomes, mean absolute difference, labels."""
    found, rows = comparison.differences, []
    roles = [rule.role for rule in found.rules]
    for layer in range(found.count.shape[1]):
        own = [each for each in comparison.layers if each.layer == layer and each.labels_a is not None]
        size = np.abs(found.difference[roles, layer])
        known = size[~np.isnan(size)]
        moved = mean(float(known.mean()) if known.size else float("nan"))
        counts, labels = (
            [str(sum(getattr(each, name) for each in own)) for name in names]
            for names in (OUTCOMES, ("labels_a", "labels_b", "gained", "lost"))
        )
        rows.append((str(layer), *counts, moved, *labels))
    return rows


def labels_moved(row: Swapped) -> str:
    """Labels gained and lost, beside their reference."""
    told = f"{row.labels_a:,} in A, {row.labels_b:,} in B ({row.gained:,} gained, {row.lost:,} lost"
    if np.isnan(row.p):
        return told + ")"
    low, high = count(row.changed_low), count(row.changed_high)
    return told + f"; swaps move {ranged(count(row.changed_mean), low, high)}, p = {number(row.p)})"


def sieve_verdict(comparison: Comparison, place: int) -> str:
    """What the comparison says about one sieve, without its name."""
    found = comparison.differences
    changed, equivalent, undetermined, untestable = found.counts(place)
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
    name = found.rules[place].sieve
    sentences += [
        f"Heads with the role: {labels_moved(row)}." for row in comparison.swaps if name and row.sieve == name
    ]
    largest = _largest(comparison, place)
    return " ".join([*sentences, largest] if largest else sentences)


def _largest(comparison: Comparison, place: int) -> str:
    """The changed head with the largest difference; "" when none changed."""
    found = comparison.differences
    size = np.where(found.outcome[place] == 0, np.abs(found.difference[place]), -np.inf)
    if not np.isfinite(size).any():
        return ""
    layer, head = (int(each) for each in np.unravel_index(int(size.argmax()), size.shape))
    at = (place, layer, head)
    told = Interval(float(found.difference[at]), float(found.low[at]), float(found.high[at]))
    return f"Largest: layer {layer} head {head}, {interval(told)}."


def how_to_read(comparison: Comparison) -> str:
    """The order of the outcomes, and what each promises."""
    level, bound = f"{100 * comparison.decision.alpha:g}\u00a0%", exact(comparison.bound)
    return (
        f"A difference is B − A, averaged over units. “Equivalent” comes first: the difference lies within "
        f"±{bound}, shown by two one-sided tests at {level} each, even where a smaller change is detectable. "
        f"Otherwise “changed” means a mean difference other than 0, and “undetermined” that the inputs "
        f"settle neither. {promise(comparison.decision)} Intervals are 95\u00a0% intervals of the mean "
        f"difference, not adjusted for selection; the largest change was chosen on these same inputs, so it "
        f"tends to be a little large."
    )


def promise(decision: Decision) -> str:
    """What the correction promises of both lists."""
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


def tested(decision: Decision, bound: float) -> str:
    """Test, correction and bound in one line."""
    family = FAMILIES.get(decision.family, decision.family)
    corrected = "no correction" if decision.correction == "none" else f"{decision.correction} over {family}"
    return f"{decision.test} on paired differences, {corrected}, alpha {decision.alpha:g}, bound ±{bound:g}"


def names(comparison: Comparison) -> tuple[str, str]:
    """What the runs are called: their models, or their folders where the models are the same."""
    runs = [comparison.manifest.get(name, {}) for name in ("a", "b")]
    models = [str(run.get("model", {}).get("name") or "") for run in runs]
    folders = [str(run.get("folder") or "") for run in runs]
    for told in (models, folders):
        if all(told) and told[0] != told[1]:
            return isolate(told[0]), isolate(told[1])
    return "A", "B"
