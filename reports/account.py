"""What was run, in words: its manifest as lines of text, its title, notes, inputs and test."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroles.addresses import last_name
from headroles.records.findings import Findings, Labelling
from headroles.records.numbers import exact, isolate, plural
from headroles.records.rules.rule import BOTH, FAMILIES, Decision, Rule
from headroles.records.stops.look import stop_sentences
from headroles.reports import words
from headroles.tasks import TASKS

DECISION = "how it was decided"
PUBLISHED = "The preset 'published'"
"""Beginning of a note in place of which the page has a text of its own."""
MAIN = {
    "model": {
        "name": "model.name", "revision": "model.revision", "architecture": "model.architecture",
        "weights SHA-256": "model.weights_sha256",
    },
    "inputs": {
        "task": "task", "source": "source.kind", "data": "source.name", "rows": "source.rows",
        "SHA-256": "source.sha256", "units": "counts.units", "truncated": "counts.truncated",
    },
    "tokenizer": {"class": "tokenizer.class", "longest": "tokenizer.max_length"},
    "parser": {"name": "parser.name", "version": "parser.version"},
    DECISION: {"preset": "preset", "statistic": "statistic"},
    "gradients": {"loss": "surface.loss"},
    "software": {"seed": "settings.seed", "headroles": "headroles"},
}  # fmt: skip
"""Entries of the manifest that are shown at once, by group and term."""
LONGEST = 200
"""Letters of a code that is shown whole, such as a sketch of all texts; run.json has longer ones."""
MOST = 12
"""Columns named with their margin at most; of more, only their number is stated."""
ELSEWHERE = {("command",), ("notes",), ("model", "layers"), ("model", "blocks"), ("model", "heads")}
PROBES = {("probe", "published"), ("probe", "windows")}
"""Entries, and beginnings of entries, that the page shows in places of their own."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of "what was run".

    Attributes:
        group: What the line belongs to, such as ``"model"``.
        term: What is recorded.
        value: Its value as text.
        full: The whole value when ``value`` is a shortened hash; "" otherwise.
    """

    group: str
    term: str
    value: str
    full: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A line of a terminal with a name of at most seven letters.

    Attributes:
        name: Such as "tested".
        text: The line.
        style: As rich names it; "" for plain text.
    """

    name: str
    text: str
    style: str = "dim"


@dataclass(frozen=True, slots=True)
class Account:
    """What was run, as the manifest and the decision state it.

    Attributes:
        title: Names the model.
        command: The command line; "" when not recorded.
        statistic: What a score is called, such as ``"selectivity"``.
        preset: Name of the preset; "" when not recorded.
        main: The lines shown at once.
        rest: Every other recorded value.
        warnings: What must be known before anything is concluded, one sentence each.
        model: Name of the model without its owner or folder; "" when not recorded.
        facts: Task, data, and the numbers of inputs and units, as far as they are recorded.
        by_norm: Whether attention is weighted by the norms of the values that it moves.
    """

    title: str
    command: str
    statistic: str
    preset: str
    main: tuple[Line, ...]
    rest: tuple[Line, ...]
    warnings: tuple[str, ...]
    model: str
    facts: tuple[str, ...]
    by_norm: bool

    def with_values(self, texts: Mapping[str, str]) -> "Account":
        """Return the account with other values of the lines that have one of these terms."""
        lines = (replace(line, value=texts.get(line.term, line.value)) for line in self.main)
        return replace(self, main=tuple(lines))


