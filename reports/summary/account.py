"""What was run: the manifest as lines of text, whatever it holds."""

import json
from collections.abc import Mapping
from typing import Any

from headroles.records.assessment import Assessment
from headroles.records.example import Decision
from headroles.records.findings import Findings
from headroles.reports.content import Account, Line
from headroles.reports.summary.verdicts import splits
from headroles.reports.words.words import (
    BOTH,
    CORRECTIONS,
    FAMILIES,
    TESTS,
    exact,
    isolate,
    plural,
    resampled,
    shown_interval,
)

DECIDED = "how it was decided"
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
    (DECIDED, "preset", ("preset",)),
    (DECIDED, "statistic", ("statistic",)),
    ("gradients", "loss", ("surface", "loss")),
    ("software", "seed", ("settings", "seed")),
    ("software", "headroles", ("headroles",)),
)
MOST = 12
"""Columns that are named beside their margin; of more, the number is told."""
ELSEWHERE = {("command",), ("notes",), ("model", "layers"), ("model", "heads")}
PROBES = {("probe", "published"), ("probe", "windows")}
"""What the page shows in places of its own, and what begins so."""


def account(
    manifest: Mapping[str, Any], findings: Findings, decision: Decision, assessment: Assessment | None = None
) -> Account:
    """Put the manifest into words; missing entries are tolerated and unknown ones shown.

    Args:
        manifest: Nested JSON types.
        findings: The rules and the number of layers and heads are taken from here.
        decision: Test, correction, family, alpha, resamples and interval.
        assessment: Its remarks are among the warnings.

    Returns:
        Lines to show at once, and the rest.
    """
    leaves, preset = dict(_leaves(manifest)), str(manifest.get("preset") or "")
    main = [_line(group, term, leaves[path]) for group, term, path in MAIN if _told(leaves.get(path))]
    layers, heads = findings.count.shape[1:]
    place = next((k for k, line in enumerate(main) if line.group == "inputs"), len(main))
    main.insert(place, Line("model", "size", f"{plural(layers, 'layer')} × {plural(heads, 'head')}"))
    if "parser" in manifest and manifest["parser"] is None:
        main.append(Line("parser", "name", "none"))
    main.extend(_rules(findings, decision))
    if assessment is not None and (drawn := splits(manifest)):
        main.append(Line(DECIDED, "half-samples", f"{drawn}, seed {decision.seed}"))
    notes = [note for note in _notes(manifest.get("notes")) if not _repeats(note, preset)]
    return Account(
        title=_title(leaves),
        subtitle=_subtitle(leaves, findings),
        command=str(manifest.get("command") or ""),
        statistic=_statistic(str(manifest.get("statistic") or "score")),
        preset=preset,
        main=tuple(main),
        rest=tuple(_rest(leaves)),
        warnings=(*notes, *(assessment.remarks if assessment else ())),
    )


def _rest(leaves: Mapping[tuple[str, ...], Any]) -> list[Line]:
    """Everything that is shown nowhere else."""
    shown = {path for _, _, path in MAIN} | ELSEWHERE
    return [
        _line(path[0], " · ".join(path[1:]) or path[0], value)
        for path, value in leaves.items()
        if path not in shown and path[0] != "notes" and path[:2] not in PROBES and _told(value)
    ]


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every value that is not a mapping, with its path, in the order given."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, inner in value.items():
        here = (*path, str(key))
        found.extend(_leaves(inner, here) if isinstance(inner, Mapping) else [(here, inner)])
    return found


def _told(value: object) -> bool:
    return value is not None and value != "" and value != [] and value != ()


def _line(group: str, term: str, value: object) -> Line:
    text = _text(value)
    if "sha" in term.lower() and len(text) > 20:
        return Line(group, term, text[:12] + "…", text)
    return Line(group, term, text)


def _text(value: object) -> str:
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
    """The decision in words, with every margin."""
    margins: dict[str, list[str]] = {}
    for rule in findings.rules:
        margins.setdefault(exact(rule.margin), []).append(rule.sieve)
    usual = max(margins, key=lambda margin: len(margins[margin]))
    contrasts = {rule.sieve for rule in findings.rules if not rule.role}
    told = [usual] + [
        f"{margin} for {_named(names, contrasts)}" for margin, names in margins.items() if margin != usual
    ]
    over = FAMILIES.get(decision.family, decision.family) + BOTH * any(
        rule.together for rule in findings.rules
    )
    drawn = Line(DECIDED, "resamples", f"{decision.resamples:,}, seed {decision.seed}")
    return [
        Line(DECIDED, "test", TESTS.get(decision.test, decision.test)),
        Line(DECIDED, "correction", CORRECTIONS.get(decision.correction, decision.correction)),
        Line(DECIDED, "family", over),
        Line(DECIDED, "alpha", f"{decision.alpha:g}, for roles and for nots"),
        Line(DECIDED, "margin", "; ".join(told)),
        Line(DECIDED, "interval", f"95\u00a0% of the mean: {shown_interval(decision)}"),
        *([drawn] if resampled(decision) else []),
    ]


def _named(names: list[str], contrasts: set[str]) -> str:
    """Names of columns; their number where they are many."""
    if len(names) <= MOST:
        return ", ".join(map(isolate, names))
    return plural(len(names), "contrast" if contrasts.issuperset(names) else "column")


def _title(leaves: Mapping[tuple[str, ...], Any]) -> str:
    name = leaves.get(("model", "name"))
    return (
        f"What the attention heads of {isolate(str(name))} do"
        if _told(name)
        else "What the attention heads do"
    )


def _subtitle(leaves: Mapping[tuple[str, ...], Any], findings: Findings) -> str:
    """Task, inputs, and how many of what."""
    parts = [
        isolate(str(leaves[path])) for path in (("task",), ("source", "name")) if _told(leaves.get(path))
    ]
    for noun in ("example", "unit"):
        count = leaves.get(("counts", noun + "s"))
        if isinstance(count, int):
            parts.append(plural(count, noun))
    layers, heads = findings.count.shape[1:]
    parts.append(f"{plural(layers * heads, 'head')} in {plural(layers, 'layer')}")
    return " · ".join(parts)


def _statistic(recorded: str) -> str:
    return "published score" if recorded == "published" else recorded


def _notes(notes: object) -> tuple[str, ...]:
    if isinstance(notes, list | tuple):
        return tuple(str(note) for note in notes)
    return (str(notes),) if _told(notes) else ()


def _repeats(note: str, preset: str) -> bool:
    """Whether a note says what the page says of the published preset anyway."""
    return preset == "published" and note.startswith("The preset 'published'")
