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
from headroles.reports.answer import Sentence

PIPED = 140
"""Columns of a table where output goes to a file or a pipe."""
NARROWEST = 40
"""Lines are not broken in a terminal that is not wider."""
MARKS = {0x2068: None, 0x2069: None, 0xA0: " "}
"""Direction marks of sentences of the page, which a terminal spells out; and spaces that do not break."""
EMPTY: Mapping[str, str] = {}


class VisibleConsole(Console):
    """A console that spells out control characters and direction marks of all that it prints."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text, as wide as it is printed."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of anything that can be printed, after spelling out a text."""
        if isinstance(renderable, Text) and CONTROL.search(renderable.plain):
            plain = renderable.plain
            places = [0, *accumulate(len(visible(character)) for character in plain)]
            spans = [
                Span(places[span.start], places[min(span.end, len(plain))], span.style)
                for span in renderable.spans
            ]
            renderable = renderable.blank_copy(visible(plain))
            renderable.spans = spans
        return super().render(renderable, options)


def console() -> Console:
    """Return a console on standard output, as wide as the terminal or as ``PIPED``."""
    output = VisibleConsole(highlight=False, soft_wrap=True)
    return output if output.is_terminal else VisibleConsole(highlight=False, soft_wrap=True, width=PIPED)


def terminal_table(
    sheet: Sheet, *, strong: str = "beyond", words: Mapping[str, str] = EMPTY, gap: int = 2
) -> Table:
    """Return a sheet as a table without lines, numbers right-aligned.

    Args:
        sheet: Any; its texts are shown as they are, never read as markup.
        strong: Rows with this cell are bold, as on the page; "" for none.
        words: Shorter words for whole cells, for narrow terminals.
        gap: Spaces between columns.
    """
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    for heading, numeric in zip(sheet.header, sheet.numeric, strict=True):
        table.add_column(_cell(heading), justify="right" if numeric else "left")
    for row, texts in zip(sheet.rows, sheet.texts, strict=True):
        cells = (_cell(words.get(cell.text, cell.text), "bold" if cell.strong else "") for cell in row)
        table.add_row(*cells, style="bold" if strong and strong in texts else "")
    return table


def _cell(text: str, style: str = "") -> Text:
    """Return text without spaces that do not break, as a terminal breaks no lines in cells of numbers."""
    return Text(text.replace("\u00a0", " "), style)


def named_line(console: Console, name: str, words: str, style: str = "", of_name: str = "") -> None:
    """Print a named line; break it between words on a terminal, and keep it whole for other programs.

    Args:
        console: Of any width.
        name: At most seven letters.
        words: The line.
        style: Of the line.
        of_name: Style of the name, where it is another.
    """
    breaks = console.is_terminal and console.width > NARROWEST
    words = words.translate(MARKS)
    width = console.width - 8 if breaks else len(words) + 1
    for number_of_line, line in enumerate(wrap(words, width, break_long_words=False, break_on_hyphens=False)):
        start = ("" if number_of_line else name, of_name or style)
        console.print(Text.assemble(start, " " * (8 - len(start[0])), (line, style)))


def show_title(console: Console, title: str) -> None:
    """Print the title of a result."""
    console.print(Text(title, style="bold"))


def show_sentences(console: Console, sentences: Iterable[Sentence]) -> None:
    """Print the answer: a paragraph per sentence, its first words bold."""
    for sentence in sentences:
        text = Text.assemble(
            (sentence.lead.translate(MARKS), "bold"), sentence.text[len(sentence.lead) :].translate(MARKS)
        )
        if console.is_terminal and console.width > NARROWEST:
            for number, line in enumerate(text.wrap(console, console.width - 2)):
                line.rstrip()
                console.print(Text("  " if number else "• ") + line)
        else:
            console.print(Text("• ") + text)


def show_notes(
    console: Console, warnings: Sequence[str], notes: Sequence[str] = (), *, brief: bool = False
) -> None:
    """Print what must be known.

    Args:
        console: Of any width.
        warnings: What must be known before anything is concluded.
        notes: What was left out.
        brief: Whether notes are only counted.
    """
    if brief:
        if count := len(warnings) + len(notes):
            named_line(console, "notes", f"{count:,}; --verbose prints them", "dim")
        return
    for text in warnings:
        named_line(console, "note", text, of_name="bold yellow")
    for text in notes:
        named_line(console, "note", text, "dim")


def show_report(console: Console, folder: str, files: Sequence[str] = ("report.html",)) -> None:
    """Print where the report is; terminals that can open it by a click."""
    for file in files:
        path = f"{folder.rstrip('/')}/{file}"
        link = Style() if is_address(path) else Style(link=Path(path).resolve().as_uri())
        console.print(Text.assemble("report  ", (path, link)))
