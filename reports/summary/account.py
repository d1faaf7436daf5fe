"""What was run: the manifest as lines of text, whatever it holds."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headroles.addresses import last_name
from headroles.records.findings import Findings, Labelling
from headroles.records.numbers import exact, isolate, plural
from headroles.records.rules.rule import Decision
from headroles.reports.records import Account, Line
from headroles.reports.words.words import (
    BOTH,
    FAMILIES,
    correction_words,
    heads_in_layers,
    interval_name,
    layers_read,
    uses_resamples,
    words_of_test,
)

DECISION = "how it was decided"
MAIN = (
    ("model", "name", ("model", "name")),
    ("model", "revision", ("model", "revision")),
    ("model", "architecture", ("model", "architecture")),
    ("model", "weights SHA-256", ("model", "weights_sha256")),
    ("inputs", "task", ("task",)),
    ("inputs", "source", ("source", "kind")),
    ("inputs", "data", ("source", "name")),
    ("inputs", "rows", ("source", "rows")),
    ("inputs", "SHA-256", ("source", "sha256")),
    ("inputs", "units", ("counts", "units")),
    ("inputs", "truncated", ("counts", "truncated")),
    ("tokenizer", "class", ("tokenizer", "class")),
    ("tokenizer", "longest", ("tokenizer", "max_length")),
    ("parser", "name", ("parser", "name")),
    ("parser", "version", ("parser", "version")),
    (DECISION, "preset", ("preset",)),
    (DECISION, "statistic", ("statistic",)),
    ("gradients", "loss", ("surface", "loss")),
    ("software", "seed", ("settings", "seed")),
    ("software", "headroles", ("headroles",)),
)
MOST = 12
"""Columns named with their margin at most; of more, only their number is stated."""
ELSEWHERE = {("command",), ("notes",), ("model", "layers"), ("model", "blocks"), ("model", "heads")}
PROBES = {("probe", "published"), ("probe", "windows")}
"""Entries, and beginnings of entries, that the page shows in places of their own."""


def account(labelling: Labelling) -> Account:
    """Put the manifest of a run into words; missing entries are tolerated and unknown ones shown.

    Args:
        labelling: The result of a run; remarks of its assessment are among the warnings.

    Returns:
        Lines to show at once, and the rest.
    """
    manifest, findings, assessment = labelling.manifest, labelling.findings, labelling.assessment
    stack, heads = labelling.scores.stack, labelling.scores.heads
    leaves, preset = dict(_leaves(manifest)), str(manifest.get("preset") or "")
    main = [_line(group, term, leaves[path]) for group, term, path in MAIN if _has_value(leaves.get(path))]
    place = next((k for k, line in enumerate(main) if line.group == "inputs"), len(main))
    main.insert(place, Line("model", "size", f"{layers_read(stack)} × {plural(heads, 'head')}"))
    if "parser" in manifest and manifest["parser"] is None:
        main.append(Line("parser", "name", "none"))
    main.extend(_rules(findings, labelling.decision))
    notes = [note for note in _notes(manifest.get("notes")) if not _repeats(note, preset)]
    return Account(
        title=_title(leaves),
        subtitle=_subtitle(leaves, heads_in_layers(stack, heads)),
        command=str(manifest.get("command") or ""),
        statistic=_statistic(str(manifest.get("statistic") or "score")),
        preset=preset,
        main=tuple(main),
        rest=tuple(_rest(leaves)),
        warnings=(*notes, *(assessment.remarks if assessment else ())),
        model=_short_name(leaves),
        facts=_facts(leaves),
        by_norm=leaves.get(("model", "weights")) == "norm",
    )


def with_values(account: Account, texts: Mapping[str, str]) -> Account:
    """Return an account with other values of some lines.

    Args:
        account: What was run.
        texts: Values by the term of their line; terms that the account lacks are passed over.
    """
    lines = tuple(replace(line, value=texts.get(line.term, line.value)) for line in account.main)
    return replace(account, main=lines)


def _rest(leaves: Mapping[tuple[str, ...], Any]) -> list[Line]:
    """Return every value that is shown nowhere else."""
    elsewhere = {path for _, _, path in MAIN} | ELSEWHERE
    return [
        _line(path[0], " · ".join(path[1:]) or path[0], value)
        for path, value in leaves.items()
        if path not in elsewhere and path[0] != "notes" and path[:2] not in PROBES and _has_value(value)
    ]


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Return every value that is not a mapping, with its path, in the order given."""
    leaves: list[tuple[tuple[str, ...], Any]] = []
    for key, inner in value.items():
        here = (*path, str(key))
        leaves.extend(_leaves(inner, here) if isinstance(inner, Mapping) else [(here, inner)])
    return leaves


