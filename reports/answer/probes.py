"""The answer of a run of probes: which rows some head gets right, and which heads do, in plain sentences."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import isolate, join_names, percent, plural
from headroles.records.probes import ProbeResults
from headroles.records.table import Row
from headroles.reports.account import account
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.words.probes import (
    baseline_title,
    best_by_probe,
    has_held_out_half,
    head_name,
    probes_of,
    row_title,
    split_row,
)
from headroles.reports.words.words import error_rate, heads_in_layers

SYNTAX, COREFERENCE = ("dependency", "trees"), "coreference"
NOUNS = {"dependency": "relation", "coreference": "kind of mention", "trees": "measure of trees"}
"""What the rows of a probe are."""
KINDS = {"kind of mention": "kinds of mention", "measure of trees": "measures of trees"}
MOST = 5
"""Sentences of an answer at most."""
TIED = 4
"""Heads that a sentence names at most where they tie."""


def answer_of(labelling: Labelling) -> Answer:
    """Return what a run of probes found, on one screen.

    Args:
        labelling: Of a run with probes.

    Returns:
        Title, line, at most five sentences and warnings. All counts are those of the best heads and findings.
    """
    if labelling.probed is None:
        raise BadInput("an answer about probes needs a run with probes, but this run has none")
    probed = probes_of(labelling)
    facts = account(labelling)
    names = [isolate(fact) for fact in (facts.model, *facts.facts) if fact]
    size = heads_in_layers(labelling.scores.stack, labelling.scores.heads)
    honest = has_held_out_half(labelling.manifest)
    decision = replace(labelling.decision, family="sieve")
    level = [error_rate(decision, "probe", "“beyond”", "“beyond”")] if honest and probed.best else []
    return Answer(
        title=title_of(probed),
        line=" · ".join([*names, size, *level]),
        sentences=_sentences(labelling, probed)[:MOST],
        warnings=facts.warnings,
    )


def title_of(probed: ProbeResults) -> str:
    """Return the question that the probes of a run ask of the heads."""
    probes = set(best_by_probe(probed.best))
    syntax, coreference = bool(probes & set(SYNTAX)), COREFERENCE in probes
    if probes - {*SYNTAX, COREFERENCE}:
        return "Which heads answer the probes?"
    if syntax and coreference:
        return "Which heads follow syntax and coreference?"
    if coreference:
        return "Which heads find earlier mentions?"
    return "Which heads follow syntax?" if syntax else "How much syntax does attention hold?"


def _sentences(labelling: Labelling, probed: ProbeResults) -> tuple[Sentence, ...]:
    """Return the sentences, the most important first."""
    honest = has_held_out_half(labelling.manifest)
    groups = best_by_probe(probed.best)
    sentences = [_beyond(probe, rows) for probe, rows in groups.items()] if honest else []
    if probed.best:
        sentences += _largest(probed.best, honest=honest)
        sentences += _together(groups) if honest else []
        sentences += _heads(labelling) if honest else []
        sentences += [_open(groups)] if honest else []
    return (*sentences, *_trained(probed), *_gaps(labelling, probed))


def _beyond(probe: str, rows: Iterable[Row]) -> Sentence:
    """Return how many rows of a probe have a head beyond the best baseline."""
    own = _own(rows)
    count = sum(row.decision == "beyond" for row in own)
    of = _counted(len(own), [probe])
    margins = sorted({row.margin for row in own if row.margin > 0})
    by = f" by more than {' or '.join(f'{100 * margin:g}' for margin in margins)} points" if margins else ""
    if count:
        lead = f"{count} of {of} {'has' if count == 1 else 'have'} a head"
    elif len(own) == 1:
        lead = f"The only {of.removeprefix('1 ')} has no head"
    else:
        lead = f"None of {of} has a head"
    return Sentence(lead, f"that beats the best baseline{by}, on data that did not choose it.")


def _own(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of a probe without the one of all together; that one where it is alone."""
    return [row for row in rows if split_row(row.row)[1] != "all"] or list(rows)


def _counted(number: int, probes: Collection[str]) -> str:
    """Return a number of rows with what they are, such as "32 relations"."""
    nouns = {NOUNS.get(probe, "row") for probe in probes}
    noun = nouns.pop() if len(nouns) == 1 else "row"
    return plural(number, noun, KINDS.get(noun, ""))


def _together(groups: Mapping[str, Iterable[Row]]) -> list[Sentence]:
    """Return the best head over all relations together; nothing where they were not counted."""
    row = next((row for row in groups.get("dependency", ()) if row.row == "dependency:all"), None)
    if row is None or row.layer < 0 or math.isnan(row.accuracy):
        return []
    lead = (
        f"Over all relations, {head_name(row).split()[0]} is right {percent(row.accuracy)}\u00a0% of the time"
    )
    baseline = f"the baseline, {baseline_title(row.baseline)}, {percent(row.baseline_accuracy)}\u00a0%"
    decision = "beyond the margin" if row.decision == "beyond" else row.decision
    return [Sentence(lead, f"and {baseline}: {decision}.", _column(row))]


