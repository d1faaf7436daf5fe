"""What a comparison of two runs showed, in words and tables: which scores and roles changed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headroles.records import numbers
from headroles.records.comparison import OUTCOMES, Comparison, swap_chance
from headroles.records.numbers import count, exact, isolate, join_names, mean, number, p_text, plural
from headroles.records.rules.rule import FAMILIES
from headroles.records.table import COUNT, ENDS, MISSING, Cell, Column, Row, Table, counted
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds.claims import role_title
from headroles.reports.words import heads_in_layers

CHANGED, EQUIVALENT, UNDETERMINED, UNTESTABLE, IDENTICAL = range(len(OUTCOMES))
"""Codes of the outcomes."""
LABELS = ("labels_a", "labels_b", "gained", "lost")
NAMED = 4
"""Heads with moved roles that a sentence names at most."""
RECORDED = {
    "folder": "folder", "command": "command", "model": "model.name", "revision": "model.revision",
    "architecture": "model.architecture", "weights SHA-256": "model.weights_sha256",
    "precision": "model.dtype", "task": "task", "inputs": "source.name", "inputs SHA-256": "source.sha256",
    "tokenizer": "tokenizer.class", "longest input": "tokenizer.max_length", "parser": "parser.name",
    "parser version": "parser.version", "preset": "preset", "statistic": "statistic",
    "units of its own": "counts.units", "headroles": "headroles",
}  # fmt: skip
"""Entries of both runs that the page shows by term, where their manifests have them."""


def _change(row: Row) -> str:
    """Return a change with its interval."""
    return numbers.with_range(*map(mean, (row.difference, row.low, row.high)))


def _largest_cell(row: Row) -> Cell:
    text = f"{row.layer}-{row.head}, {_change(row)}"
    return MISSING if row.layer is None else Cell(text, abs(row.difference))


CHANGES = Table("", "Changes", "a sieve", (
    Column("sieve", "Name of the sieve.", str, "sieve", terminal="narrow"),
    *(counted(word, f"Heads that are {word}.", word, terminal="narrow") for word in OUTCOMES),
    Column("labels_a", "Heads with the role in A; none for contrasts.", "int | None", "labels A",
           terminal="narrow", short="in A", within=COUNT),
    Column("labels_b", "Heads with the role in B.", "int | None", "labels B", terminal="narrow", short="in B",
           within=COUNT),
    Column("gained", "Heads with the role in B alone.", "int | None", "gained", terminal="narrow",
           within=COUNT),
    Column("lost", "Heads with the role in A alone.", "int | None", "lost", terminal="narrow", within=COUNT),
    Column("swapped", "Mean of labels that random swaps of A and B gain or lose.", float,
           f"moved by swaps {ENDS}", count, ("swapped_low", "swapped_high"), terminal="narrow",
           short="by swaps", within=COUNT),
    Column("swapped_low", "2.5 % point over the swaps."), Column("swapped_high", "97.5 % point."),
    Column("p", "p of the swaps.", float, "p", cell=swap_chance("p"), terminal="narrow"),
    Column("q", "`p` adjusted over the roles.", float, "q", cell=swap_chance("q", p_text)),
    Column("layer", "Layer of the largest change; none where nothing changed.", "int | None"),
    Column("head", "Its head.", "int | None"),
    Column("difference", "The largest change.", float, f"largest change {ENDS}", cell=_largest_cell),
    Column("low", "Lower end of its 95 % interval."), Column("high", "Upper end."),
))  # fmt: skip
BY_LAYER = Table("", "Layers", "a layer", (
    counted("layer", "Position of the layer in the model.", "layer"),
    *(counted(word, f"Heads × roles that are {word}.", word) for word in OUTCOMES),
    Column("absolute", "Mean absolute difference over heads and roles.", float, "mean |difference|", mean),
    counted("labels_a", "Labels of all roles in A.", "labels in A"),
    counted("labels_b", "Labels of all roles in B.", "labels in B"),
    counted("gained", "Labels in B alone.", "gained"), counted("lost", "Labels in A alone.", "lost"),
))  # fmt: skip


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison with what its words and figures count; contrasts are no roles.

    Attributes:
        found: The comparison.
    """

    found: Comparison

    @property
    def bound(self) -> str:
        """Return the largest difference that counts as none."""
        return exact(self.found.bound)

    @cached_property
    def roles(self) -> np.ndarray:
        """Return which sieves are roles."""
        return np.array([rule.role for rule in self.found.differences.rules], dtype=np.bool_)

    @cached_property
    def table(self) -> Table:
        """Return every difference."""
        return self.found.table

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return pairs of head and role by outcome."""
        outcome = self.found.differences.outcome[self.roles]
        return {word: int((outcome == code).sum()) for code, word in enumerate(OUTCOMES)}

    @property
    def pairs(self) -> str:
        """Return how many scores of a head for a role there are."""
        return plural(sum(self.counts.values()), "score")

    @property
    def swaps(self) -> Row | None:
        """Return labels and swaps of all roles together; None where there are none."""
        return self.found.swaps[-1] if self.found.swaps else None

    @property
    def drawn(self) -> int:
        """Return the number of swaps behind the reference; 0 where there is none."""
        known = self.swaps is not None and not math.isnan(self.swaps.p)
        return int(self.found.manifest.get("settings", {}).get("swaps") or 0) if known else 0

    @cached_property
    def changes(self) -> Table:
        """Return outcomes, labels, labels that swaps move, and the largest change, by sieve."""
        differences, rows = self.found.differences, []
        swaps = {row.sieve: row for row in self.found.swaps if row.sieve}
        for place, name in enumerate(differences.sieves):
            row: dict[str, Any] = dict.fromkeys((column.name for column in CHANGES.columns), math.nan)
            row |= {"sieve": name} | dict.fromkeys((*LABELS, "layer", "head"))
            row |= dict(zip(OUTCOMES, differences.counts(place), strict=True))
            if swap := swaps.get(name):
                row |= {label: getattr(swap, label) for label in (*LABELS, "p", "q")}
                row |= {"swapped": swap.changed_mean, "swapped_low": swap.changed_low}
                row |= {"swapped_high": swap.changed_high}
            changed = differences.outcome[place] == CHANGED
            size = np.where(changed, np.abs(differences.difference[place]), -np.inf)
            if np.isfinite(size).any():
                layer, head = at = np.unravel_index(int(size.argmax()), size.shape)
                row |= {"layer": self.found.stack.numbers[int(layer)], "head": int(head)}
                row |= {end: getattr(differences, end)[place][at] for end in ("difference", "low", "high")}
            rows.append(row)
        return CHANGES.rows(rows)

    @cached_property
    def layers(self) -> Table:
        """Return outcomes, mean absolute difference and labels over the heads and roles of every layer."""
        size, rows = np.abs(self.found.differences.difference[self.roles]), []
        for place, layer in enumerate(self.found.stack.numbers):
            own = [row for row in self.found.layers if row.layer == layer and row.labels_a is not None]
            known = size[:, place][~np.isnan(size[:, place])]
            rows.append(
                {"layer": layer, "absolute": float(known.mean()) if known.size else math.nan}
                | {name: sum(getattr(row, name) for row in own) for name in (*OUTCOMES, *LABELS)}
            )
        return BY_LAYER.rows(rows)


def answer_of(compared: Compared) -> Answer:
    """Return what changed between two runs; the first sentence counts changes beyond the bound only."""
    first, second = run_names(compared.found.manifest)
    found, counts, bound = compared.found, compared.counts, compared.bound
    same, left, untested = (counts[word] for word in ("equivalent", "undetermined", "untestable"))
    # A pair is changed where the mean difference is not 0 and its interval reaches beyond the bound; the mean
    # difference itself may lie within it.
    size = np.abs(found.differences.difference[compared.roles])
    changed = found.differences.outcome[compared.roles] == CHANGED
    beyond = int((changed & (size > found.bound)).sum())
    within = int(changed.sum()) - beyond
    more = f" {within:,} more changed by less, or by an amount still unclear." if within else ""
    lead = f"None of {compared.pairs} {'is shown to change' if left or untested else 'changed'}"
    rest = f"by more than {bound}.{more}"
    if beyond:
        rows = compared.changes.take(compared.roles)
        row = rows[int(np.nanargmax(np.abs(rows["difference"])))]
        lead = f"{beyond:,} of {compared.pairs} changed"
        largest = f"{row.layer}-{row.head}, {role_title(row.sieve)}: {_change(row)}"
        rest = f"by more than {bound}, most in {largest}.{more}"
    sentences = [Sentence(lead, rest, "", "changed"), *_moved(compared)]
    alike = counts["identical"]
    if alike:
        are = "score is" if alike == 1 else "scores are"
        more = f", and {same:,} equivalent to within ±{bound}" if same else ""
        sentences.append(Sentence(f"{alike:,} {are} identical in both runs", f"{more}.", "", "identical"))
    elif same:
        are = "score is" if same == 1 else "scores are"
        sentences.append(Sentence(f"{same:,} {are} equivalent", f"to within ±{bound}.", "", "equivalent"))
    else:
        sentences.append(Sentence("No score is shown to be equivalent", f"within ±{bound}."))
    if untested and not left:
        sentences.append(Sentence(f"{plural(untested, 'score')} could not be tested", "."))
    elif left:
        lead = f"{plural(left, 'score')} {'stays' if left == 1 else 'stay'} open"
        rest = f"; {untested:,} could not be tested." if untested else "."
        rest += " More inputs would decide more." if left else ""
        sentences.append(Sentence(lead, rest, "", "undetermined"))
    line = f"{_inputs(compared)} · a change counts beyond ±{bound}"
    return Answer(f"What changed from {first} to {second}?", line, tuple(sentences), found.remarks)


def _moved(compared: Compared) -> list[Sentence]:
    """Return how many roles were gained and lost, beside those that random swaps of A and B move."""
    row = compared.swaps
    if row is None:
        return []
    if not row.changed:
        return [Sentence("No head gained or lost a role", f"({plural(row.labels_a, 'label')} in both runs).")]
    heads = [f"{head.layer}-{head.head}" for head in compared.found.moved if head.gained or head.lost]
    where = f" ({join_names(heads)})" if len(heads) <= NAMED else ""
    rest = f"in {plural(len(heads), 'head')}{where}"
    if not math.isnan(row.changed_mean):
        rest += f". Random swaps of A and B move {_swapped(row)}"
        if row.changed > 1 and not math.isnan(row.p):
            rest += f" (p = {number(row.p)})"
    return [Sentence(f"{plural(row.gained, 'label')} gained and {row.lost:,} lost", f"{rest}.")]


def _swapped(row: Row) -> str:
    """Return how many labels random swaps move, with its range."""
    return numbers.with_range(*map(count, (row.changed_mean, row.changed_low, row.changed_high)))


def layers_sentences(compared: Compared) -> str:
    """Return in which layers roles moved most, and where scores moved most and least.

    Named are the fewest layers with at least half of the moved labels, and of equal layers the earlier ones.
    Scores go by the mean absolute difference. It is a description: layers are not a sample.
    """
    layers, size = compared.layers, compared.layers["absolute"]
    moved = {row.layer: row.gained + row.lost for row in layers}
    total, part, chosen = sum(moved.values()), 0, list[int]()
    for layer in sorted(moved, key=lambda layer: (-moved[layer], layer)):
        if 2 * part < total:
            chosen.append(layer)
            part += moved[layer]
    roles = "No head gained or lost a role."
    if total:
        where = f"layer{'s' * (len(chosen) > 1)} {join_names([str(layer) for layer in sorted(chosen)])}"
        of = f"{part:,} of {total:,}" if part < total else f"all {total:,}" if total > 1 else "the only"
        roles = f"Roles moved most in {where}: {of} {'labels' if total > 1 else 'label'} gained or lost."
    if np.isnan(size).all():
        return f"{roles} No score could be compared."
    most, least = (layers[int(place)] for place in (np.nanargmax(size), np.nanargmin(size)))
    if most.absolute < 1e-6:  # the rounding of single precision
        return f"{roles} No mean score differs."
    return (
        f"{roles} Scores moved most in layer {most.layer} (mean absolute difference {mean(most.absolute)} "
        f"over its heads and roles) and least in layer {least.layer} ({mean(least.absolute)})."
    )


def outcomes_sentence(compared: Compared) -> str:
    """Return how many pairs of head and role changed, are equivalent, and so on."""
    changed, equivalent, undetermined, untestable, identical = compared.counts.values()
    text = (
        f"Of {compared.pairs}, {changed:,} changed, {equivalent:,} are equivalent "
        f"within ±{compared.bound} and {undetermined:,} are undetermined"
    )
    text += f"; {identical:,} are identical" if identical else ""
    return text + (f"; {untestable:,} could not be tested." if untestable else ".")


def label_change_text(row: Row) -> str:
    """Return how many labels moved, with the number under swaps; p only where more than one did."""
    text = f"{row.labels_a:,} in A, {row.labels_b:,} in B ({row.gained:,} gained, {row.lost:,} lost)"
    if math.isnan(row.p):
        return text
    text += f". Random swaps of A and B move {_swapped(row)}"
    return text + (". One head at the edge is no finding" if row.changed == 1 else f" (p = {number(row.p)})")


def verdicts(compared: Compared) -> list[tuple[str, str]]:
    """Return all roles and every sieve with what is said of it."""
    row = compared.swaps
    labels = "" if row is None else f" Labels of all roles: {label_change_text(row)}."
    said = [("all roles", outcomes_sentence(compared) + labels)]
    swaps = {row.sieve: row for row in compared.found.swaps}
    for row in compared.changes:
        heads = plural(sum(getattr(row, word) for word in OUTCOMES), "head")
        text = (
            f"{row.changed or 'None'} of {heads} changed, {row.equivalent} equivalent within "
            f"±{compared.bound}, {row.undetermined} undetermined"
        )
        text += f", {row.identical} identical" if row.identical else ""
        text += f", {row.untestable} untestable." if row.untestable else "."
        if not row.changed + row.equivalent + row.undetermined + row.identical:
            text = (
                f"None of the {heads} could be tested: fewer than two units with a score in both "
                "runs, or scores without spread and known bounds."
            )
        elif row.sieve in swaps:
            text += f" Heads with the role: {label_change_text(swaps[row.sieve])}."
        if row.layer is not None:
            text += f" Largest: layer {row.layer} head {row.head}, {_change(row)}."
        said.append((row.sieve, text))
    return said


def glossary(compared: Compared) -> list[tuple[str, str]]:
    """Return the words of the report, each with its meaning: each outcome with what it promises."""
    decision, bound = compared.found.decision, compared.bound
    level = f"{100 * decision.alpha:g}\u00a0%"
    family = f"{FAMILIES.get(decision.family, decision.family)}; every contrast by itself"
    promise = (
        f"Within a family ({family}), the chance of even one false “equivalent” is at most {level} and, "
        "separately, that of one false “changed”."
    )
    if decision.correction == "none":
        promise = f"Nothing was corrected: of heads without a change, {level} are called changed by chance."
    elif decision.correction.startswith("fdr"):
        promise = (
            f"Within a family ({family}), at most {level} of the heads called equivalent are expected not to "
            f"be and, separately, at most {level} of those called changed."
        )
    return [
        ("difference", "B − A, averaged over units. The largest was chosen on these inputs, so it tends to "
         "be a little large."),
        ("equivalent", f"The difference lies within ±{bound}, shown by two one-sided tests at {level} each. "
         "This test has precedence, even where a smaller change is detectable."),
        ("changed", f"The mean difference is not 0, and its interval reaches beyond ±{bound}."),
        ("identical", "The scores of every unit are the same in both runs, so nothing is tested."),
        ("undetermined", "The inputs settle neither."),
        ("error rate", promise),
        ("interval", "95\u00a0% interval of the mean difference, not adjusted for selection."),
        ("by swaps", "Mean and 95\u00a0% range when A and B are swapped at random within every unit, and "
         "both are labelled anew. Labels near the threshold move by chance; this shows how many."),
        ("p, q of swaps", "Share of swaps that move at least as many labels, the data among them. q is "
         "adjusted over the roles. Where one label differs no p is shown: one head at the threshold is no "
         "finding."),
    ]  # fmt: skip


def test_line(compared: Compared) -> str:
    """Return test, correction and bound in one line."""
    decision, bound = compared.found.decision, compared.found.bound
    family = FAMILIES.get(decision.family, decision.family)
    corrected = "no correction" if decision.correction == "none" else f"{decision.correction} over {family}"
    return f"{decision.test} on paired differences, {corrected}, alpha {decision.alpha:g}, bound ±{bound:g}"


def caption(compared: Compared) -> str:
    """Return the caption of a table of the comparison: both runs, test and units."""
    facts = compared.found.manifest
    (first, second), units = run_names(facts), facts.get("counts", {}).get("units")
    units_text = plural(units, "unit") if isinstance(units, int) else "units as in the runs"
    return (
        f"Comparison of {first} (A) and {second} (B); differences are B − A. "
        f"Test: {test_line(compared)}; {units_text}."
    )


def run_names(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the runs: their models, or their folders where the models are the same."""
    for path in ("model.name", "folder"):
        first, second = _of_two(facts, path)
        if first and second and first != second:
            return isolate(first), isolate(second)
    return "A", "B"


