"""HTML for notebooks: answers, tables and names, without scripts and styles of their own.

Every text is escaped. Colours are those of the notebook, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headroles.reports.answer import Answer

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


def answer_html(answer: Answer) -> str:
    """Return title, line, sentences and warnings of an answer, in the colours of the notebook."""
    items = "".join(
        f"<li><strong>{escape(sentence.lead)}</strong>{escape(sentence.text[len(sentence.lead) :])}</li>"
        for sentence in answer.sentences
    )
    warnings, count = "".join(f"<li>{escape(text)}</li>" for text in answer.warnings), len(answer.warnings)
    more = (
        f'<details style="margin:.5em 0"><summary>{count} warning{"s" * (count > 1)}</summary>'
        f'<ul style="max-width:62em">{warnings}</ul></details>'
    ) * bool(count)
    title = paragraph(f"<strong>{escape(answer.title)}</strong>") + paragraph(escape(answer.line))
    return f'{title}<ul style="max-width:62em;margin:.5em 0">{items}</ul>{more}'


def counts_table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[object]]]) -> str:
    """Return a table with a row per sieve: its name, then cells of plain numbers or names.

    Args:
        caption: Caption of the table, as plain text.
        heads: Titles of the columns after the first.
        rows: Name and cells of each sieve.
    """
    left = len(rows) - MOST_ROWS
    more = paragraph(f"{left} more rows are left out here; .frame() has them all.") if left > 0 else ""
    return _table(caption, heads, rows[:MOST_ROWS], ' style="text-align:right"') + more


def heads_table(caption: str, cells: Iterable[Iterable[str]], layers: Sequence[int]) -> str:
    """Return a table with a row per layer and a column per head.

    Args:
        caption: Meaning of a cell, as plain text.
        cells: Plain text per layer and head; a dot replaces empty text.
        layers: Position of each layer.
    """
    rows = [(layer, [cell or "·" for cell in row]) for layer, row in zip(layers, cells, strict=True)]
    return _table(caption, range(len(rows[0][1]) if rows else 0), rows)


def _table(
    caption: str, heads: Iterable[object], rows: Iterable[tuple[object, Iterable[object]]], style: str = ""
) -> str:
    """Return a table that scrolls by itself where the notebook is narrower, by keyboard too."""
    titles = "".join(f"<th>{escape(str(head))}</th>" for head in heads)
    lines = "".join(
        f"<tr><th>{escape_name(name)}</th>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>"
        for name, cells in rows
    )
    return (
        f"{SCROLLED.format(escape(caption))}{TABLE}{CAPTION}{escape(caption)}</caption><thead{style}><tr>"
        f"<td></td>{titles}</tr></thead><tbody{style}>{lines}</tbody></table></div>"
    )


def paragraph(markup: str) -> str:
    """Return a paragraph of markup."""
    return PARAGRAPH.format(markup)


def escape_name(text: object) -> str:
    """Escape a name, cut it where it is long, and isolate it from the text direction of its sentence.

    Example:
        >>> escape_name("<b>"), escape_name("syntactic:amod")
        ('&lt;b&gt;', 'syntactic:amod')
    """
    words = str(text)
    shown = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    return escape(shown) if shown.isascii() else f"<bdi>{escape(shown)}</bdi>"


def model_name(facts: Any) -> str:
    """Return the name of a run's model from its manifest."""
    return str(fact(facts, "model", "name") or "a model without a name")


def fact(facts: Any, *names: str) -> Any:
    """Return the value at a path of names in nested mappings; None where it is missing."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return facts