def _largest(best: Iterable[Row], *, honest: bool) -> list[Sentence]:
    """Return the head that lies farthest beyond its baseline, among those that were shown to."""
    shown = [
        row
        for row in best
        if not math.isnan(row.difference) and (row.decision == "beyond" or not honest) and row.layer >= 0
    ]
    if not shown:
        return []
    top = max(shown, key=lambda row: row.difference)
    title = isolate(row_title(top.row, top.direction))
    return [
        Sentence(
            f"Best: head {head_name(top).split()[0]}, {title}",
            f"is right {percent(top.accuracy)}\u00a0% of the time; the baseline, "
            f"{baseline_title(top.baseline)}, {percent(top.baseline_accuracy)}\u00a0%."
            + (" Chosen on the same data, so nothing is tested." if not honest else ""),
            _column(top),
        )
    ]


def _column(row: Row) -> str:
    """Return the column of a best head in the findings."""
    return f"{row.row}:{row.direction}" if row.direction else row.row


def beating_heads(labelling: Labelling) -> Bool[np.ndarray, "rows layers heads"]:
    """Return which heads beat the baseline of which row, in either direction; "all" of a probe left out."""
    findings = labelling.findings
    rows: dict[str, list[int]] = {}
    for name in findings.roles:
        row = name.removesuffix(":→").removesuffix(":←")
        rows.setdefault(row, []).append(findings.of(name))
    own = {row: places for row, places in rows.items() if split_row(row)[1] != "all"} or rows
    role = DECISIONS.index("role")
    empty = np.zeros((0, *findings.count.shape[1:]), dtype=bool)
    return np.stack([(findings.decision[places] == role).any(axis=0) for places in own.values()] or [*empty])


def _heads(labelling: Labelling) -> list[Sentence]:
    """Return how many heads beat a baseline, each tested by itself, and the one that beats most."""
    if not labelling.findings.roles:
        return []
    beating = beating_heads(labelling)
    rows = beating.sum(axis=0)
    count, heads = int((rows > 0).sum()), rows.size
    if not count:
        return [
            Sentence(f"None of {plural(heads, 'head')} beats a baseline", "when each is tested by itself.")
        ]
    stack = labelling.scores.stack
    best = [stack.name(layer, head) for layer, head in np.argwhere(rows == rows.max()).tolist()]
    names = join_names(best) if len(best) <= TIED else plural(len(best), "head")
    most = _counted(int(rows.max()), {split_row(name)[0] for name in labelling.findings.roles})
    most = f"{names} {'beats' if len(best) == 1 else 'beat'} most: {most}{' each' * (len(best) > 1)}"
    lead = f"{count:,} of {plural(heads, 'head')} {'beats' if count == 1 else 'beat'} some baseline"
    return [Sentence(lead, f"when each is tested by itself; {most}.")]


def _open(groups: Mapping[str, Iterable[Row]]) -> Sentence:
    """Return how many rows stay open."""
    best = [row for rows in groups.values() for row in _own(rows)]
    names = ("undetermined", "not", "untestable")
    undetermined, below, untestable = (sum(row.decision == name for row in best) for name in names)
    stay = "stays" if undetermined == 1 else "stay"
    lead = f"{undetermined:,} of {_counted(len(best), groups)} {stay} undetermined"
    parts = [f"in {below:,} the chosen head is shown not to beat it"] * bool(below)
    parts += [f"{untestable:,} could not be tested"] * bool(untestable)
    return Sentence(lead, f"; {', '.join(parts)}." if parts else ".", "", "undetermined")


def _trained(probed: ProbeResults) -> list[Sentence]:
    """Return the best trained probe with its control and its best baseline; nothing without any."""
    known = [probe for probe in probed.trained if not math.isnan(probe.uas)]
    trained = [probe for probe in known if probe.weights == "trained"]
    if not trained:
        return []
    top = max(trained, key=lambda probe: probe.uas)
    control = next(
        (probe for probe in known if probe.weights == "random" and probe.classifier == top.classifier), None
    )
    baselines = [probe for probe in known if not probe.weights]
    others = [f"random weights: {percent(control.uas)}\u00a0%"] if control else []
    if baselines:
        best = max(baselines, key=lambda probe: probe.uas)
        others.append(f"{isolate(best.classifier)}: {percent(best.uas)}\u00a0%")
    more = f" ({'; '.join(others)})" if others else ""
    lead = f"A probe trained on {isolate(top.classifier)} finds {percent(top.uas)}\u00a0% of the head words"
    return [Sentence(lead, f"in sentences it never saw{more}.")]


def _gaps(labelling: Labelling, probed: ProbeResults) -> list[Sentence]:
    """Return how many heads differ between the first two conditions; nothing without conditions."""
    if not probed.gaps:
        return []
    first = probed.gaps[0]
    rows = probed.gaps.where(measure=first.measure, first=first.first, second=first.second)
    count = int((rows["q"] <= labelling.decision.alpha).sum())
    lead = f"{count:,} of {plural(len(rows), 'head')} {'differs' if count == 1 else 'differ'}"
    return [Sentence(lead, f"in {first.measure} between {isolate(first.first)} and {isolate(first.second)}.")]
