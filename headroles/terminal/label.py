"""A labelling in the terminal: a grid of role letters, counts, the strongest head of each role."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.catalogue import Entry
from headroles.records.findings import DECISIONS, Labelling
from headroles.reports.records import Support
from headroles.reports.summary.verdicts import supports
from headroles.reports.words.words import plural
from headroles.tasks import Task
from headroles.terminal.phrases import SPACE, how_tested, plan_lines, support_lines

if TYPE_CHECKING:
    from headroles.planning import Study

LETTERS = {
    "local": "L",
    "delimiter": "D",
    "delimiter:cls": "c",
    "delimiter:sep": "s",
    "block": "B",
    "syntactic": "Y",
    "syntactic:nsubj": "n",
    "syntactic:obj": "o",
    "syntactic:amod": "a",
    "syntactic:advmod": "v",
}
SPARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789"
"""Marks of other roles: letters and digits, since signs read as something else; no 0, which reads as O."""


def letters(roles: Sequence[str]) -> dict[str, str]:
    """One letter or digit per role: the usual ones, for others one of their names, or a spare one.

    Example:
        >>> letters(["local", "punctuation:,.", "offset:-2", "offset:+2"])
        {'local': 'L', 'punctuation:,.': 'P', 'offset:-2': '2', 'offset:+2': 'O'}
    """
    chosen: dict[str, str] = {name: LETTERS[name] for name in roles if name in LETTERS}
    for name in roles:
        if name not in chosen:
            wanted = name.split(":")[-1].upper() + name.upper() + SPARE
            free = (each for each in wanted if each in SPARE and each not in chosen.values())
            chosen[name] = next(free, "*")
    return {name: chosen[name] for name in roles}


def show_labelling(console: Console, labelling: Labelling, folder: str) -> None:
    """Print what was run, the grid, the counts, and where the report is."""
    facts, decision = labelling.manifest, labelling.decision
    model, source, counts = facts["model"], facts["source"], facts["counts"]
    parser = facts.get("parser")
    console.print(Text(f"model   {model['name']} ({model['architecture']}), from {model['origin']}"))
    told = [plural(counts[f"{noun}s"], noun) for noun in ("example", "unit") if f"{noun}s" in counts]
    console.print(Text(f"inputs  {inputs_told(facts)}: {', '.join(told)}"))
    if parser:
        console.print(Text(f"parser  {parser['name']} {parser['version']}"))
    elif source.get("trees") == "gold":
        console.print(Text("parser  none: the file's gold trees"))
    named_line(console, "tested", how_tested(decision, facts["preset"]))
    assessed = labelling.assessment
    for note in (*facts.get("notes", ()), *(assessed.remarks if assessed else ())):
        named_line(console, "note", note, style="yellow")
    console.print()
    console.print(_grid(labelling, console.width))
    console.print()
    held = supports(labelling)
    console.print(_counts(labelling, held))
    for name, words in support_lines(held, assessed):
        named_line(console, name, words, style="dim")
    for note in labelling.skipped:
        named_line(console, "note", note)
    console.print(Text(f"report  {folder}/report.html"))


def named_line(console: Console, name: str, words: str, style: str = "") -> None:
    """A named line; on a terminal it is broken between words, elsewhere left whole for other programs."""
    width = console.width - 8 if console.is_terminal and console.width > 40 else len(words) + 1
    for place, line in enumerate(wrap(words, width, break_long_words=False, break_on_hyphens=False)):
        console.print(Text(f"{'' if place else name:<8}{line}", style=style))


def inputs_told(facts: Mapping[str, Any]) -> str:
    """Task and source of a run, as its manifest names them."""
    source, task = facts["source"], facts.get("task")
    where = {"sample": "samples written for headroles", "hub": f"the dataset {source['name']}"}
    told = where.get(source["kind"], f"the file {source['name']}")
    return f"{task}, {told}" if task else told


def _grid(labelling: Labelling, columns: int) -> Text:
    """Layers as rows, heads as columns, each cell its role letters."""
    found = labelling.findings
    marks = letters(found.roles)
    layers, heads = labelling.scores.layers, labelling.scores.heads
    cells = [["" for _ in range(heads)] for _ in range(layers)]
    for name in found.roles:
        for layer, head in np.argwhere(found.decision[found.of(name)] == 0):
            cells[layer][head] += marks[name]
    width = max(2, *(len(cell) for row in cells for cell in row)) + 1
    text = Text()
    text.append("layer" + "".join(f"{head:>{width}}" for head in range(heads)) + "  head\n", style="dim")
    for layer, row in enumerate(cells):
        text.append(f"{layer:>5}", style="dim")
        text.append("".join(f"{cell or '·':>{width}}" for cell in row) + "\n")
    legend = "  ".join(f"{mark}{SPACE}{name}" for name, mark in marks.items())
    return text.append("\n".join(wrap(legend, max(columns, 20))).replace(SPACE, " "))


def _counts(labelling: Labelling, held: Sequence[Support]) -> Table:
    """Per role how many heads are, are not, or are undecided, how firm that is, and the strongest."""
    found = labelling.findings
    firm = {name: each for name, each in zip(found.roles, held, strict=False) if each.steady is not None}
    contrasted = any(rule.contrast for rule in found.rules)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("role")
    for name in ("role", "not", "undeter-\nmined", *(["stable"] if firm else [])):
        table.add_column(name, justify="right")
    for name in ("strongest head", *(["contrast"] if contrasted else [])):
        table.add_column(name)
    for name in found.roles:
        row = found.of(name)
        counts = [int((found.decision[row] == code).sum()) for code in range(len(DECISIONS))]
        steady = f"{firm[name].steady}/{firm[name].labels}" if name in firm and counts[0] else "–"
        head, contrast = _strongest(labelling, row)
        if counts[3]:
            head = f"{head}, {counts[3]} untestable" if not counts[0] else f"{head}\n{counts[3]} untestable"
        cells = [
            *map(str, counts[:3]),
            *([steady] if firm else []),
            head,
            *([contrast] if contrasted else []),
        ]
        table.add_row(Text(name), *map(Text, cells))
    return table


def _strongest(labelling: Labelling, row: int) -> tuple[str, str]:
    """The head with the largest mean among those with the role, and its contrast."""
    found = labelling.findings
    held = np.where(found.decision[row] == 0, found.mean[row], -np.inf)
    if not np.isfinite(held).any():
        return "none", ""
    layer, head = np.unravel_index(int(held.argmax()), held.shape)
    at = (row, int(layer), int(head))
    told = f"{layer}-{head}  {found.mean[at]:.2f} [{found.low[at]:.2f}, {found.high[at]:.2f}]"
    matched = found.rules[row].contrast
    return told, f"{found.mean[(found.of(matched), *at[1:])]:.2f}" if matched else ""


def show_sieves(console: Console, entries: Sequence[Entry]) -> None:
    """Print every sieve with its question, source and origin."""
    for entry in entries:
        console.print(Text(entry.name, style="bold"))
        if entry.error:
            console.print(Text(f"  broken: {entry.error}", style="red"))
        else:
            console.print(Text(f"  {entry.question}"))
            group = f"; in the group {entry.group}" if entry.group else ""
            console.print(Text(f"  source: {entry.source}; from {entry.origin}{group}", style="dim"))
    console.print(
        Text(
            "also: syntactic:RELATION (any dependency relation), local:N (window of N), offset:K (K tokens "
            "on), punctuation:MARKS (these marks, or all), file.py:name"
        )
    )
    for group in sorted({entry.group for entry in entries if entry.group}):
        names = ", ".join(entry.name for entry in entries if entry.group == group)
        console.print(Text(f"{group}: all of {names}"))


def show_tasks(console: Console, tasks: Sequence[Task]) -> None:
    """Print every task with what its inputs are."""
    for task in tasks:
        columns = ", ".join(task.columns)
        console.print(Text(f"{task.name:<6} {task.question}; columns {columns}; hub {task.config}"))


def show_plan(console: Console, study: "Study") -> None:
    """Print how many examples to collect, what that assumes, and what other numbers would find."""
    for name, words in plan_lines(study):
        lines = wrap(words, 70)
        for place, line in enumerate(lines):
            console.print(Text(f"{'' if place else name:<9} {line}", style="bold" * (name == "collect")))
    console.print()
    curve = Table(box=None, pad_edge=False, header_style="dim")
    curve.add_column("examples", justify="right")
    curve.add_column("power", justify="right")
    curve.add_column("")
    for examples, power in study.curve:
        enough = examples == study.examples
        bar = Text(_bar(power) + "  enough" * enough)
        curve.add_row(f"{examples:,}", f"{power:.3f}", bar, style="bold" * enough)
    console.print(curve)
    console.print()
    smallest = Table(box=None, pad_edge=False, header_style="dim")
    smallest.add_column("examples")
    for examples, _ in study.detectable:
        smallest.add_column(f"{examples:,}", justify="right")
    effects = [f"{effect:.2f}" for _, effect in study.detectable]
    smallest.add_row(f"smallest effect with power {study.power:g}", *effects)
    console.print(smallest)


def _bar(share: float, cells: int = 40) -> str:
    """A bar of block characters, to an eighth of a cell."""
    eighths = round(share * cells * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