def _inputs(compared: Compared) -> str:
    """Return the inputs of a comparison, and its numbers of examples, units, heads and layers."""
    facts = compared.found.manifest
    both = [_of_two(facts, path) for path in ("task", "source.name")]
    alike = all(first == second for first, second in both)
    parts = [first for first, _ in both] if alike else [str(facts.get("matched") or "")]
    for noun in ("example", "unit"):
        size = facts.get("counts", {}).get(noun + "s")
        parts.append(plural(size, noun) if isinstance(size, int) else "")
    parts.append(heads_in_layers(compared.found.stack, compared.found.before.count.shape[2]))
    return " · ".join(isolate(part) for part in parts if part)


def recorded_of_two(facts: Mapping[str, Any]) -> list[tuple[str, tuple[str, str], bool]]:
    """Return term, values of A and B, and whether they differ; terms that neither run has are left out."""
    both = {term: _of_two(facts, path) for term, path in RECORDED.items()}
    return [(term, values, values[0] != values[1]) for term, values in both.items() if any(values)]


def _of_two(facts: Mapping[str, Any], path: str) -> tuple[str, str]:
    """Return the values at a path of the manifests of both runs as text; "" where there is none."""
    first, second = facts.get("a"), facts.get("b")
    for key in path.split("."):
        first, second = (run.get(key) if isinstance(run, Mapping) else None for run in (first, second))
    return "" if first is None else str(first), "" if second is None else str(second)
