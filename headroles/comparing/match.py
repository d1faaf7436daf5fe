"""Whether two runs can be compared head by head, and on which units."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headroles.errors import BadInput
from headroles.inputs.units import unit_names
from headroles.records.example import Rule, Scores
from headroles.records.findings import COLUMNS, Labelling

SAME, LAYOUT = "the same examples", "one model on two inputs of equal layout"
"""How two runs can match."""


def matched(first: Labelling, second: Labelling) -> tuple[Labelling, Labelling, str]:
    """Two runs side by side: the sieves of B in the order of A, and the units of both joined.

    Examples that share a unit in either run are one unit.

    Args:
        first: Run A.
        second: Run B.

    Returns:
        Both runs, and how they match (``SAME`` or ``LAYOUT``).

    Raises:
        BadInput: When they do not match: one sentence with the first thing that differs.
    """
    _same_shape(first.scores, second.scores)
    for name, option in (("preset", "--preset"), ("statistic", "--statistic")):
        _alike(
            name, first.manifest.get(name), second.manifest.get(name), f"label both with the same {option}"
        )
    second = _in_order(second, first.scores.sieves)
    _same_rules(first.findings.rules, second.findings.rules)
    how = _same_examples(first, second)
    _alike(
        "parser",
        _parser(first.manifest),
        _parser(second.manifest),
        "label both with the same --parser, or the words differ that heads are scored on",
    )
    keys = first.scores.examples
    bonds = [
        (f"A {unit_a}", f"B {unit_b}")
        for unit_a, unit_b in zip(first.scores.units, second.scores.units, strict=True)
    ]
    units = tuple(unit_names([None] * len(keys), bonds, keys))
    one, other = (
        replace(run, scores=replace(run.scores, units=units), assessment=None) for run in (first, second)
    )
    return one, other, how


def _alike(what: str, value_a: object, value_b: object, advice: str) -> None:
    if value_a != value_b and not (value_a != value_a and value_b != value_b):  # two NaN are alike
        raise BadInput(
            f"runs are compared only where they differ in nothing but model or inputs, but the {what} is "
            f"{_told(value_a)} in A and {_told(value_b)} in B; {advice}"
        )


def _told(value: object) -> str:
    return "none" if value is None or value == "" else str(value)


def _same_shape(scores_a: Scores, scores_b: Scores) -> None:
    if (scores_a.layers, scores_a.heads) != (scores_b.layers, scores_b.heads):
        raise BadInput(
            f"runs are compared head by head, but A has {scores_a.layers} layers of {scores_a.heads} heads and B "
            f"{scores_b.layers} of {scores_b.heads}; compare models of one shape"
        )


def _in_order(run: Labelling, sieves: tuple[str, ...]) -> Labelling:
    """The run with its sieves in another order."""
    own = run.scores.sieves
    for name in (*sieves, *own):
        if name not in own or name not in sieves:
            holder = "A" if name in sieves else "B"
            raise BadInput(
                f"runs are compared sieve by sieve, but {name!r} is in {holder} only; "
                f"label both with the same --sieve"
            )
    order = [own.index(name) for name in sieves]
    if order == list(range(len(own))):
        return run
    scores, findings = run.scores, run.findings
    values: dict[str, Any] = {name: getattr(scores, name)[order] for name in ("cells", "values", "null")}
    arrays = {name: getattr(findings, name)[order] for name in (*COLUMNS, "decision")}
    rules = tuple(findings.rules[place] for place in order)
    return replace(
        run,
        scores=replace(scores, sieves=sieves, **values),
        findings=replace(findings, rules=rules, **arrays),
    )


def _same_rules(rules: tuple[Rule, ...], others: tuple[Rule, ...]) -> None:
    """Labels are compared, so what decides them must be the same; bounds of scores may differ."""
    for rule_a, rule_b in zip(rules, others, strict=True):
        for name, words in (("margin", "margin"), ("null", "chance value"), ("contrast", "contrast")):
            _alike(
                f"{words} of {rule_a.sieve!r}",
                getattr(rule_a, name),
                getattr(rule_b, name),
                "judge one of them again with the --margin of the other"
                if name == "margin"
                else "label again",
            )


def _same_examples(first: Labelling, second: Labelling) -> str:
    scores_a, scores_b = first.scores, second.scores
    if len(scores_a.examples) != len(scores_b.examples):
        raise BadInput(
            f"runs are compared example by example, but A has {len(scores_a.examples):,} and B "
            f"{len(scores_b.examples):,}; label both on the same inputs, with the same --limit, --seed and "
            f"--keep"
        )
    texts = [run.manifest.get("source", {}).get("sha256") for run in (first, second)]
    if scores_a.examples == scores_b.examples and (texts[0] == texts[1] or None in texts):
        _same_cut(first, second)
        return SAME
    _equal_layout(first, second)
    return LAYOUT


def _same_cut(first: Labelling, second: Labelling) -> None:
    """Lengths may differ between tokenizers, not because one run cut its inputs short."""
    if tuple(first.scores.tokens) == tuple(second.scores.tokens):
        return
    length_a, length_b = (run.manifest.get("tokenizer", {}).get("max_length") for run in (first, second))
    _alike("longest input in tokens", length_a, length_b, "label both with the same --max-length")


def _equal_layout(first: Labelling, second: Labelling) -> None:
    """Other inputs: row by row the same place and length, under one model."""
    scores_a, scores_b = first.scores, second.scores
    for key, twin in zip(scores_a.examples, scores_b.examples, strict=True):
        if key.rpartition("/")[2] != twin.rpartition("/")[2]:
            raise BadInput(
                f"runs are compared example by example, but where A has {key!r} B has {twin!r}; "
                f"label both on the same inputs, with the same --limit and --seed"
            )
    for key, length, twin in zip(scores_a.examples, scores_a.tokens, scores_b.tokens, strict=True):
        if length != twin:
            raise BadInput(
                f"the inputs of A and B are not the same texts, so they must be alike in layout, but "
                f"{key!r} has {length} tokens in A and {twin} in B; label both on the same inputs, or on "
                f"inputs of equal lengths"
            )
    models = [_model(run.manifest) for run in (first, second)]
    if models[0] != models[1]:
        raise BadInput(
            f"runs are compared where either the model or the inputs differ, but both do (models "
            f"{_told(_name(first.manifest))} and {_told(_name(second.manifest))}); change one at a time"
        )


def _model(manifest: Mapping[str, Any]) -> object:
    model = manifest.get("model", {})
    return model.get("weights_sha256") or model.get("name")


def _name(manifest: Mapping[str, Any]) -> object:
    return manifest.get("model", {}).get("name")


def _parser(manifest: Mapping[str, Any]) -> str:
    parser = manifest.get("parser") or {}
    return f"{parser.get('name', '')} {parser.get('version', '')}".strip()
