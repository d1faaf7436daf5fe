"""Show a labelling in the terminal: the answer, counts, strongest heads; also tasks and plans."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.reports.answer.label import answer_of
from headroles.reports.records import Summary
from headroles.reports.sections.role_sheets import roles_sheet
from headroles.reports.sheets import ENDS
from headroles.reports.summary.summary import summarise
from headroles.terminal.console import (
    SHORT,
    Detail,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)
from headroles.terminal.facts import all_notes, describe_test, title_of
from headroles.terminal.roles import show_counts, show_grid, support_lines, verdict_lines

if TYPE_CHECKING:
    pass

WIDE = 100
"""Width of the terminal from which columns stand two spaces apart."""


def show_labelling(console: Console, labelling: Labelling, folder: str, detail: Detail = SHORT) -> None:
    """Print the answer, counts with the strongest heads, the grid on request, notes, and the report.

    Args:
        console: Of any width.
        labelling: Any run whose sieves can be roles.
        folder: Folder of the run, for the last line.
        detail: How much is printed.
    """
    summary = summarise(labelling)
    answer = answer_of(summary)
    show_title(console, title_of(labelling))
    if detail.verbose:
        show_run_facts(console, labelling)
    console.print()
    show_sentences(console, answer.sentences)
    if summary.roles:
        show_roles(console, summary, detail)
    console.print()
    show_notes(console, *all_notes(labelling))
    show_report(console, folder)


def show_roles(console: Console, summary: Summary, detail: Detail) -> None:
    """Print counts of all roles, and what else is asked for of them."""
    console.print()
    show_counts(console, summary)
    if detail.grid:
        console.print()
        show_grid(console, summary)
    if detail.verbose:
        console.print()
        console.print(_counts(summary, 2 if console.width >= WIDE else 1))
        for name, words in (*verdict_lines(summary), *support_lines(summary.supports, summary.assessment)):
            named_line(console, name, words, style="dim")


def show_run_facts(console: Console, labelling: Labelling) -> None:
    """Print model, inputs, parser and test of a run."""
    facts, parser = labelling.manifest, labelling.manifest.get("parser")
    show_account(console, facts)
    if parser:
        console.print(Text(f"parser  {parser['name']} {parser.get('version', '')}".rstrip()))
    elif facts.get("source", {}).get("trees") == "gold":
        console.print(Text("parser  none: the file's gold trees"))
    named_line(console, "tested", describe_test(labelling.decision, facts.get("preset")))


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
