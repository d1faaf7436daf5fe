"""Show sieves in the terminal: a list, the facts of one sieve, and the cells that it counts on a text."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headroles.catalogue import Entry
from headroles.reports.views.sieve_svg import describe_cells
from headroles.reports.views.units import shorten
from headroles.reports.words.words import visible_pieces
from headroles.showing import ShownSieve, key_line

OURS = "headroles"
"""Origin of built-in sieves."""
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


def show_sieves(console: Console, entries: Sequence[Entry]) -> None:
    """Print sieves as a table, a sieve on each row: set, annotation, contrast, question, source and origin.

    Args:
        console: Of any width; sources are shown from ``WIDE`` on.
        entries: From ``headroles.catalogue.entries``.
    """
    sound = [entry for entry in entries if not entry.error]
    more = {
        "source": [entry.source for entry in sound] if console.width >= WIDE else [],
        "from": [entry.origin for entry in sound] if {entry.origin for entry in sound} - {OURS} else [],
    }
    shown = {heading: column for heading, column in more.items() if column}
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("sieve", "set", "needs", "contrast"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "contrast" else "left")
    for heading in (f"{ASKED.strip().lower()} …", *shown):
        table.add_column(heading)
    for entry, *others in zip(sound, *shown.values(), strict=True):
        table.add_row(
            Text(entry.name, style="bold"),
            Text(_set(entry)),
            Text(" ".join(entry.needs)),
            Text("" if entry.contrast is None else f"{entry.contrast:g}"),
            Text(_question(entry.question)),
            *(Text(other, style="dim") for other in others),
        )
    if sound:
        console.print(table)
    for entry in entries:
        if entry.error:
            console.print(Text(f"{entry.name}  broken: {entry.error}", style="red"))
    console.print(Text(ENDING))


def _set(entry: Entry) -> str:
    """Return the set that a sieve belongs to, or "family" or "group"."""
    if entry.default:
        return "default"
    return entry.kind if entry.kind in ("family", "group") else entry.group


def _question(question: str) -> str:
    """Return a question as it stands under the heading: without its usual beginning and the contrast's words.

    Example:
        >>> _question("Does the head look at the next token?"), _question("Why?")
        ('look at the next token?', 'Why?')
    """
    short = question.removeprefix(ASKED)
    for ending in BEYOND:
        short = short.replace(ending, "?")
    return short


def show_sieve_facts(console: Console, entry: Entry) -> None:
    """Print all facts of one sieve, a fact on each line."""
    margin = None if entry.margin is None else f"{entry.margin:g} beyond chance"
    bounds = [
        f"{name} {bound:g}" for name, bound in (("low", entry.low), ("high", entry.high)) if bound is not None
    ]
    facts = {
        "question": entry.question,
        "broken": entry.error,
        "set": _set(entry),
        "kind": {"mask": "a mask: cells that count", "scorer": "a scorer: computes from attention"}.get(
            entry.kind
        ),
        "needs": ", ".join(entry.needs),
        "margin": margin,
        "contrast": None
        if entry.contrast is None
        else f"{entry.contrast:g} beyond the head's own distance profile",
        "bounds": ", ".join(bounds),
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
        fits = len(pieces) <= MOST and 2 * len(pieces) + label + 4 <= console.width
        console.print()
        console.print(_grid(shown, pieces, label) if fits else _list(shown))
        console.print()
    for sentence in sentences:
        console.print(Text(sentence, style="dim"))


def _grid(shown: ShownSieve, pieces: Sequence[str], label: int) -> Text:
    """Return queries as rows and keys as columns, with a legend."""
    cells, text = shown.cells, Text(no_wrap=True)
    most = float(cells.weight[cells.counted].max())
    for line in _numbers(len(pieces)):
        text.append(" " * (label + 4) + line + "\n", style="dim")
    for query, piece in enumerate(pieces):
        tone = "" if cells.asking[query] else "dim"
        text.append(f"{query:>2} " + " " * (label - Text(piece).cell_len) + piece + " ", style=tone)
        for key in range(len(pieces)):
            if cells.counted[query, key]:
                share = float(cells.weight[query, key]) / most
                text.append(next(block for least, block in SHADES if share >= least), style="blue")
            else:
                text.append(" ·" if cells.compared[query, key] else "  ", style="dim")
        text.append("\n")
    return text.append("██ counted (▓▓ ▒▒ with less weight)   · compared within", style="dim")


def _numbers(columns: int) -> list[str]:
    """Return the numbers of the keys, two letters wide, tens above ones.

    Example:
        >>> _numbers(3)
        [' 0 1 2  key']
    """
    ones = "".join(f"{key % 10:>2}" for key in range(columns)) + "  key"
    tens = "".join(f"{key // 10 or '':>2}" for key in range(columns))
    return [tens, ones] if columns > 10 else [ones]


def _list(shown: ShownSieve) -> Text:
    """Return the keys of every query that asks, a query on each line."""
    asking = np.flatnonzero(shown.cells.asking)
    lines = [key_line(shown.cells, query, KEYS) for query in asking[:QUERIES].tolist()]
    if len(asking) > QUERIES:
        lines.append(f"… {len(asking) - QUERIES} more queries")
    return Text("\n".join(lines))
