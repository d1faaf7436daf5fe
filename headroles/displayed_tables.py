"""Tables as notebooks show them: no script, no style but the elements' own, every text escaped.

Colours are those of the notebook, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape

LONGEST = 80
"""Characters of a name that are shown."""
MOST_ROWS = 60
"""Rows of a table of counts."""
TABLE = (
    '<table cellpadding="4" cellspacing="0" border="0" '
    'style="font-variant-numeric:tabular-nums;white-space:nowrap;margin:.5em 0 1em">'
)
CAPTION = '<caption style="caption-side:top;text-align:left;color:inherit;padding:.3em 0">'
SCROLLED = '<div style="overflow-x:auto;max-width:100%" tabindex="0" role="region" aria-label="{}">'
PARAGRAPH = '<p style="max-width:62em;margin:.5em 0;overflow-wrap:anywhere">{}</p>'


def paragraph(markup: str) -> str:
    """A paragraph of markup."""
    return PARAGRAPH.format(markup)


def named(text: object) -> str:
    """A name as text that is no markup, cut where it is long, and that turns no sentence around it.

    Example:
        >>> named("<b>"), named("syntactic:amod")
        ('&lt;b&gt;', 'syntactic:amod')
    """
    words = str(text)
    shown = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    return escape(shown) if shown.isascii() else f"<bdi>{escape(shown)}</bdi>"


def counts_table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[object]]]) -> str:
    """A row per sieve: its name, then cells of plain numbers or names.

    Args:
        caption: What the table holds, as plain text.
        heads: Titles of the columns after the first.
        rows: Name and cells.
    """
    parts = [TABLE, f"{CAPTION}{escape(caption)}</caption>", '<thead style="text-align:right"><tr><td></td>']
    parts += [f"<th>{escape(head)}</th>" for head in heads]
    parts.append('</tr></thead><tbody style="text-align:right">')
    for name, cells in rows[:MOST_ROWS]:
        told = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        parts.append(f"<tr><th>{named(name)}</th>{told}</tr>")
    parts.append("</tbody></table>")
    left = len(rows) - MOST_ROWS
    more = paragraph(f"{left} more rows are left out here; .frame() has them all.") if left > 0 else ""
    return _scrolled(caption, "".join(parts)) + more


def heads_table(caption: str, cells: Iterable[Iterable[str]]) -> str:
    """A row per layer and a column per head, both numbered from 0.

    Args:
        caption: What a cell says, as plain text.
        cells: Plain text per layer and head; a dot stands where there is none.
    """
    rows = [[escape(cell) or "·" for cell in row] for row in cells]
    numbers = "".join(f"<th>{head}</th>" for head in range(len(rows[0]) if rows else 0))
    parts = [
        TABLE,
        f"{CAPTION}{escape(caption)}</caption>",
        f"<thead><tr><td></td>{numbers}</tr></thead><tbody>",
    ]
    for layer, row in enumerate(rows):
        parts.append(f"<tr><th>{layer}</th>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
    return _scrolled(caption, "".join([*parts, "</tbody></table>"]))


def _scrolled(label: str, table: str) -> str:
    """A table that scrolls by itself where the notebook is narrower, by keyboard too."""
    return f"{SCROLLED.format(escape(label))}{table}</div>"