def _has_value(value: object) -> bool:
    """Return whether a value holds anything."""
    return value is not None and value != "" and value != [] and value != ()


def _line(group: str, term: str, value: object) -> Line:
    """Return one line of the account, a long hash shortened."""
    text = _text(value)
    if "sha" in term.lower() and len(text) > 20:
        return Line(group, term, text[:12] + "…", text)
    return Line(group, term, text)


def _text(value: object) -> str:
    """Return a value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str)


def _rules(findings: Findings, decision: Decision) -> list[Line]:
    """Return the decision in words, with every margin."""
    margins: dict[str, list[str]] = {}
    for rule in findings.rules:
        margins.setdefault(exact(rule.margin), []).append(rule.sieve)
    usual = max(margins, key=lambda margin: len(margins[margin]))
    contrasts = {rule.sieve for rule in findings.rules if not rule.role}
    texts = [usual] + [
        f"{margin} for {_columns_text(names, contrasts)}"
        for margin, names in margins.items()
        if margin != usual
    ]
    family = FAMILIES.get(decision.family, decision.family) + BOTH * any(
        rule.together for rule in findings.rules
    )
    resamples = Line(DECISION, "resamples", f"{decision.resamples:,}, seed {decision.seed}")
    return [
        Line(DECISION, "test", words_of_test(decision.test)),
        Line(DECISION, "correction", correction_words(decision.test, decision.correction)),
        Line(DECISION, "family", family),
        Line(DECISION, "alpha", f"{decision.alpha:g}, for every decision by itself"),
        Line(DECISION, "margin", "; ".join(texts)),
        Line(DECISION, "interval", f"95\u00a0% of the mean: {interval_name(decision)}"),
        *([resamples] if uses_resamples(decision) else []),
    ]


def _columns_text(names: list[str], contrasts: set[str]) -> str:
    """Return names of columns; their number where they are many."""
    if len(names) <= MOST:
        return ", ".join(map(isolate, names))
    return plural(len(names), "contrast" if contrasts.issuperset(names) else "column")


def _title(leaves: Mapping[tuple[str, ...], Any]) -> str:
    """Return the title, which names the model."""
    name = leaves.get(("model", "name"))
    return (
        f"What the attention heads of {isolate(str(name))} do"
        if _has_value(name)
        else "What the attention heads do"
    )


def _subtitle(leaves: Mapping[tuple[str, ...], Any], size: str) -> str:
    """Return task, inputs, and the numbers of examples, units, heads and layers."""
    parts = [
        isolate(str(leaves[path])) for path in (("task",), ("source", "name")) if _has_value(leaves.get(path))
    ]
    for noun in ("example", "unit"):
        count = leaves.get(("counts", noun + "s"))
        if isinstance(count, int):
            parts.append(plural(count, noun))
    return " · ".join([*parts, size])


def _short_name(leaves: Mapping[tuple[str, ...], Any]) -> str:
    """Return the name of the model without its owner or folder."""
    name = leaves.get(("model", "name"))
    return last_name(str(name)) if _has_value(name) else ""


def _facts(leaves: Mapping[tuple[str, ...], Any]) -> tuple[str, ...]:
    """Return task and data, and the number of inputs; that of units where it is another."""
    source = leaves.get(("source", "name"))
    if leaves.get(("source", "kind")) == "file":
        source = last_name(str(source))
    names = (leaves.get(("task",)), source)
    examples, units = (leaves.get(("counts", noun)) for noun in ("examples", "units"))
    counts = [plural(examples, "input")] if isinstance(examples, int) else []
    stopped, all_units = (leaves.get(("until", name)) for name in ("stopped", "of_units"))
    if stopped:
        counts.append(f"stopped at {units:,} of {all_units:,} units")
    elif isinstance(units, int) and units != examples:
        counts.append(plural(units, "unit"))
    if stopped is False:
        counts.append("no early stop")
    if leaves.get(("model", "weights")) == "norm":
        counts.append("attention weighted by norms")
    return (*(str(name) for name in names if _has_value(name)), *counts)


def _statistic(recorded: str) -> str:
    """Return the name of the statistic in words."""
    return "published score" if recorded == "published" else recorded


def _notes(notes: object) -> tuple[str, ...]:
    """Return the notes of a manifest, whatever their type."""
    if isinstance(notes, list | tuple):
        return tuple(str(note) for note in notes)
    return (str(notes),) if _has_value(notes) else ()


def _repeats(note: str, preset: str) -> bool:
    """Return whether a note repeats the page's own text on the published preset."""
    return preset == "published" and note.startswith("The preset 'published'")
