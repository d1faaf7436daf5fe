"""Check that two runs can be compared head by head, and join their units."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headroles.errors import BadInput
from headroles.inputs.units import unit_names
from headroles.records.example import Scores
from headroles.records.findings import COLUMNS, Labelling
from headroles.records.layers import Stack
from headroles.records.rules.rule import Rule

SAME, LAYOUT = "the same examples", "one model on two inputs of equal layout"
"""The two ways in which runs can match."""


def match_runs(first: Labelling, second: Labelling) -> tuple[Labelling, Labelling, str]:
    """Match two runs: put the sieves of B in the order of A, and join the units of both.

    Examples that share a unit in either run are one unit.

    Args:
        first: Run A.
        second: Run B.

    Returns:
        Both runs, and how they match (``SAME`` or ``LAYOUT``).

    Raises:
        BadInput: When they do not match; the message names the first difference.
    """
    _check_shape(first.scores, second.scores)
    for name, option in (("preset", "--preset"), ("statistic", "--statistic")):
        _check_equal(
            name, first.manifest.get(name), second.manifest.get(name), f"label both with the same {option}"
        )
    second = _with_thresholds(first, _in_order(second, first.scores.sieves))
    _check_rules(first.findings.rules, second.findings.rules)
    way = _same_examples(first, second)
    _check_equal(
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
    matched_a, matched_b = (
        replace(run, scores=replace(run.scores, units=units), assessment=None) for run in (first, second)
    )
    return matched_a, matched_b, way


def _check_equal(what: str, value_a: object, value_b: object, advice: str) -> None:
    """Check that a property is equal in both runs."""
    if value_a != value_b and not (value_a != value_a and value_b != value_b):  # two NaN are alike
        raise BadInput(
            f"two runs can be compared if only the model or the inputs differ, but the {what} is "
            f"{_as_text(value_a)} in A and {_as_text(value_b)} in B; {advice}"
        )


def _as_text(value: object) -> str:
    """Return a value as text."""
    return "none" if value is None or value == "" else str(value)


def _check_shape(scores_a: Scores, scores_b: Scores) -> None:
    """Check that both models have as many layers and heads."""
    if (scores_a.stack.numbers, scores_a.heads) != (scores_b.stack.numbers, scores_b.heads):
        raise BadInput(
            f"two runs need the same layers and heads, but A has {scores_a.layers} layers of "
            f"{scores_a.heads} heads and B {scores_b.layers} of {scores_b.heads}"
            f"{_other_layers(scores_a.stack, scores_b.stack)}; compare models of one shape"
        )


def _other_layers(a: Stack, b: Stack) -> str:
    """Return the first layer of two stacks of one size that differs; "" where their sizes do."""
    if len(a.numbers) != len(b.numbers) or a.numbers == b.numbers:
        return ""
    first = next(pair for pair in zip(a.numbers, b.numbers, strict=True) if pair[0] != pair[1])
    return f" (layer {first[0]} of A is layer {first[1]} of B)"


def _in_order(run: Labelling, sieves: tuple[str, ...]) -> Labelling:
    """Return the run with its sieves in another order; both must have the same ones."""
    run_sieves = run.scores.sieves
    for name in (*sieves, *run_sieves):
        if name not in run_sieves or name not in sieves:
            holder = "A" if name in sieves else "B"
            raise BadInput(
                f"two runs need the same sieves, but {name!r} is in {holder} only; label both with the "
                "same --sieve"
            )
    order = [run_sieves.index(name) for name in sieves]
    if order == list(range(len(run_sieves))):
        return run
    scores, findings = run.scores, run.findings
    values: dict[str, Any] = {name: getattr(scores, name)[order] for name in ("cells", "values", "null")}
    arrays = {name: getattr(findings, name)[order] for name in (*COLUMNS, "decision")}
    rules = tuple(findings.rules[position] for position in order)
    return replace(
        run,
        scores=replace(scores, sieves=sieves, **values),
        findings=replace(findings, rules=rules, **arrays),
    )


def _with_thresholds(first: Labelling, second: Labelling) -> Labelling:
    """Return run B with the thresholds of A, where both took heads out with the same margin.

    The threshold of a loss is a share of the mean loss, which differs between models.
    """
    if first.ablated is None or second.ablated is None:
        return second
    margin, other_margin = ((run.manifest.get("settings") or {}).get("margin") for run in (first, second))
    _check_equal("margin", margin, other_margin, "judge one of them again with the --margin of the other")
    own, other = first.findings.rules, second.findings.rules
    rules = tuple(replace(rule, margin=of_a.margin) for rule, of_a in zip(other, own, strict=True))
    return replace(second, findings=replace(second.findings, rules=rules))


def _check_rules(rules: tuple[Rule, ...], rules_b: tuple[Rule, ...]) -> None:
    """Check that labels are decided alike; bounds of scores may differ."""
    for rule_a, rule_b in zip(rules, rules_b, strict=True):
        for name, words in (("margin", "margin"), ("null", "chance value"), ("contrast", "contrast")):
            _check_equal(
                f"{words} of {rule_a.sieve!r}",
                getattr(rule_a, name),
                getattr(rule_b, name),
                "judge one of them again with the --margin of the other"
                if name == "margin"
                else "label again",
            )


def _same_examples(first: Labelling, second: Labelling) -> str:
    """Return in which way the examples of two runs match."""
    scores_a, scores_b = first.scores, second.scores
    if len(scores_a.examples) != len(scores_b.examples):
        raise BadInput(
            f"two runs need the same inputs, but A has {len(scores_a.examples):,} and B "
            f"{len(scores_b.examples):,}; label both on the same inputs, with the same --limit, --seed "
            "and --keep"
        )
    texts = [run.manifest.get("source", {}).get("sha256") for run in (first, second)]
    if scores_a.examples == scores_b.examples and (texts[0] == texts[1] or None in texts):
        _check_cut(first, second)
        return SAME
    _check_layout(first, second)
    return LAYOUT


def _check_cut(first: Labelling, second: Labelling) -> None:
    """Check that lengths differ by tokenizer only, not because one run cut its inputs short."""
    if tuple(first.scores.tokens) == tuple(second.scores.tokens):
        return
    length_a, length_b = (run.manifest.get("tokenizer", {}).get("max_length") for run in (first, second))
    _check_equal("longest input in tokens", length_a, length_b, "label both with the same --max-length")


def _check_layout(first: Labelling, second: Labelling) -> None:
    """Check that other inputs have the same place and length row by row, under one model."""
    scores_a, scores_b = first.scores, second.scores
    for key, twin in zip(scores_a.examples, scores_b.examples, strict=True):
        if key.rpartition("/")[2] != twin.rpartition("/")[2]:
            raise BadInput(
                f"two runs need the same inputs in the same order, but where A has {key!r} B has "
                f"{twin!r}; label both on the same inputs, with the same --limit and --seed"
            )
    for key, length, twin in zip(scores_a.examples, scores_a.tokens, scores_b.tokens, strict=True):
        if length != twin:
            raise BadInput(
                f"inputs with other texts need equal lengths, but {key!r} has {length} tokens in A and "
                f"{twin} in B; label both on the same inputs, or on inputs of equal lengths"
            )
    models = [_model(run.manifest) for run in (first, second)]
    if models[0] != models[1]:
        raise BadInput(
            "two runs can be compared if only the model or the inputs differ, but both do (models "
            f"{_as_text(_name(first.manifest))} and {_as_text(_name(second.manifest))}); change one at a "
            "time"
        )


def _model(manifest: Mapping[str, Any]) -> object:
    """Return the hash of the model's weights, or its name."""
    model = manifest.get("model", {})
    return model.get("weights_sha256") or model.get("name")


def _name(manifest: Mapping[str, Any]) -> object:
    """Return the name of the model."""
    return manifest.get("model", {}).get("name")


def _parser(manifest: Mapping[str, Any]) -> str:
    """Return name and version of the parser."""
    parser = manifest.get("parser") or {}
    return f"{parser.get('name', '')} {parser.get('version', '')}".strip()
