"""Show a labelling in the terminal: role letters, counts, strongest heads; also tasks and plans."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.reports.records import Summary
from headroles.reports.sections.role_sheets import roles_sheet
from headroles.reports.sheets import ENDS
from headroles.reports.summary.summary import summarise
from headroles.reports.words.words import plural
from headroles.tasks import Task
from headroles.terminal.phrases import SPACE, describe_test, plan_lines, support_lines, verdict_lines
from headroles.terminal.sheets import terminal_table

if TYPE_CHECKING:
    from headroles.planning import Study

WIDE = 100
"""Width of the terminal from which columns stand two spaces apart."""


def show_labelling(console: Console, labelling: Labelling, folder: str) -> None:
    """Print the run, the grid of roles, the counts, and the path of the report."""
    facts, parser = labelling.manifest, labelling.manifest.get("parser")
    show_account(console, facts)
    if parser:
        console.print(Text(f"parser  {parser['name']} {parser.get('version', '')}".rstrip()))
    elif facts.get("source", {}).get("trees") == "gold":
        console.print(Text("parser  none: the file's gold trees"))
    named_line(console, "tested", describe_test(labelling.decision, facts.get("preset")))
    assessed = labelling.assessment
    for note in (*facts.get("notes", ()), *(assessed.remarks if assessed else ())):
        named_line(console, "note", note, style="yellow")
    console.print()
    summary = summarise(labelling)
    console.print(_grid(summary, console.width))
    console.print()
    console.print(_counts(summary, 2 if console.width >= WIDE else 1))
    for name, words in (*verdict_lines(summary), *support_lines(summary.supports, assessed)):
        named_line(console, name, words, style="dim")
    for note in labelling.skipped:
        named_line(console, "note", note)
    console.print(Text(f"report  {folder}/report.html"))


def named_line(console: Console, name: str, words: str, style: str = "") -> None:
    """Print a named line; break it between words on a terminal, and keep it whole for other programs."""
    width = console.width - 8 if console.is_terminal and console.width > 40 else len(words) + 1
    for number_of_line, line in enumerate(wrap(words, width, break_long_words=False, break_on_hyphens=False)):
        console.print(Text(f"{'' if number_of_line else name:<8}{line}", style=style))


def show_account(console: Console, facts: Mapping[str, Any], more: str = "") -> None:
    """Print model and inputs of a run as far as its manifest names them; maps from anywhere name few facts.

    Args:
        console: Of any width.
        facts: The manifest of the run.
        more: Words after the inputs.
    """
    model, counts = facts.get("model", {}), facts.get("counts", {})
    kind = f" ({model['architecture']})" if model.get("architecture") else ""
    origin = f", from {model['origin']}" if model.get("origin") else ""
    console.print(Text(f"model   {model.get('name') or 'unknown'}{kind}{origin}"))
    sizes = [plural(counts[f"{noun}s"], noun) for noun in ("example", "unit") if f"{noun}s" in counts]
    parts = [_inputs_text(facts), ", ".join(sizes)]
    console.print(Text(f"inputs  {': '.join(filter(None, parts))}{more}"))


def _inputs_text(facts: Mapping[str, Any]) -> str:
    """Return task and source of a run, as its manifest names them; "" where it names neither."""
    source, task = facts.get("source", {}), facts.get("task")
    named = source.get("name")
    names = {"sample": "samples written for headroles", "hub": f"the dataset {named}"}
    name = names.get(source.get("kind", ""), f"the file {named}" if named else "")
    return ", ".join(str(part) for part in (task, name) if part)


def _grid(summary: Summary, columns: int) -> Text:
    """Return a grid of role letters with layers as rows and heads as columns."""
    marks = {role.sieve: role.code for role in summary.roles}
    layers, heads = summary.table.layers, summary.table.heads
    cells = [["" for _ in range(heads)] for _ in range(layers)]
    for role, held in zip(summary.roles, summary.held, strict=True):
        for layer, head in np.argwhere(held):
            cells[layer][head] += marks[role.sieve]
    width = max(2, *(len(cell) for row in cells for cell in row)) + 1
    text = Text()
    text.append("layer" + "".join(f"{head:>{width}}" for head in range(heads)) + "  head\n", style="dim")
    for layer, row in enumerate(cells):
        text.append(f"{layer:>5}", style="dim")
        text.append("".join(f"{cell or '·':>{width}}" for cell in row) + "\n")
    legend = "  ".join(f"{mark}{SPACE}{name}" for name, mark in marks.items())
    return text.append("\n".join(wrap(legend, max(columns, 20))).replace(SPACE, " "))


def _counts(summary: Summary, gap: int) -> Table:
    """Return a table per role: heads by decision, the strongest one, stable labels; ``gap`` spaces apart."""
    sheet = roles_sheet(summary, brief=True)
    untestable = any(role.tally.untestable for role in summary.roles)
    headings = {
        "heads": "role", "explained": "ex-\nplained", "not": "not",
        "undetermined": "unde-\nter-\nmined",
        **({"untestable": "untest-\nable"} if untestable else {}), "stable labels": "stable",
        "strongest head": "strongest\nhead", f"its mean {ENDS}": f"mean {ENDS}", "contrast": "con-\ntrast",
    }  # fmt: skip
    return terminal_table(sheet.pick(headings), gap=gap)


def show_tasks(console: Console, tasks: Sequence[Task]) -> None:
    """Print every task with its question, columns and name on the hub."""
    for task in tasks:
        columns = ", ".join(task.columns)
        console.print(Text(f"{task.name:<6} {task.question}; columns {columns}; hub {task.config}"))


def show_plan(console: Console, study: "Study") -> None:
    """Print how many examples to collect, the assumptions, and the power of other numbers."""
    for name, words in plan_lines(study):
        lines = wrap(words, 70)
        for number_of_line, line in enumerate(lines):
            console.print(
                Text(f"{'' if number_of_line else name:<9} {line}", style="bold" * (name == "collect"))
            )
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
    """Return a bar of block characters, exact to an eighth of a cell."""
    eighths = round(share * cells * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
