"""What commands print besides results: sieves, the cells that they count, tasks, plans, what was verified."""

import math
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.catalogue import Entry
from headroles.options.probe import SAMPLE
from headroles.records.numbers import plural
from headroles.records.rules.rule import FAMILIES
from headroles.records.table import Cell, Sheet
from headroles.reports.console import terminal_table
from headroles.reports.kinds.terminal_roles import bar_of
from headroles.reports.pictures import shorten
from headroles.reports.sieve_picture import describe_cells
from headroles.reports.words import visible_pieces
from headroles.showing import ShownSieve, key_line
from headroles.tasks import TASKS

if TYPE_CHECKING:
    from headroles.planning import Study
    from headroles.shards.verify import Verified
    from headroles.stats.oracles.recompute import Check

ENDING = (
    "--sieve takes names of sieves, of sets, and of families with a parameter; also path/to/file.py:name."
)
ASKED, BEYOND = "Does the head ", (", beyond what distance gives?", ", beyond what position gives?")
"""Beginning of most questions, which the heading has, and endings that repeat the column contrast."""
WIDE = 130
"""Width of a console from which the list has a column of sources."""
LONGEST, MOST = 14, 40
"""Longest token next to a grid, in letters, and largest number of tokens in a grid."""
KEYS, QUERIES = 8, 60
"""Most keys and queries of the list that stands for a grid that is too large."""
SHADES = ((0.75, "██"), (0.4, "▓▓"), (0.0, "▒▒"))
"""Blocks by the share of the largest weight."""
STEPWISE = ("holm", "holm-sidak", "maxT")
"""Corrections that demand less of a head for every other head with the role."""
NONE = Cell("", math.nan)
"""Where a sieve has no contrast."""
LINE, POWER_CELLS = 70, 40
"""Letters of a line of a plan, and width of a bar of power."""


def show_sieves(console: Console, entries: Sequence[Entry]) -> None:
    """Print sieves, one on each row; their sources only in a console of ``WIDE`` columns."""
    sound = [entry for entry in entries if not entry.error]
    more = {
        "source": [entry.source for entry in sound] if console.width >= WIDE else [],
        "from": [entry.origin for entry in sound]
        if {entry.origin for entry in sound} - {"headroles"}
        else [],
    }
    more = {heading: column for heading, column in more.items() if column}
    rows = []
    for entry, *others in zip(sound, *more.values(), strict=True):
        question = entry.question.removeprefix(ASKED)
        for ending in BEYOND:
            question = question.replace(ending, "?")
        contrast = (
            Cell("", math.nan) if entry.contrast is None else Cell(f"{entry.contrast:g}", entry.contrast)
        )
        rows.append(
            (
                entry.name,
                _set(entry),
                " ".join(entry.needs),
                contrast,
                question,
                *others,
            )
        )
    if sound:
        sheet = _sheet(("sieve", "set", "needs", "contrast", f"{ASKED.strip().lower()} …", *more), rows)
        table = terminal_table(sheet, strong="")
        for column, style in zip(table.columns, ("bold", "", "", "", "", "dim", "dim"), strict=False):
            column.style = style
        for column in table.columns[:4]:
            column.no_wrap = True
        console.print(table)
    for entry in entries:
        if entry.error:
            console.print(Text(f"{entry.name}  broken: {entry.error}", style="red"))
    console.print(Text(ENDING))


