"""What a run of probes found, in words: which questions some head answers, and which heads do.

How the probes were run (halves, windows, published values) comes from the manifest.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import isolate, join_names, percent, plural
from headroles.records.probes import ProbeResults, classifier_name
from headroles.records.roles import phrase_of
from headroles.records.table import Cell, Column, Row, Table
from headroles.reports.account import account
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds.claims import some_of
from headroles.reports.words import error_rate, heads_in_layers

TITLES = {"dependency": "Dependency relations", "coreference": "Coreference", "trees": "Trees"}
QUESTIONS = {
    "dependency": (
        "Is the word that a word attends to most its head in the tree (→), or the word that attends to it "
        "most (←)?"
    ),
    "coreference": "Does a mention attend most to the head word of an earlier mention of the same entity?",
    "trees": "How much of the gold tree is the maximum spanning tree of a head's word attention?",
}
"""The question of every probe; special tokens and the word itself are left out."""
NOUNS = {"dependency": "relation", "coreference": "kind of mention", "trees": "measure of trees"}
"""What the rows of a probe are."""
KINDS = {"kind of mention": "kinds of mention", "measure of trees": "measures of trees"}
PUBLISHED = (
    "Published: BERT-base (cased or uncased is not stated), Clark et al. (2019). Other data, another "
    "annotation scheme, and the best of all heads chosen on the data it is reported on: for orientation only."
)
AS_PRINTED = Column("printed", "Its head as printed, counted from 1; “” for none.", str)
OUTCOMES = {"role": "beyond", "not": "not", "undetermined": "undetermined", "untestable": "untestable"}
"""A decision about one head, in the words of the best: beyond its baseline or not."""
TIED = 4
"""Heads that a sentence names at most where they tie."""


def published_cell(row: Row, decimals: int = 1, heads: bool = False) -> Cell:
    """Return an accuracy as published in per cent, and its head as printed where ``heads`` asks for it."""
    head = f" (head {row.printed})" * (bool(row.printed) and heads)
    known = not math.isnan(row.published)
    return Cell(f"{percent(row.published, decimals)}{head}" if known else "", row.published)


AS_PUBLISHED = Column(
    "published", "Accuracy as published.", float, "published", cell=published_cell, terminal="narrow"
)


@dataclass(frozen=True, eq=False)
class Asked:
    """What a run asked its heads, with the words for it.

    Attributes:
        run: A run of probes.
    """

    run: Labelling

    @cached_property
    def results(self) -> ProbeResults:
        """Return the results of its probes, with positions of layers, and with published values."""
        probed, stack = self.run.probed, self.run.scores.stack
        assert probed is not None

        def published(table: Table, name: Callable[[Row], str]) -> Table:
            known = [self.published.get(name(row), {}) for row in table]
            table = table.extended(AS_PRINTED, [result.get("head", "") for result in known])
            return table.extended(AS_PUBLISHED, [result.get("accuracy", math.nan) for result in known])

        return replace(
            probed,
            best=published(probed.best.numbered(stack), lambda row: row.row),
            trained=published(probed.trained, lambda row: f"trained:{classifier_name(row)}"),
            gaps=probed.gaps.numbered(stack), weights=probed.weights.numbered(stack),
        )  # fmt: skip

    @cached_property
    def groups(self) -> dict[str, Table]:
        """Return the best heads by probe: "all" first, then by falling number of items, as published."""
        best = self.results.best
        names, items = best["row"].tolist(), best["items"].tolist()
        order = sorted(range(len(names)), key=lambda at: (split_row(names[at])[1] != "all", -items[at]))
        return {
            probe: best.take([at for at in order if at in rows]) for probe, rows in by_probe(names).items()
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what the manifest says of the probes; an empty mapping where it says nothing."""
        return self.run.manifest.get("probe") or {}

    @property
    def honest(self) -> bool:
        """Return whether the best heads are shown on another half of the units than they were chosen on."""
        return self.run.manifest.get("preset") != "published"

    @property
    def published(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what was published by row, or by "trained:NAME": accuracy (0 to 1), head, and baselines."""
        return self.facts.get("published") or {}

    @property
    def beyond(self) -> str:
        """Return the condition under which a best head counts as beyond its baseline."""
        margins = margins_of(self.results.best["margin"])
        return "beyond: difference significantly above the margin" + f" of {margins} points" * bool(margins)

    @property
    def scheme(self) -> str:
        """Return the annotation scheme of the relations; "" where no relation has a best head."""
        return str(self.facts.get("scheme") or "") if "dependency" in self.groups else ""

    @property
    def counts(self) -> dict[str, str]:
        """Return the numbers of decisions over heads, directions and rows in words, by probe."""
        findings, counts = self.run.findings, {}
        for probe, places in by_probe(findings.roles).items():
            columns = [findings.of(findings.roles[place]) for place in places]
            codes = np.bincount(findings.decision[columns].ravel(), minlength=len(OUTCOMES)).tolist()
            said = [f"{count:,} {OUTCOMES[word]}" for count, word in zip(codes, DECISIONS, strict=False)]
            counts[probe] = f"{', '.join(said if codes[3] else said[:3])} of {sum(codes):,}"
        return counts

    @property
    def chosen(self) -> str:
        """Return on which units the best heads were chosen and tested."""
        chosen = "head, direction and baseline of every row chosen"
        halves = self.facts.get("halves") or {}
        one, other = (halves.get(name) for name in ("selection", "test"))
        on = "on one half of the units, tested on the other"
        if one and other:
            on = f"on {plural(one, 'unit')}, tested on the other {other}"
        if not self.honest:
            return f"{chosen} on all units, which they are shown on"
        return f"{chosen} {on}" + (f"; seed {halves['seed']}" if halves else "")

    def windows(self, *, losses: bool = True) -> str:
        """Return size and stride of the windows of long documents, and their losses; "" without any."""
        windows = self.facts.get("windows") or {}
        sizes = ", ".join(f"{name} {windows[name]}" for name in ("size", "stride") if windows.get(name))
        lost = windows.get("lost", {}).items() if losses else ()
        left = ", ".join(f"{count:,} of {row}" for row, count in lost if count)
        text = f"long documents in windows{f' ({sizes})' * bool(sizes)}{f'; left out: {left}' * bool(left)}"
        return text if windows else ""


def by_probe(rows: Iterable[str]) -> dict[str, list[int]]:
    """Return the places of rows by probe."""
    groups: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(split_row(row)[0], []).append(place)
    return groups


def split_row(row: str) -> tuple[str, str]:
    """Return probe and short name of a row.

    Example:
        >>> split_row("dependency:nmod:poss")
        ('dependency', 'nmod:poss')
    """
    probe, _, name = row.partition(":")
    return probe, name or probe


def row_title(row: str, direction: str = "→") -> str:
    """Return a row of a probe in plain words; its own name where nothing better is known.

    Args:
        row: With the name of its probe.
        direction: "→" where the item's word attends, "←" where it is attended to, "" for neither.

    Example:
        >>> row_title("dependency:amod"), row_title("dependency:amod", "←")
        ('adjective → noun', 'adjective ← noun')
        >>> row_title("dependency:all"), row_title("coreference:pronoun"), row_title("trees:uuas")
        ('all relations', 'pronoun → earlier mention', 'uuas of whole trees')
    """
    probe, name = split_row(row)
    if probe == "dependency":
        title = "all relations" if name == "all" else phrase_of(f"syntactic:{name}").title
        return title.replace("→", direction) if direction else title
    if probe == "coreference":
        return f"{'any mention' if name == 'all' else name} → earlier mention"
    return f"{name} of whole trees" if probe == "trees" else name


def baseline_title(name: str) -> str:
    """Return a baseline in words: a fixed position by where it lies, any other by its name.

    Example:
        >>> baseline_title("-1"), baseline_title("+3"), baseline_title("nearest")
        ('the word before', 'the word 3 places after', 'nearest')
    """
    if name[:1] not in ("+", "-") or not name[1:].isdigit():
        return isolate(name)
    far = "" if name[1:] == "1" else f"{name[1:]} places "
    return f"the word {far}{'after' if name[0] == '+' else 'before'}"


def margins_of(margins: Iterable[float]) -> str:
    """Return margins in points, such as "5 or 10"; "" where there are none."""
    known = sorted({float(margin) for margin in margins if not math.isnan(margin)})
    return " or ".join(f"{100 * margin:g}" for margin in known)


def answer_of(asked: Asked) -> Answer:
    """Return title, line, at most five sentences and warnings; counts are of best heads and findings."""
    run, best, groups, honest = asked.run, asked.results.best, asked.groups, asked.honest
    facts = account(run)
    names = [isolate(fact) for fact in (facts.model, *facts.facts) if fact]
    names.append(heads_in_layers(run.scores.stack, run.scores.heads))
    if honest and best:
        names.append(error_rate(replace(run.decision, family="sieve"), "probe", *["“beyond”"] * 2))
    syntax, coreference = bool(groups.keys() & {"dependency", "trees"}), "coreference" in groups
    title = "Which heads follow syntax?" if syntax else "How much syntax does attention hold?"
    if coreference:
        title = f"Which heads {'follow syntax and coreference' if syntax else 'find earlier mentions'}?"
    if groups.keys() - TITLES.keys():
        title = "Which heads answer the probes?"
    parts = (_beyond, _largest, _heads, _trained, _gaps) if honest else (_largest, _trained, _gaps)
    sentences = tuple(sentence for part in parts for sentence in part(asked))
    return Answer(title, " · ".join(names), sentences, facts.warnings)


def _beyond(asked: Asked) -> list[Sentence]:
    """Return how many rows of all probes have a head beyond the best baseline, and how many stay open."""
    groups = {probe: _own(rows) for probe, rows in asked.groups.items()}
    rows = [row for own in groups.values() for row in own]
    if not rows:
        return []
    counts = {word: sum(row.decision == word for row in rows) for word in OUTCOMES.values()}
    margins, found = margins_of(row.margin for row in rows if row.margin > 0), counts["beyond"]
    sizes = {probe: _counted(len(own), [probe]) for probe, own in groups.items()}
    lead = f"None of {join_names([*sizes.values()])} has a head"
    if found:
        beyond = {probe: sum(row.decision == "beyond" for row in own) for probe, own in groups.items()}
        parts = [f"{count} of {sizes[probe]}" for probe, count in beyond.items()]
        lead = f"{join_names(parts)} {'has' if found == 1 else 'have'} a head"
    if len(rows) == 1:
        lead = f"The only {_counted(1, groups).removeprefix('1 ')} has {'a' if found else 'no'} head"
    left, by = counts["undetermined"], f" by more than {margins} points" * bool(margins)
    said = [f"that beats the best baseline{by}, on data that did not choose it"]
    said += [f"In {counts['not']:,}, the chosen head is shown not to"] * bool(counts["not"])
    said += [f"{left:,} {'stays' if left == 1 else 'stay'} open"] * bool(left)
    said += [f"{counts['untestable']:,} could not be tested"] * bool(counts["untestable"])
    return [Sentence(lead, f"{'. '.join(said)}.", "", "undetermined" if left else "")]


def _own(rows: Table) -> list[Row]:
    """Return the rows of a probe without the one of all together; that one where it is alone."""
    return [row for row in rows if split_row(row.row)[1] != "all"] or [*rows]


def _counted(number: int, probes: Collection[str]) -> str:
    """Return a number of rows with what they are, such as "32 relations"."""
    nouns = {NOUNS.get(probe, "row") for probe in probes}
    noun = nouns.pop() if len(nouns) == 1 else "row"
    return plural(number, noun, KINDS.get(noun, ""))


def column_of(row: Row) -> str:
    """Return the column of a best head in the findings."""
    return f"{row.row}:{row.direction}" if row.direction else row.row


def _largest(asked: Asked) -> list[Sentence]:
    """Return the head surest to lie far beyond its baseline, and the best one over all relations."""
    honest, said = asked.honest, list[Sentence]()
    shown = [row for row in asked.results.best if not math.isnan(row.difference) and row.layer >= 0]
    shown = [row for row in shown if row.decision == "beyond" or not honest]
    if shown:
        top = max(shown, key=lambda row: row.difference_low if honest else row.difference)
        title = isolate(row_title(top.row, top.direction))
        lead = (
            f"Best: head {top.layer}-{top.head}, {title}, is right {percent(top.accuracy)}\u00a0% of the time"
        )
        more = "" if honest else " Chosen on the same data, so nothing is tested."
        said.append(Sentence(lead, f"; {_baseline(top)}.{more}", column_of(top)))
    row = next((row for row in asked.groups.get("dependency", ()) if row.row == "dependency:all"), None)
    if honest and row is not None and row.layer >= 0 and not math.isnan(row.accuracy):
        words = {"undetermined": "this stays open", "untestable": "this could not be tested"}
        lead = f"Over all relations, {row.layer}-{row.head} is right {percent(row.accuracy)}\u00a0%"
        decision = words.get(row.decision, f"{row.decision} the margin")
        said.append(Sentence(lead, f"; {_baseline(row)}: {decision}.", column_of(row)))
    return [replace(said[0], rest=" ".join([said[0].rest, *(one.text for one in said[1:])]))] if said else []


def _baseline(row: Row) -> str:
    """Return the baseline of a best head, and how often it is right."""
    return f"the baseline, {baseline_title(row.baseline)}, {percent(row.baseline_accuracy)}\u00a0%"


def _heads(asked: Asked) -> list[Sentence]:
    """Return how many heads beat a baseline, each tested by itself, and how many rows decide most heads."""
    findings, columns = asked.run.findings, dict[str, list[int]]()
    for name in findings.roles:
        columns.setdefault(name.removesuffix(":→").removesuffix(":←"), []).append(findings.of(name))
    if not columns:
        return []
    own = {row: places for row, places in columns.items() if split_row(row)[1] != "all"} or columns
    held = findings.decision == DECISIONS.index("role")
    rows = np.sum([held[places].any(axis=0) for places in own.values()], axis=0)
    count, each = int((rows > 0).sum()), "when each is tested by itself"
    settled = np.isin(findings.decision, [DECISIONS.index("role"), DECISIONS.index("not")])
    decided = sum(settled[places].all(axis=0).mean() > 0.5 for places in own.values())
    kinds = {split_row(name)[0] for name in findings.roles}
    settled_rows = f"{decided:,} of {_counted(len(own), kinds)} {'is' if decided == 1 else 'are'} decided"
    if not count:
        return [
            Sentence(
                f"None of {plural(rows.size, 'head')} beats a baseline",
                f"{each}. {settled_rows} for most heads.",
            )
        ]
    best = [asked.run.scores.stack.name(*place) for place in np.argwhere(rows == rows.max()).tolist()]
    names = join_names(best) if len(best) <= TIED else plural(len(best), "head")
    most = _counted(int(rows.max()), kinds)
    most = f"{names} {'beats' if len(best) == 1 else 'beat'} most: {most}{' each' * (len(best) > 1)}"
    lead = f"{count:,} of {plural(rows.size, 'head')} {'beats' if count == 1 else 'beat'} some baseline"
    return [Sentence(lead, f"{each}; {most}. {settled_rows} for most heads.")]


def _trained(asked: Asked) -> list[Sentence]:
    """Return the best trained probe with its control and its best baseline; nothing without any."""
    known = [row for row in asked.results.trained if not math.isnan(row.uas)]
    known.sort(key=lambda row: -row.uas)
    top = next((row for row in known if row.weights == "trained"), None)
    if top is None:
        return []
    controls = [row for row in known if row.weights == "random" and row.classifier == top.classifier]
    others = [f"random weights: {percent(row.uas)}\u00a0%" for row in controls[:1]]
    baselines = [row for row in known if not row.weights]
    others += [f"{isolate(row.classifier)}: {percent(row.uas)}\u00a0%" for row in baselines[:1]]
    more = f" ({'; '.join(others)})" if others else ""
    lead = f"A probe trained on {isolate(top.classifier)} finds {percent(top.uas)}\u00a0% of the head words"
    return [Sentence(lead, f"in sentences it never saw{more}.")]


def _gaps(asked: Asked) -> list[Sentence]:
    """Return how many heads differ between the first two conditions; nothing without conditions."""
    gaps = asked.results.gaps
    if not gaps:
        return []
    first = gaps[0]
    rows = gaps.where(measure=first.measure, first=first.first, second=first.second)
    count = int((rows["q"] <= asked.run.decision.alpha).sum())
    lead = some_of(count, plural(len(rows), "head"), "differs", "differ", "is shown to differ")
    return [Sentence(lead, f"in {first.measure} between {isolate(first.first)} and {isolate(first.second)}.")]


def glossary(asked: Asked) -> list[tuple[str, str]]:
    """Return what the words of the page mean."""
    level = f"{100 * asked.run.decision.alpha:g}\u00a0%"
    terms = {
        "item, unit": "An item is a word with a right answer. A unit is the document it comes from. Standard "
        "errors are clustered by unit.",
        "right": "Right answers over all items of a row. Items without one in reach are left out.",
        "baseline": "A rule that needs no model, such as “always the word before”. Heads must beat the best "
        "one, chosen on other data.",
        "beyond": f"{as_sentence(asked.beyond)} q is adjusted over the rows of a probe: {level} of them may "
        "be false.",
        "not": "The difference lies significantly below the margin.",
        "undetermined": "The units do not decide.",
        "contrast": "Attention on the right word beyond what the head gives to words at that distance.",
    }
    return [*terms.items()]


def as_sentence(text: str) -> str:
    """Return a text as a sentence; "" for ""."""
    return f"{text[0].upper()}{text[1:]}." if text else ""
