"""A labelling in the terminal: a grid of role letters, counts, the strongest head of each role."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.catalogue import Entry
from headroles.records import DECISIONS, Labelling
from headroles.tasks import Task

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


def letters(roles: Sequence[str]) -> dict[str, str]:
    """One letter per role: the usual ones, and a spare one for each other role.

    Example:
        >>> letters(["local", "punctuation"])
        {'local': 'L', 'punctuation': 'P'}
    """
    chosen: dict[str, str] = {name: LETTERS[name] for name in roles if name in LETTERS}
    for name in roles:
        if name not in chosen:
            wanted = [*name.split(":")[-1].upper(), *SPARE]
            chosen[name] = next((each for each in wanted if each not in chosen.values()), "*")
    return {name: chosen[name] for name in roles}


def show_labelling(console: Console, labelling: Labelling, folder: str) -> None:
    """Print what was run, the grid, the counts, and where the report is."""
    facts, decision = labelling.manifest, labelling.decision
    model, source, counts = facts["model"], facts["source"], facts["counts"]
    parser = facts.get("parser")
    console.print(Text(f"model   {model['name']} ({model['architecture']}), from {model['origin']}"))
    console.print(Text(f"inputs  {_inputs(facts)}: {counts['examples']} examples, {counts['units']} units"))
    if parser:
        console.print(Text(f"parser  {parser['name']} {parser['version']}"))
    elif source.get("trees") == "gold":
        console.print(Text("parser  none: the file's gold trees"))
    family = "the heads of one sieve" if decision.family == "sieve" else "all heads and sieves of the run"
    console.print(
        Text(
            f"tested  {decision.test}, {decision.correction} over {family}, alpha {decision.alpha:g}, "
            f"preset {facts['preset']}"
        )
    )
    for note in facts.get("notes", []):
        console.print(Text(f"note    {note}", style="yellow"))
    console.print()
    console.print(_grid(labelling))
    console.print()
    console.print(_counts(labelling))
    for line in labelling.skipped:
        console.print(Text(f"note    {line}"))
    console.print(Text(f"report  {folder}/report.html"))


def _inputs(facts: Mapping[str, Any]) -> str:
    source, task = facts["source"], facts.get("task")
    where = {"sample": "samples written for headroles", "hub": f"the dataset {source['name']}"}
    told = where.get(source["kind"], f"the file {source['name']}")
    return f"{task}, {told}" if task else told


def _grid(labelling: Labelling) -> Text:
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
    text.append("  ".join(f"{mark} {name}" for name, mark in marks.items()))
    return text


def _counts(labelling: Labelling) -> Table:
    """Per role how many heads are, are not, or are undecided, and the strongest."""
    found = labelling.findings
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("role")
    for name in DECISIONS:
        table.add_column(name, justify="right")
    table.add_column("strongest head")
    for name in found.roles:
        row = found.of(name)
        codes = found.decision[row]
        counts = [str(int((codes == code).sum())) for code in range(len(DECISIONS))]
        table.add_row(Text(name), *counts, Text(_strongest(labelling, row)))
    return table


def _strongest(labelling: Labelling, row: int) -> str:
    found = labelling.findings
    held = np.where(found.decision[row] == 0, found.mean[row], -np.inf)
    if not np.isfinite(held).any():
        return "none"
    layer, head = np.unravel_index(int(held.argmax()), held.shape)
    at = (row, int(layer), int(head))
    told = f"{layer}-{head}  {found.mean[at]:.2f} [{found.low[at]:.2f}, {found.high[at]:.2f}]"
    matched = found.rules[row].contrast
    if matched:
        told += f"  contrast {found.mean[(found.of(matched), *at[1:])]:.2f}"
    return told


def show_sieves(console: Console, entries: Sequence[Entry]) -> None:
    """Print every sieve with its question, source and origin."""
    for entry in entries:
        console.print(Text(entry.name, style="bold"))
        if entry.error:
            console.print(Text(f"  broken: {entry.error}", style="red"))
        else:
            console.print(Text(f"  {entry.question}"))
            console.print(Text(f"  source: {entry.source}; from {entry.origin}", style="dim"))
    console.print(
        Text("also: syntactic:RELATION (any dependency relation), local:N (window of N), file.py:name")
    )


def show_tasks(console: Console, tasks: Sequence[Task]) -> None:
    """Print every task with what its inputs are."""
    for task in tasks:
        columns = ", ".join(task.columns)
        console.print(Text(f"{task.name:<6} {task.question}; columns {columns}; hub {task.config}"))
