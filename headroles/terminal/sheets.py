"""The sheets of a result as plain tables of a terminal."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from headroles.reports.sheets import Sheet

EMPTY: Mapping[str, str] = {}


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
        table.add_column(_text(heading), justify="right" if numeric else "left")
    for row in sheet.texts:
        cells = (_text(words.get(text, text)) for text in row)
        table.add_row(*cells, style="bold" if strong and strong in row else "")
    return table


def _text(text: str) -> Text:
    """Return text without spaces that do not break, as a terminal breaks no lines in cells of numbers."""
    return Text(text.replace("\u00a0", " "))
