"""Make the console for results, and plain tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Span, Text

from headroles.errors import CONTROL, visible
from headroles.records.table import Sheet

PIPED = 140
"""Columns of a table where output goes to a file or a pipe."""
EMPTY: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a result is printed.

    Attributes:
        verbose: Whether the test, every table and the meaning of words are printed, too.
        grid: Whether layers × heads are printed.
    """

    verbose: bool = False
    grid: bool = False


SHORT = Detail()
"""What is printed where nothing more is asked for."""


class VisibleConsole(Console):
    """A console that spells out control characters and direction marks of all that it prints."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text, as wide as it is printed."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of anything that can be printed, after spelling out a text."""
        return super().render(_visible(renderable) if isinstance(renderable, Text) else renderable, options)


def _visible(text: Text) -> Text:
    """Return a text with its styles, and with control characters and direction marks spelled out."""
    plain = text.plain
    if CONTROL.search(plain) is None:
        return text
    places = [0, *accumulate(len(visible(character)) for character in plain)]
    spelled = text.blank_copy(visible(plain))
    spelled.spans = [
        Span(places[span.start], places[min(span.end, len(plain))], span.style) for span in text.spans
    ]
    return spelled


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
    for row in sheet.texts:
        cells = (_cell(words.get(text, text)) for text in row)
        table.add_row(*cells, style="bold" if strong and strong in row else "")
    return table


def _cell(text: str) -> Text:
    """Return text without spaces that do not break, as a terminal breaks no lines in cells of numbers."""
    return Text(text.replace("\u00a0", " "))
