"""The answer of a surface run: where heads look more than even attention does, in plain sentences."""

import math
from collections.abc import Sequence

import numpy as np

from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, plural
from headroles.records.surface import NO_OPS, OUTCOMES, kind_name
from headroles.reports.account import account
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.words.surface import (
    ENTROPIES,
    GROUP,
    decision_counts,
    even_attention,
    has_scores,
    interval_text,
    peak,
    value_text,
)
from headroles.reports.words.words import error_rate, heads_in_layers

TITLE = "What do heads look at on the surface?"
SINKS = {"first": "the first token", "separator": "separators", "punctuation": "punctuation"}
PLACES = {"previous": "the previous token", "next": "the next token", "self": "the token itself"}


def answer_of(labelling: Labelling) -> Answer:
    """Return what a surface run found, on one screen.

    Args:
        labelling: Of a surface run.

    Returns:
        Title, line, at most five sentences and warnings. All counts are those of the findings and tests.
    """
    facts = account(labelling)
    size = heads_in_layers(labelling.scores.stack, labelling.scores.heads)
    names = [isolate(fact) for fact in (facts.model, *facts.facts) if fact]
    sentences = [
        *_kinds(labelling, SINKS), *_kinds(labelling, PLACES), *_breadth(labelling),
        *_loss(labelling), _open(labelling),
    ]  # fmt: skip
    return Answer(
        title=TITLE,
        line=" · ".join([*names, size, error_rate(labelling.decision, "statistic", "“above”", "“above”")]),
        sentences=tuple(sentences),
        warnings=facts.warnings,
    )


def _kinds(labelling: Labelling, names: dict[str, str]) -> list[Sentence]:
    """Return how many heads look at each kind of token more than even attention does; nothing without any."""
    findings = labelling.findings
    columns = {f"{GROUP}:{kind}": name for kind, name in names.items()}
    known = {column: name for column, name in columns.items() if has_scores(findings, column)}
    if not known:
        return []
    above = {column: decision_counts(findings, column)[0] for column in known}
    first, *others = sorted(known, key=lambda column: -above[column])
    heads = plural(findings.mean[0].size, "head")
    count = above[first]
    rest = "more than even attention does"
    if not count:
        *most, last = known.values()
        kinds = f"{', '.join(most)} or {last}" if most else last
        return [Sentence(f"No head looks at {kinds}", f"{rest}.", first)]
    verb = "looks" if count == 1 else "look"
    if others:
        rest += ", " + join_names([f"{above[column]:,} at {known[column]}" for column in others])
    top = peak(labelling, first)
    rest += f". Strongest: {top.place} with {interval_text(first, top.mean)} of its attention there"
    return [Sentence(f"{count:,} of {heads} {verb} at {known[first]}", f"{rest}.", first)]


def _breadth(labelling: Labelling) -> list[Sentence]:
    """Return the most focused and the broadest head; nothing where entropy was not measured."""
    findings, column = labelling.findings, ENTROPIES[0]
    if not has_scores(findings, column):
        return []
    low, high = (peak(labelling, column, largest=largest) for largest in (False, True))
    even = even_attention(findings, column)
    known = "" if math.isnan(even) else f"; even attention has {value_text(column, even)}"
    return [
        Sentence(
            f"Head {low.place} is the most focused",
            f"({value_text(column, low.mean.mean)} nats of entropy), {high.place} the broadest "
            f"({value_text(column, high.mean.mean)}){known}.",
            column,
            "not",
        )
    ]


def _loss(labelling: Labelling) -> list[Sentence]:
    """Return in how many layers attention to a kind of token matters less; nothing without gradients."""
    noop = labelling.surface.noop if labelling.surface else NO_OPS
    tests = [test for test in noop.where(measure="gradient") if test.count]
    kinds = dict.fromkeys(test.kind for test in tests)
    if not kinds:
        return []
    less = {kind: sum(test.decision == OUTCOMES[0] for test in tests if test.kind == kind) for kind in kinds}
    first, *others = sorted(kinds, key=lambda kind: -less[kind])
    layers = plural(labelling.findings.count.shape[1], "layer")
    lead = (
        f"In {less[first]} of {layers}, attention to {kind_name(first)} matters less"
        if less[first]
        else f"In no layer, attention to {kind_name(first)} is shown to matter less"
    )
    more = f" ({_listed(less, others)})" if others else ""
    return [Sentence(lead, f"to the loss than attention to other tokens{more}.")]


def _listed(counts: dict[str, int], kinds: Sequence[str]) -> str:
    """Return kinds of tokens with their numbers of layers."""
    return ", ".join(f"{kind_name(kind)}: {counts[kind]}" for kind in kinds)


def _open(labelling: Labelling) -> Sentence:
    """Return how many tests stay open."""
    findings = labelling.findings
    places = [findings.of(name) for name in findings.sieves if name.startswith(GROUP)]
    decided = findings.decision[places]
    undetermined, untestable = (int((decided == code).sum()) for code in (2, 3))
    total = plural(int(np.size(decided)), "test")
    lead = f"{undetermined:,} of {total} {'stays' if undetermined == 1 else 'stay'} undetermined"
    rest = f"; {untestable:,} could not be made." if untestable else "."
    return Sentence(lead if undetermined else f"None of {total} stays undetermined", rest, "", "undetermined")