def _sheet(header: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> Sheet:
    """Return words and cells as a table."""
    lines = (tuple(Cell(cell, cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
    return Sheet("", tuple(header), tuple(lines))


def _set(entry: Entry) -> str:
    """Return the set that a sieve belongs to, or "family" or "group"."""
    return "default" if entry.default else entry.kind if entry.kind in ("family", "group") else entry.group


def show_sieve_facts(console: Console, entry: Entry) -> None:
    """Print all facts of one sieve, a fact on each line."""
    bounds = {"low": entry.low, "high": entry.high}
    kinds = {"mask": "a mask: cells that count", "scorer": "a scorer: computes from attention"}
    facts = {
        "question": entry.question,
        "broken": entry.error,
        "set": _set(entry),
        "kind": kinds.get(entry.kind),
        "needs": ", ".join(entry.needs),
        "margin": None if entry.margin is None else f"{entry.margin:g} beyond chance",
        "contrast": None
        if entry.contrast is None
        else f"{entry.contrast:g} beyond the head's own distance profile",
        "bounds": ", ".join(f"{name} {bound:g}" for name, bound in bounds.items() if bound is not None),
        "as in": entry.example,
        "source": entry.source,
        "from": entry.origin,
    }
    console.print(Text(entry.name, style="bold"))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    for name, value in facts.items():
        if value:
            table.add_row(Text(name), Text(value, style="red" if name == "broken" else ""))
    console.print(table)


def show_cells(console: Console, shown: ShownSieve) -> None:
    """Print what a sieve counts on a text: a grid of queries and keys, or a list where it does not fit."""
    cells = shown.cells
    title, sentences = describe_cells(cells)
    console.print(Text(title, style="bold"))
    if cells.question:
        console.print(Text(cells.question))
    if cells.counted.any():
        pieces = [shorten(piece, LONGEST) for piece in visible_pieces(cells.example)]
        label = max(Text(piece).cell_len for piece in pieces)
        if len(pieces) <= MOST and 2 * len(pieces) + label + 4 <= console.width:
            drawn = _grid(shown, pieces, label)
        else:
            asking = np.flatnonzero(cells.asking)
            lines = [key_line(cells, query, KEYS) for query in asking[:QUERIES].tolist()]
            more = [f"… {len(asking) - QUERIES} more queries"] if len(asking) > QUERIES else []
            drawn = Text("\n".join([*lines, *more]))
        console.print("", drawn, "", sep="\n")
    for sentence in sentences:
        console.print(Text(sentence, style="dim"))


def _grid(shown: ShownSieve, pieces: Sequence[str], label: int) -> Text:
    """Return queries as rows and keys as columns, with their numbers above and a legend below."""
    cells, text, keys = shown.cells, Text(no_wrap=True), range(len(pieces))
    most = float(cells.weight[cells.counted].max())
    tens = "".join(f"{key // 10 or '':>2}" for key in keys)
    ones = "".join(f"{key % 10:>2}" for key in keys) + "  key"
    for line in [tens, ones] if len(pieces) > 10 else [ones]:
        text.append(" " * (label + 4) + line + "\n", style="dim")
    for query, piece in enumerate(pieces):
        tone = "" if cells.asking[query] else "dim"
        text.append(f"{query:>2} " + " " * (label - Text(piece).cell_len) + piece + " ", style=tone)
        for key in keys:
            if cells.counted[query, key]:
                share = float(cells.weight[query, key]) / most
                text.append(next(block for least, block in SHADES if share >= least), style="blue")
            else:
                text.append(" ·" if cells.compared[query, key] else "  ", style="dim")
        text.append("\n")
    return text.append("██ counted (▓▓ ▒▒ with less weight)   · compared within", style="dim")


def show_tasks(console: Console) -> None:
    """Print every task with its question, columns and name on the hub, and the shipped trees."""
    for task in TASKS.values():
        columns = ", ".join(task.columns)
        console.print(Text(f"{task.name:<6} {task.question}; columns {columns}; hub {task.config}"))
    console.print(Text(f"{'EWT':<6} 160 gold trees of {SAMPLE}; headroles probe reads them without --data"))


def show_plan(console: Console, study: "Study") -> None:
    """Print how many examples to collect, the assumptions, and the power of other numbers."""
    for name, words in _plan_lines(study):
        for number, line in enumerate(wrap(words, LINE)):
            console.print(Text(f"{'' if number else name:<9} {line}", style="bold" * (name == "collect")))
    curve = []
    for examples, power in study.curve:
        bar = bar_of(power, POWER_CELLS) + "  enough" * (examples == study.examples)
        curve.append((Cell(f"{examples:,}", examples), Cell(f"{power:.3f}", power), bar))
    sheet = _sheet(("examples", "power", ""), curve)
    table = terminal_table(sheet, strong=f"{study.examples:,}")
    table.columns[0].justify = "right"
    console.print("", table, "", sep="\n")
    effects = [Cell(f"{effect:.2f}", effect) for _, effect in study.detectable]
    header = ("examples", *(f"{examples:,}" for examples, _ in study.detectable))
    sheet = _sheet(header, [(f"smallest effect with power {study.power:g}", *effects)])
    console.print(terminal_table(sheet, strong=""))


def _plan_lines(study: "Study") -> list[tuple[str, str]]:
    """Return name and text of each line of a plan."""
    case, other = study.case, study.orientation
    assumed = f"{study.correction} over {FAMILIES[study.family]} at alpha {study.alpha:g}"
    if study.correction == "none":
        assumed = f"no correction, alpha {study.alpha:g} for every head"
    if study.correction in STEPWISE:
        assumed += "; less is needed where other heads are found, too"
    if case.share is not None:
        assumed += f", if a share of {case.share:g} of them come out as roles"
    if other is not None:
        assumed += ", if this head alone holds the role (the cautious case)"
    lines = {
        "collect": f"{case.examples:,} inputs find a head whose mean lies {study.effect:g} SD above the "
        f"threshold, with probability {study.power:g}",
        "both": f"{study.joint.examples:,} inputs for roles with a second test (block, syntactic)",
        "cut": f"p ≤ {case.cut:.3g} = {case.words}: {assumed}",
    }
    if other is not None:
        lines["or"] = (
            f"{other.examples:,} inputs at p ≤ {other.cut:.3g} = {other.words}, if one head in "
            f"ten holds it (--share {other.share:g})"
        )
    lines["effect"] = (
        "(mean − threshold) / SD over units, the column effect of findings.csv; the threshold is "
        "chance plus the margin"
    )
    lines["unit"] = "an example, or the group where examples come from groups (such as documents)"
    return [*lines.items(), *(("note", note) for note in study.notes)]


def show_checks(console: Console, checks: Sequence["Check"]) -> None:
    """Print what other libraries recomputed, and what was not recomputed and why."""
    rows = [
        (
            check.quantity,
            check.oracle,
            Cell(f"{check.compared:,}", check.compared),
            Cell(f"{check.difference:.1e}" + " !" * (not check.fits), check.difference),
            Cell(f"{check.tolerance:g}", check.tolerance),
        )
        for check in checks
        if not check.reason
    ]
    header = ("quantity", "oracle", "compared", "largest difference", "at most")
    console.print(terminal_table(_sheet(header, rows), strong=""))
    console.print(Text("differences are absolute, of numbers beyond 1 relative"))
    for check in checks:
        if check.reason:
            console.print(Text(f"not recomputed: {check.quantity} ({check.reason})"))


def show_verified(console: Console, verified: "Verified", folder: str) -> None:
    """Print the counts of what was checked of the run of a folder and found right."""
    console.print(Text(f"files     {verified.files}: every SHA-256 is that of the manifest"))
    if verified.shards:
        examples = plural(verified.examples, "example")
        console.print(Text(f"shards    {verified.shards}: all there, {examples}"))
    console.print(Text(f"findings  {verified.findings}: as the stored scores give them, up to rounding"))
    console.print(Text(f"{folder} is whole"))
