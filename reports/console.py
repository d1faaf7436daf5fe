"""The console, plain tables, and the lines that all results begin and end with."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Span, Text

from headroles.addresses import is_address
from headroles.errors import CONTROL, visible
from headroles.records.table import Sheet

PIPED = 140
"""Columns of a table where output goes to a file or a pipe."""
NARROWEST = 40
"""Lines are not broken in a terminal that is not wider."""
MARKS = {0x2068: None, 0x2069: None, 0xA0: " "}
"""Direction marks of sentences of the page, which a terminal spells out; and spaces that do not break."""


class VisibleConsole(Console):
    """A console that spells out control characters and direction marks of all that it prints."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text, as wide as it is printed."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of anything that can be printed, after spelling out a text."""
        if isinstance(renderable, Text) and CONTROL.search(renderable.plain):
            plain, spans = renderable.plain, renderable.spans
            places = [0, *accumulate(len(visible(character)) for character in plain)]
            renderable = renderable.blank_copy(visible(plain))
            renderable.spans = [
                Span(places[span.start], places[min(span.end, len(plain))], span.style) for span in spans
            ]
        return super().render(renderable, options)


def console() -> Console:
    """Return a console on standard output, as wide as the terminal or as ``PIPED``."""
    output = VisibleConsole(highlight=False, soft_wrap=True)
    return output if output.is_terminal else VisibleConsole(highlight=False, soft_wrap=True, width=PIPED)


def terminal_table(
    sheet: Sheet, *, strong: str = "beyond", words: Mapping[str, str] | None = None, gap: int = 2
) -> Table:
    """Return a sheet as a table without lines, numbers right-aligned.

    Args:
        sheet: Any; its texts are shown as they are, never read as markup.
        strong: Rows with this cell are bold, as on the page; "" for none.
        words: Shorter words for whole cells, for narrow terminals.
        gap: Spaces between columns.
    """
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    known = words or {}
    for heading, numeric in zip(sheet.header, sheet.numeric, strict=True):
        table.add_column(_cell(heading), justify="right" if numeric else "left")
    for row, texts in zip(sheet.rows, sheet.texts, strict=True):
        cells = (_cell(known.get(cell.text, cell.text), "bold" if cell.strong else "") for cell in row)
        table.add_row(*cells, style="bold" if strong and strong in texts else "")
    return table


def _cell(text: str, style: str = "") -> Text:
    """Return text without spaces that do not break, as a terminal breaks no lines in cells of numbers."""
    return Text(text.replace("\u00a0", " "), style)


def breaks_lines(console: Console) -> bool:
    """Return whether lines are broken between words; other programs and narrow terminals get them whole."""
    return console.is_terminal and console.width > NARROWEST


def named_line(console: Console, name: str, words: str, style: str = "", of_name: str = "") -> None:
    """Print a line with a name of at most seven letters; ``of_name`` is the name's own style, if any."""
    words = words.translate(MARKS)
    width = console.width - 8 if breaks_lines(console) else len(words) + 1
    for number, line in enumerate(wrap(words, width, break_long_words=False, break_on_hyphens=False)):
        start = ("" if number else name, of_name or style)
        console.print(Text.assemble(start, " " * (8 - len(start[0])), (line, style)))


def show_title(console: Console, title: str) -> None:
    """Print the title of a result."""
    console.print(Text(title, style="bold"))


def show_notes(
    console: Console, warnings: Sequence[str], left_out: Sequence[str] = (), *, verbose: bool = True
) -> None:
    """Print what must be known and done; of what was left out only the number, unless asked for more."""
    for text in warnings:
        named_line(console, "note", text, of_name="bold yellow")
    for text in left_out if verbose else ():
        named_line(console, "note", text, "dim")
    if left_out and not verbose:
        named_line(
            console, "notes", f"{len(left_out):,} more on what was left out; --verbose prints them", "dim"
        )


def show_report(console: Console, folder: str) -> None:
    """Print where the report is; terminals that can open it by a click."""
    path = f"{folder.rstrip('/')}/report.html"
    link = Style() if is_address(path) else Style(link=Path(path).resolve().as_uri())
    console.print(Text.assemble("report  ", (path, link)))