def account(labelling: Labelling) -> Account:
    """Put the manifest of a run into words; missing entries are tolerated and unknown ones shown.

    Args:
        labelling: The result of a run; remarks of its assessment are among the warnings.
    """
    manifest, scores, assessment = labelling.manifest, labelling.scores, labelling.assessment
    known = {path: value for path, value in _leaves(manifest) if value not in (None, "", [], ())}
    first = {
        tuple(path.split(".")): (group, term)
        for group, entries in MAIN.items()
        for term, path in entries.items()
    }
    main = [_line(*named, known[path]) for path, named in first.items() if path in known]
    size = Line("model", "size", f"{words.layers_read(scores.stack)} × {plural(scores.heads, 'head')}")
    main.insert(next((k for k, line in enumerate(main) if line.group == "inputs"), len(main)), size)
    if "parser" in manifest and manifest["parser"] is None:
        main.append(Line("parser", "name", "none"))
    rest = (
        _line(path[0], " · ".join(path[1:]) or path[0], value)
        for path, value in known.items()
        if path not in first.keys() | ELSEWHERE and path[0] != "notes" and path[:2] not in PROBES
    )
    name, preset = known.get(("model", "name")), str(manifest.get("preset") or "")
    statistic, notes = str(manifest.get("statistic") or "score"), known.get(("notes",), ())
    listed = [str(note) for note in (notes if isinstance(notes, list | tuple) else [notes])]
    told = [note for note in listed if preset != "published" or not note.startswith(PUBLISHED)]
    return Account(
        title=f"What the attention heads{'' if name is None else f' of {isolate(str(name))}'} do",
        command=str(manifest.get("command") or ""),
        statistic="published score" if statistic == "published" else statistic,
        preset=preset,
        main=(*main, *_rules(labelling.findings, labelling.decision)),
        rest=tuple(rest),
        warnings=(*told, *(assessment.remarks if assessment else ())),
        model="" if name is None else last_name(str(name)),
        facts=_facts(known),
        by_norm=known.get(("model", "weights")) == "norm",
    )


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value that is not a mapping, with its path, in the order given."""
    for key, inner in value.items():
        here = (*path, str(key))
        if isinstance(inner, Mapping):
            yield from _leaves(inner, here)
        else:
            yield here, inner


def _line(group: str, term: str, value: object) -> Line:
    """Return one line of the account: the value as text, a long hash shortened."""
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, int):
        text = f"{value:,}" if abs(value) >= 10_000 else str(value)
    elif isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        text = ", ".join(map(str, value))
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if "sha" in term.lower() and len(text) > 20:
        return Line(group, term, text[:12] + "…", text)
    if len(text) > LONGEST and not re.search(r"\s", text):
        return Line(group, term, f"{text[:12]}… ({len(text):,} letters)")
    return Line(group, term, text)


def _rules(findings: Findings, decision: Decision) -> list[Line]:
    """Return the decision in words, with every margin."""
    margins: dict[str, list[str]] = {}
    for rule in findings.rules:
        margins.setdefault(exact(rule.margin), []).append(rule.sieve)
    usual = max(margins, key=lambda margin: len(margins[margin]))
    contrasts = {rule.sieve for rule in findings.rules if not rule.role}
    texts = [usual]
    for margin, names in margins.items():
        noun = "contrast" if contrasts.issuperset(names) else "column"
        listed = ", ".join(map(isolate, names)) if len(names) <= MOST else plural(len(names), noun)
        texts += [f"{margin} for {listed}"] if margin != usual else []
    together = any(rule.together for rule in findings.rules)
    lines = {
        "test": words.words_of_test(decision.test),
        "correction": words.correction_words(decision.test, decision.correction),
        "family": FAMILIES.get(decision.family, decision.family) + BOTH * together,
        "alpha": f"{decision.alpha:g}, for every decision by itself",
        "margin": "; ".join(texts),
        "interval": f"95\u00a0% of the mean: {words.interval_name(decision)}",
    }
    if words.uses_resamples(decision):
        lines["resamples"] = f"{decision.resamples:,}, seed {decision.seed}"
    return [Line(DECISION, term, text) for term, text in lines.items()]


def _facts(known: Mapping[tuple[str, ...], Any]) -> tuple[str, ...]:
    """Return task and data, and the number of inputs; that of units where it is another."""
    task, source = known.get(("task",)), known.get(("source", "name"))
    if known.get(("source", "kind")) == "file":
        source = last_name(str(source))
    examples, units = (known.get(("counts", noun)) for noun in ("examples", "units"))
    stopped, norms = known.get(("until", "stopped")), known.get(("model", "weights")) == "norm"
    facts = [str(name) for name in (task, source) if name is not None]
    facts += [plural(examples, "input")] if isinstance(examples, int) else []
    if stopped:
        facts.append(f"stopped at {units:,} of {known['until', 'of_units']:,} units")
    elif isinstance(units, int) and units != examples:
        facts.append(plural(units, "unit"))
    return (*facts, *["no early stop"] * (stopped is False), *["attention weighted by norms"] * norms)


def account_lines(run: Labelling, more: str = "") -> list[Named]:
    """Return model and inputs of a run as far as its manifest names them; ``more`` follows the inputs."""
    facts = run.manifest
    model, counts, source = facts.get("model", {}), facts.get("counts", {}), facts.get("source", {})
    kind = f" ({model['architecture']})" if model.get("architecture") else ""
    origin = f", from {model['origin']}" if model.get("origin") else ""
    named = source.get("name")
    shipped = "samples written for headroles" if facts.get("task") else f"the shipped sample of {named}"
    names = {"sample": shipped, "hub": f"the dataset {named}"}
    name = names.get(source.get("kind", ""), f"the file {named}" if named else "")
    inputs = ", ".join(str(part) for part in (facts.get("task"), name) if part)
    sizes = [plural(counts[f"{noun}s"], noun) for noun in ("example", "unit") if f"{noun}s" in counts]
    parts = [inputs, ", ".join(sizes)]
    return [
        Named("model", f"{model.get('name') or 'unknown'}{kind}{origin}", ""),
        Named("inputs", f"{': '.join(filter(None, parts))}{more}", ""),
    ]


def title_of(labelling: Labelling) -> str:
    """Return heads, model and inputs of a run, as far as its manifest names them.

    Such as "72 heads of all-MiniLM-L6-v2 on 160 QNLI pairs".
    """
    facts, count = labelling.manifest, labelling.findings.count
    task, source = facts.get("task"), facts.get("source", {})
    model, data = (last_name(str(of.get("name") or "")) for of in (facts.get("model", {}), source))
    heads = plural(count[0].size if len(count) else count.shape[1] * count.shape[2], "head")
    title, number = f"{heads} of {model}" if model else heads, facts.get("counts", {}).get("examples")
    if not isinstance(number, int):
        return title
    known = TASKS.get(str(task))
    noun = "pair" if known is not None and len(known.columns) == 2 else "input"
    if task:
        return f"{title} on {plural(number, f'{task} {noun}')}"
    return f"{title} on {plural(number, noun)}" + (f" of {data}" if data else "")


def all_notes(labelling: Labelling) -> tuple[list[str], list[str]]:
    """Return what must be known of a run, and what was left out, each once; where it stopped stands first."""
    assessed, stop = labelling.assessment, stop_sentences(labelling.manifest)[1:]
    warnings = [*stop, *labelling.manifest.get("notes", ()), *(assessed.remarks if assessed else ())]
    return list(dict.fromkeys(warnings)), [note for note in labelling.skipped if note not in warnings]


def describe_run(run: Mapping[str, Any]) -> str:
    """Return folder, model and inputs of a run, as far as its manifest names them."""
    model, source = run.get("model", {}).get("name"), run.get("source", {}).get("name")
    parts = [f"model {model}" if model else "", str(run.get("task") or ""), str(source or "")]
    return ", ".join([str(run["folder"]), *(part for part in parts if part)])


def describe_test(decision: Decision, preset: str | None, rules: Sequence[Rule] = ()) -> str:
    """Return test, correction and family, with interval, resamples and seed where they matter.

    Example:
        >>> describe_test(Decision(test="sign-flip", correction="maxT"), "calibrated").split("; ")[1]
        '10,000 resamples, seed 0'
    """
    over = FAMILIES.get(decision.family, decision.family) + BOTH * any(rule.together for rule in rules)
    text = f"{decision.test}, {decision.correction} over {over}, alpha {decision.alpha:g}"
    text += f", preset {preset}" if preset else ""
    if decision.interval != "test":
        text += f", interval {decision.interval}"
    if words.uses_resamples(decision):
        text += f"; {decision.resamples:,} resamples, seed {decision.seed}"
    return text
