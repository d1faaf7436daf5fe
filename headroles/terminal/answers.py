"""Lines that all results begin and end with: the title, the answer in sentences, notes, the report."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.text import Text

from headroles.addresses import is_address, last_name
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.reports.answer.records import Sentence
from headroles.tasks import TASKS

NARROWEST = 40
"""Lines are not broken in a terminal that is not wider."""
MARKS = {0x2068: None, 0x2069: None, 0xA0: " "}
"""Direction marks of sentences of the page, which a terminal spells out; and spaces that do not break."""


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


def title_of(labelling: Labelling) -> str:
    """Return heads, model and inputs of a run, as far as its manifest names them.

    Such as "72 heads of all-MiniLM-L6-v2 on 160 QNLI pairs".
    """
    facts, count = labelling.manifest, labelling.findings.count
    model = last_name(str(facts.get("model", {}).get("name") or ""))
    heads = plural(count[0].size if len(count) else count.shape[1] * count.shape[2], "head")
    return f"{heads}{f' of {model}' if model else ''}{_inputs(facts)}"


def _inputs(facts: Mapping[str, Any]) -> str:
    """Return the number and the kind of inputs, after "on"; "" where the manifest does not say it."""
    number = facts.get("counts", {}).get("examples")
    if not isinstance(number, int):
        return ""
    task = facts.get("task")
    known = TASKS.get(str(task))
    noun = "pair" if known is not None and len(known.columns) == 2 else "input"
    if task:
        return f" on {plural(number, f'{task} {noun}')}"
    source = facts.get("source", {})
    name = last_name(str(source.get("name") or ""))
    return f" on {plural(number, noun)}" + (f" of {name}" if name else "")


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


def all_notes(labelling: Labelling) -> tuple[list[str], list[str]]:
    """Return what must be known of a run, and what was left out, each once."""
    assessed = labelling.assessment
    warnings = [*labelling.manifest.get("notes", ()), *(assessed.remarks if assessed else ())]
    return list(dict.fromkeys(warnings)), [note for note in labelling.skipped if note not in warnings]


def show_report(console: Console, folder: str, files: Sequence[str] = ("report.html",)) -> None:
    """Print where the report is; terminals that can open it by a click."""
    for file in files:
        path = f"{folder.rstrip('/')}/{file}"
        link = Style() if is_address(path) else Style(link=Path(path).resolve().as_uri())
        console.print(Text.assemble("report  ", (path, link)))
