"""Match two runs head by head: their common columns, and their units where they have the same inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.inputs.identity import shared_inputs, sketches_of
from headroles.inputs.sketch import shared_share
from headroles.inputs.units import unit_names
from headroles.records.comparison import ALL_SAME, APART, LAYOUT, SAME
from headroles.records.example import Scores
from headroles.records.findings import COLUMNS, Findings, Labelling
from headroles.records.layers import Stack
from headroles.records.numbers import join_names, percent_text, plural
from headroles.records.rules.rule import Rule

MOST_NAMED = 6
"""Columns that a note names at most."""


@dataclass(frozen=True, slots=True)
class Match:
    """Two runs that can be compared.

    Attributes:
        first: Run A. Where inputs are paired, it has those that both runs have, in the order of A, and the
            units of both joined.
        second: Run B, with the margins of A in common columns.
        own: Places in A of the columns that both have.
        other: Their places in B.
        way: How the inputs match.
        notes: What differs apart from the scores, one sentence each.
    """

    first: Labelling
    second: Labelling
    own: list[int]
    other: list[int]
    way: str
    notes: list[str]

    @property
    def rules(self) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
        """Return the rules of the common columns in A and in B."""
        of_a, of_b = self.first.findings.rules, self.second.findings.rules
        return tuple(of_a[place] for place in self.own), tuple(of_b[place] for place in self.other)

    @property
    def judged_by(self) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
        """Return the rules by which both runs are judged: paired inputs have the widest bounds of both runs.

        So equal scores have equal labels, also where one run had read more inputs.
        """
        of_a, of_b = list(self.first.findings.rules), list(self.second.findings.rules)
        for a, b in zip(self.own, self.other, strict=True) if self.way != APART else ():
            low = float(np.minimum(of_a[a].low, of_b[b].low))
            high = float(np.maximum(of_a[a].high, of_b[b].high))
            of_a[a], of_b[b] = (replace(rule, low=low, high=high) for rule in (of_a[a], of_b[b]))
        return tuple(of_a), tuple(of_b)

    @property
    def swaps_fit(self) -> bool:
        """Return whether the runs can be swapped unit by unit: paired, and labelled by equal contrasts."""
        pairs = zip(*self.rules, strict=True)
        names = {rule.sieve for rule in self.rules[0]} | {""}
        return self.way != APART and all(a.contrast == b.contrast and a.contrast in names for a, b in pairs)


def match_runs(first: Labelling, second: Labelling) -> Match:
    """Match two runs: their common columns, and the units of both where these can be paired.

    Inputs are paired where both runs have the same ones (by the hashes of their texts and by their keys), and
    where one model read inputs of equal layout. Paired examples that share a unit in either run are one unit.

    Args:
        first: Run A.
        second: Run B.

    Raises:
        BadInput: When the models have other layers or heads, the scores are of other kinds, or no column is
            in both.
    """
    _check_shape(first.scores, second.scores)
    for name, option in (("preset", "--preset"), ("statistic", "--statistic")):
        _check_equal(
            name, first.manifest.get(name), second.manifest.get(name), f"label both with the same {option}"
        )
    names_a, names_b = first.scores.sieves, second.scores.sieves
    own = [place for place, name in enumerate(names_a) if name in names_b]
    other = [names_b.index(names_a[place]) for place in own]
    if not any(first.findings.rules[place].role for place in own):
        raise BadInput(
            f"two runs are compared in the roles that both were asked for, but A has "
            f"{_first_names(names_a)} and B {_first_names(names_b)}; label both with one --sieve in common"
        )
    notes = _only_in_one(names_a, names_b)
    second, of_margins = _with_margins(first, second, own, other)
    first, second, way, of_inputs = _with_pairs(first, second)
    match = Match(first, second, own, other, way, [*of_inputs, *notes, *of_margins])
    return replace(match, notes=[*match.notes, *_other_rules(*match.rules), *_other_reading(first, second)])


def select_columns(findings: Findings, places: Sequence[int]) -> Findings:
    """Return the findings of some columns; contrasts that are not among them are no longer named.

    Args:
        findings: Of all columns.
        places: Places of the columns that stay, in their new order.
    """
    names = {findings.rules[place].sieve for place in places}
    rules = tuple(
        replace(
            rule,
            contrast=rule.contrast if rule.contrast in names else "",
            stronger=rule.stronger if rule.stronger in names else "",
            weaker=rule.weaker if rule.weaker in names else "",
        )
        for rule in (findings.rules[place] for place in places)
    )
    arrays: dict[str, Any] = {name: getattr(findings, name)[list(places)] for name in (*COLUMNS, "decision")}
    return replace(findings, rules=rules, **arrays)


def _check_equal(what: str, value_a: object, value_b: object, advice: str) -> None:
    """Check that a property is equal in both runs."""
    if value_a != value_b:
        raise BadInput(
            f"two runs can be compared if their scores are of one kind, but the {what} is "
            f"{_as_text(value_a)} in A and {_as_text(value_b)} in B; {advice}"
        )


def _as_text(value: object) -> str:
    """Return a value as text."""
    return "none" if value is None or value == "" else str(value)


def _first_names(names: Sequence[str]) -> str:
    """Return the first names, with dots where there are more."""
    return ", ".join(names[:MOST_NAMED]) + " …" * (len(names) > MOST_NAMED)


def _check_shape(scores_a: Scores, scores_b: Scores) -> None:
    """Check that both models have as many layers and heads."""
    if (scores_a.stack.numbers, scores_a.heads) != (scores_b.stack.numbers, scores_b.heads):
        raise BadInput(
            f"two runs are compared head by head, but A has {scores_a.layers} layers of {scores_a.heads} "
            f"heads and B {scores_b.layers} of {scores_b.heads}"
            f"{_other_layers(scores_a.stack, scores_b.stack)}; headroles atlas shows models of other shapes "
            "by counts and depth"
        )


def _other_layers(a: Stack, b: Stack) -> str:
    """Return the first layer of two stacks of one size that differs; "" where their sizes do."""
    if len(a.numbers) != len(b.numbers) or a.numbers == b.numbers:
        return ""
    first = next(pair for pair in zip(a.numbers, b.numbers, strict=True) if pair[0] != pair[1])
    return f" (layer {first[0]} of A is layer {first[1]} of B)"


def _only_in_one(names_a: Sequence[str], names_b: Sequence[str]) -> list[str]:
    """Return a note on the columns of each run that the other lacks."""
    alone = {
        "A": [name for name in names_a if name not in names_b],
        "B": [name for name in names_b if name not in names_a],
    }
    return [
        f"{plural(len(names), 'column')} of {run} only {'is' if len(names) == 1 else 'are'} left out: "
        f"{_first_names(names)}."
        for run, names in alone.items()
        if names
    ]


def _with_margins(
    first: Labelling, second: Labelling, own: Sequence[int], other: Sequence[int]
) -> tuple[Labelling, list[str]]:
    """Return run B with the margins of A in common columns, and a note where its own differ.

    Where both took heads out, a margin is a share of the mean loss, which differs between models: then the
    option must be the same.
    """
    rules, of_a = list(second.findings.rules), first.findings.rules
    ablated = first.ablated is not None and second.ablated is not None
    if ablated:
        margin, other_margin = ((run.manifest.get("settings") or {}).get("margin") for run in (first, second))
        _check_equal("margin", margin, other_margin, "judge one of them again with the --margin of the other")
    moved = sum(rules[b].margin != of_a[a].margin for a, b in zip(own, other, strict=True))
    for a, b in zip(own, other, strict=True):
        rules[b] = replace(rules[b], margin=of_a[a].margin)
    notes = [f"B is judged by the margins of A; its own differ in {plural(moved, 'column')}."]
    second = replace(second, findings=replace(second.findings, rules=tuple(rules)))
    return second, notes if moved and not ablated else []


def _other_rules(rules: Sequence[Rule], rules_b: Sequence[Rule]) -> list[str]:
    """Return notes on roles that the two runs decide by other contrasts or chance values."""
    notes = []
    for a, b in zip(rules, rules_b, strict=True):
        if a.contrast != b.contrast:
            notes.append(
                f"{a.sieve} is decided with the contrast {_as_text(a.contrast)} in A and "
                f"{_as_text(b.contrast)} in B, so a role may be gained or lost by that alone."
            )
        if a.null != b.null:
            notes.append(f"chance gives {a.sieve} the score {a.null:g} in A and {b.null:g} in B.")
    return notes


def _other_reading(first: Labelling, second: Labelling) -> list[str]:
    """Return notes on parsers and longest inputs that differ."""
    lengths = [(run.manifest.get("tokenizer") or {}).get("max_length") for run in (first, second)]
    facts = (
        ("parser", _parser(first.manifest), _parser(second.manifest)),
        ("longest input in tokens", *lengths),
    )
    return [f"the {what} is {_as_text(a)} in A and {_as_text(b)} in B." for what, a, b in facts if a != b]


def _with_pairs(first: Labelling, second: Labelling) -> tuple[Labelling, Labelling, str, list[str]]:
    """Return both runs with paired inputs and joined units where there are pairs, the way, and notes."""
    one_model = _model(first.manifest) == _model(second.manifest)
    notes, (own, other) = list[str](), _common_inputs(first, second)
    if own:
        notes = [
            f"{plural(left, 'input')} of {name} only {'is' if left == 1 else 'are'} left out."
            for name, run in (("A", first), ("B", second))
            if (left := len(run.scores.examples) - len(own))
        ]
        first, second = (
            replace(run, scores=run.scores.take(np.array(places)))
            for run, places in ((first, own), (second, other))
        )
        way = ALL_SAME if one_model else SAME
    elif one_model and _equal_layout(first.scores, second.scores):
        way = LAYOUT
    else:
        return first, second, APART, _apart_notes(first, second, one_model)
    bonds = [
        (f"A {unit_a}", f"B {unit_b}")
        for unit_a, unit_b in zip(first.scores.units, second.scores.units, strict=True)
    ]
    keys = first.scores.examples
    units = tuple(unit_names([None] * len(keys), bonds, keys))
    matched_a, matched_b = (
        replace(run, scores=replace(run.scores, units=units), assessment=None) for run in (first, second)
    )
    return matched_a, matched_b, way, notes


def _common_inputs(first: Labelling, second: Labelling) -> tuple[list[int], list[int]]:
    """Return the places in A and in B of the inputs that both have, in the order of A; none if not known.

    Runs on equal texts have inputs of equal keys. Where one run read a part of the texts of the other, by
    their sketches, inputs of equal keys are the same if all of them have equal lengths in tokens.
    """
    (a, b), manifests = (first.scores, second.scores), (first.manifest, second.manifest)
    hashes = [(manifest.get("source") or {}).get("sha256") for manifest in manifests]
    places = {row: place for place, row in enumerate(_rows_of(b))}
    own = [place for place, row in enumerate(_rows_of(a)) if row in places]
    other = [places[row] for row in _rows_of(a) if row in places]
    if hashes[0] == hashes[1] or None in hashes:
        if {*a.examples} == {*b.examples}:
            return own, other
    else:
        sketches = [sketches_of(manifest)["texts"] for manifest in manifests]
        if 1.0 not in (shared_share(*sketches), shared_share(*sketches[::-1])):
            return [], []
    whole = len(own) == min(len(a.examples), len(b.examples))
    return (own, other) if whole and np.array_equal(a.tokens[own], b.tokens[other]) else ([], [])


def _rows_of(scores: Scores) -> list[str]:
    """Return the last part of the key of every input, or the whole key where that is not unique."""
    rows = [key.rpartition("/")[2] for key in scores.examples]
    return rows if len({*rows}) == len(rows) else list(scores.examples)


def _equal_layout(a: Scores, b: Scores) -> bool:
    """Return whether other inputs have the same place and length row by row."""
    return _rows_of(a) == _rows_of(b) and np.array_equal(a.tokens, b.tokens)


def _apart_notes(first: Labelling, second: Labelling, one_model: bool) -> list[str]:
    """Return notes on runs whose inputs are not paired."""
    units = [first.scores.units, second.scores.units]
    counts = [len(set(names)) for names in units]
    small, large = ("A", "B") if counts[0] <= counts[1] else ("B", "A")
    notes = [
        f"A and B read other inputs, so they have no pairs. Each of the {plural(min(counts), 'unit')} of "
        f"{small} is set against a random part of the {max(counts):,} of {large}. Without pairs nothing can "
        "be swapped, so how many labels change by chance is not known."
    ]
    share, what = shared_inputs(first.manifest, second.manifest, (units[0], units[1]))
    if share:
        notes.append(
            f"about {percent_text(share)} of the {what.rstrip(',')} of B are those of A, but the test takes "
            "all as independent."
        )
    if not one_model:
        models = join_names(
            [_as_text((run.manifest.get("model") or {}).get("name")) for run in (first, second)]
        )
        notes.append(f"The models differ, too ({models}), so a difference may come from either.")
    return notes


def _model(manifest: Mapping[str, Any]) -> object:
    """Return the hash of the model's weights, or its name."""
    model = manifest.get("model") or {}
    return model.get("weights_sha256") or model.get("name")


def _parser(manifest: Mapping[str, Any]) -> str:
    """Return name and version of the parser."""
    parser = manifest.get("parser") or {}
    return f"{parser.get('name', '')} {parser.get('version', '')}".strip()
