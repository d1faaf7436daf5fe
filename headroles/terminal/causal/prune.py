"""Show a pruned model in the terminal: what was certified, the removed heads, sets of heads, and notes."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.records.causal.pruning import PruneStep, Pruning
from headroles.records.causal.statement import amount, statements
from headroles.records.numbers import plural
from headroles.storage.causal.pruning import certificate
from headroles.storage.folder import PRUNED_MODEL
from headroles.terminal.console import SHORT, Detail, named_line, show_notes, show_report, show_title

COLUMNS = ("heads", "units", "mean", "95 % interval", "at most", "p", "decision")


def title_of(pruning: Pruning) -> str:
    """Return how many heads of which model are removed."""
    name = str(pruning.manifest.get("model", {}).get("name") or "").replace("\\", "/").rstrip("/")
    of = f" of {name.rpartition('/')[2]}" if name else ""
    return f"{int(pruning.removed.sum())} of {plural(pruning.removed.size, 'head')}{of} removed"


def show_pruning(console: Console, pruning: Pruning, folder: str, detail: Detail = SHORT) -> None:
    """Print the certificate, the removed heads by layer, and where model and report are.

    Args:
        console: Of any width.
        pruning: The pruning.
        folder: Its folder, for the last lines; "" where nothing was written.
        detail: With ``verbose``, every set of heads that was measured.
    """
    show_title(console, title_of(pruning))
    for sentence in statements(pruning):
        named_line(console, "", sentence)
    for layer, heads in pruning.heads.items():
        named_line(console, f"layer {layer}", ", ".join(map(str, heads)))
    if detail.verbose:
        console.print(_table(pruning))
    show_notes(console, (), pruning.remarks, brief=not detail.verbose)
    if folder:
        if pruning.removed.any():
            named_line(console, "model", f"{folder.rstrip('/')}/{PRUNED_MODEL}")
        show_report(console, folder)


def _table(pruning: Pruning) -> Table:
    """Return all sets of heads as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "decision" else "right")
    for step in pruning.steps:
        style = "bold" if step is pruning.certified else ""
        table.add_row(*map(Text, _cells(pruning, step)), style=style)
    return table


def _cells(pruning: Pruning, step: PruneStep) -> list[str]:
    ends = f"[{amount(pruning, step.low)}, {amount(pruning, step.high)}]"
    numbers = [amount(pruning, step.mean), ends, amount(pruning, step.upper), f"{step.p:.2g}"]
    return [str(step.size), str(step.count), *numbers, step.decision]


def pruning_facts(pruning: Pruning) -> dict[str, Any]:
    """Return the certificate, the removed heads and all sets in JSON types; NaN is null."""
    return {
        "kind": "pruning",
        "title": title_of(pruning),
        **certificate(pruning),
        "removed": {str(layer): heads for layer, heads in pruning.heads.items()},
        "steps": [
            {name: None if value != value else value for name, value in asdict(step).items()}
            for step in pruning.steps
        ],
    }
