"""Pieces of Markdown that blocks for model cards are made of; no text from data is markup in them."""

import re
from collections.abc import Sequence

from headroles.reports.console import MARKS
from headroles.reports.papers import markdown_text

HEADING = "## Attention heads"
"""First line of a block."""


def block(
    opening: Sequence[str],
    about: Sequence[str],
    command: str,
    links: str,
    notes: Sequence[str],
    citation: str,
) -> str:
    """Return a block of Markdown for a model card, ending with a line feed.

    Args:
        opening: Its first paragraphs in Markdown: answer, sentences and tables.
        about: Lines on the model and the inputs.
        command: The command that was run.
        links: Links to the files, in Markdown; "" for none.
        notes: What must be known before one concludes anything.
        citation: BibTeX.
    """
    parts = [
        HEADING, *opening, bullets(about), f"The command was:\n\n{code_block(command)}", links,
        f"What to know before concluding anything:\n\n{bullets(notes)}" if notes else "",
        f"To cite it:\n\n{code_block(citation.strip(), 'bibtex')}",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def hub_card(name: str, title: str, tables: Sequence[str], about: str, content: str) -> str:
    """Return the card of a data set on the hub: a header in YAML, and a block.

    Args:
        name: Name that the hub shows.
        title: Heading of the card.
        tables: Names of its tables in CSV, without the ending; the hub shows the first.
        about: What the data set is, in Markdown.
        content: The block.
    """
    from huggingface_hub import DatasetCardData

    header = DatasetCardData(
        pretty_name=name,
        tags=["headroles", "attention-heads", "interpretability"],
        configs=[
            {"config_name": table, "data_files": f"{table}.csv", **({} if place else {"default": True})}
            for place, table in enumerate(tables)
        ],
    ).to_yaml()
    return f"---\n{header.strip()}\n---\n\n# {markdown_text(title)}\n\n{about}\n\n{content}"


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
