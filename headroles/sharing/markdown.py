"""Pieces of Markdown that blocks for model cards are made of; no text from data is markup in them."""

import re
from collections.abc import Sequence

from headroles.reports.print.writers import markdown_text
from headroles.terminal.answers import MARKS

HEADING = "## Attention heads"
"""First line of a block."""


def bullets(lines: Sequence[str]) -> str:
    """Return lines as a list, no text of them as markup."""
    return "\n".join(f"- {markdown_text(line.translate(MARKS))}" for line in lines)


def hash_words(what: str, digest: object) -> str:
    """Return the begin of a SHA-256 with what it is of; "" without one."""
    return f"SHA-256 of the {what} {digest!s:.12}…" if digest else ""


def number_words(count: object, noun: str) -> str:
    """Return a number with its noun; "" without one."""
    return f"{count:,} {noun}" if isinstance(count, int) else ""


def link_line(about: dict[str, str], files: str) -> str:
    """Return a line of links to files, each with what it holds; "" without an address.

    Args:
        about: What each file holds, by its name.
        files: Address of the folder, with a slash at the end.
    """
    links = [f"[{name}]({files}{name}) ({words})" for name, words in about.items()]
    return f"Files: {', '.join(links)}." if files else ""


def code_block(text: str, language: str = "") -> str:
    """Return a block of code whose fence is longer than any in the text."""
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
