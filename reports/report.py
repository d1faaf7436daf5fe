"""Reports: a result for readers as blocks, which page, terminal, notebook and papers write in turn.

A kind of result builds one ``Report``. The renderers know blocks, and no kind.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headroles.records.table import MISSING, Sheet, Table
from headroles.reports.account import Line, Named
from headroles.reports.answer import Answer
from headroles.reports.maps import HeadMaps, HeadPanel, StillMaps
from headroles.reports.marks import Figure

LONG = 2000
"""Rows of a table above which a page leaves it to its file."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph.

    Attributes:
        text: Its words.
        style: "lead", "caption", "key", "heading", "warning" (for readers without scripts) or ""
            for plain text, which stands also where nothing else does.
    """

    text: str
    style: str = "caption"


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences as a list."""

    sentences: Sequence[str]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table that people read; pages sort it.

    Attributes:
        table: A table, or its sheet.
        strong: Rows with this cell are bold; "" for none.
        leave: Names of columns that are left out.
        words: Other words for whole cells in a terminal, such as titles of roles.
        most: Rows above which a terminal prints it with ``--verbose`` only.
        limit: Rows above which a page leaves it to its file.
        folded: Whether a page shows it on request only.
    """

    table: Table | Sheet
    strong: str = ""
    leave: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    most: int = 1_000_000
    limit: int = 1_000_000
    folded: bool = False

    def sheet(self, width: str = "") -> Sheet:
        """Return the table as people read it, on a page or in a terminal that is "wide" or "narrow"."""
        if isinstance(self.table, Sheet):
            return self.table
        return self.table.sheet(width, leave=self.leave)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.table.rows) if isinstance(self.table, Sheet) else len(self.table)


@dataclass(frozen=True, slots=True)
class Words:
    """Terms with their meanings, folded."""

    terms: Sequence[tuple[str, str]]
    title: str = "What the words mean"
    key: str = "glossary"


@dataclass(frozen=True, slots=True)
class Beside:
    """Blocks side by side, where there is room."""

    blocks: Sequence["Block"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Figures of which a reader sees one at a time."""

    label: str
    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that a page shows on request."""

    title: str
    blocks: Sequence["Block"]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The table of all findings with its filters, and the downloads.

    Attributes:
        example: A search that finds something, such as "local 2-9".
        files: Names of the files that a reader can download.
        caption: Of the table, as it is copied.
        column: What a column of findings is called.
        decision: What a decision is called.
        blocks: What stands between the table and the downloads.
        note: A caption below the table; "" for none.
        stable: Whether readers can ask for stable labels.
        choice: Whether they choose how many rows stand at once.
    """

    example: str
    files: Sequence[str]
    caption: str
    column: str = "Sieve"
    decision: str = "Decision"
    blocks: Sequence["Block"] = ()
    note: str = ""
    stable: bool = False
    choice: bool = False


@dataclass(frozen=True, slots=True)
class Methods:
    """A paragraph for a paper with its references in BibTeX, folded, to be copied."""

    text: str
    bibtex: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, to be copied; nothing for ""."""

    text: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a manifest records, as lines in groups."""

    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Downloads:
    """Buttons of the files that a reader can download."""

    files: Sequence[str]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A block that draws itself: a macro of drawings.html, its values, and maps of heads inside it."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    maps: Sequence[HeadMaps] = ()


Block = (
    Text | Points | Grid | Words | Beside | Choice | Fold | HeadMaps | StillMaps | Numbers | Methods | Command
    | Recorded | Downloads | Drawing | Figure
)  # fmt: skip


def shown(blocks: Sequence[Block]) -> bool:
    """Return whether blocks show anything: words about tables that are not there do not, plain text does."""
    return any(
        shown(block.blocks) if isinstance(block, Fold | Beside)
        else bool(block.figures) if isinstance(block, Choice)
        else 0 < len(block) <= block.limit if isinstance(block, Grid)
        else not (isinstance(block, Text) and block.style)
        for block in blocks
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page.

    Attributes:
        key: Its id.
        label: Its name in the list of sections; "" for one that is not listed.
        title: Its heading; "" for blocks that stand by themselves.
        blocks: What it holds, from top to bottom; sections without blocks are left out.
    """

    key: str
    label: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Paper:
    """A table for papers: with a caption, and in CSV with all digits.

    Attributes:
        table: Its rows.
        caption: What it shows, with test, correction, alpha and units.
        leave: Names of columns that only the CSV form has.
        shown: The rows that people read; None for all, which the CSV form always has.
        only: Names of the columns that people read, in this order; () for those of the table.
        digits: Names of the columns of the CSV form; () for those of the table.
    """

    table: Table
    caption: str
    leave: tuple[str, ...] = ()
    only: Sequence[str] = ()
    digits: Sequence[str] = ()
    shown: Table | None = None

    @property
    def sheet(self) -> Sheet:
        """Return the table as people read it; empty cells have a dash."""
        rows = self.table if self.shown is None else self.shown
        sheet = rows.sheet(leave=self.leave, only=self.only)
        return replace(
            sheet, rows=tuple(tuple(cell if cell.text else MISSING for cell in row) for row in sheet.rows)
        )

    def csv(self) -> str:
        """Return the table with all digits."""
        return (self.table.kept(self.digits) if self.digits else self.table).csv()


@dataclass(frozen=True, slots=True)
class Page:
    """What only a page has.

    Attributes:
        tab: Title of the browser's tab.
        sections: From top to bottom, below the answer.
        data: JSON texts that the scripts read, by id; "findings-columns" has all findings, where there are
            any.
        files: Texts of the files that it embeds for readers, by name.
        heads: The panel of a head; None for none.
        panel: Macro in drawings.html of another side panel, which opens for one head; "" for none.
        rail: Macro of what stands below the list of sections; "" for nothing.
        values: What these macros show.
        scripts: Scripts of drawings that no other page has.
    """

    tab: str
    sections: Sequence[Section]
    data: Mapping[str, str]
    files: Mapping[str, str]
    heads: HeadPanel | None = None
    panel: str = ""
    rail: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    scripts: Sequence[str] = ()

    def figures(self) -> Iterator[Figure]:
        """Yield all figures in the order of the page."""
        yield from figures_in(block for section in self.sections for block in section.blocks)

    def maps(self) -> Iterator[HeadMaps]:
        """Yield all maps of heads in the order of the page."""
        yield from maps_in(block for section in self.sections for block in section.blocks)


def figures_in(blocks: Any) -> Iterator[Figure]:
    """Yield the figures among blocks and inside them, in their order."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Choice):
            yield from block.figures
        elif isinstance(block, Fold | Beside):
            yield from figures_in(block.blocks)


def maps_in(blocks: Any) -> Iterator[HeadMaps]:
    """Yield the maps of heads among blocks and inside them, in their order."""
    for block in blocks:
        if isinstance(block, HeadMaps):
            yield block
        elif isinstance(block, Drawing):
            yield from block.maps
        elif isinstance(block, Fold | Beside):
            yield from maps_in(block.blocks)


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a result a terminal prints.

    Attributes:
        verbose: Whether the test, every table and the meaning of words are printed, too.
        grid: Whether layers × heads are printed.
        width: Columns of the terminal.
    """

    verbose: bool = False
    grid: bool = False
    width: int = 140


@dataclass(frozen=True, slots=True)
class Report:
    """A result for readers; what is costly is made when a renderer asks for it.

    Attributes:
        command: The command that made it, such as "headroles ablate".
        heading: What a terminal prints first; "" for nothing.
        answer: Title, line, sentences and warnings.
        notes: What must be known, and what was left out, one sentence each.
        manifest: What is recorded, in JSON types.
        tables: Functions that make the tables for papers, by name; the first is the main one.
        page: Makes what only a page has.
        screen: Makes what a terminal prints below the answer, at a detail.
        cell: Makes what a notebook shows below the answer: texts, tables, or HTML of its own.
        facts: Makes the lines that a terminal prints above the answer, at a detail.
        prints: Makes figures for print that no page draws, or draws otherwise, by name, of a width in
            millimetres.
        few: Sentences of the answer that a terminal then prints; 0 for all.
    """

    command: str
    heading: str
    answer: Answer
    notes: tuple[Sequence[str], Sequence[str]]
    manifest: Mapping[str, Any]
    tables: Mapping[str, Callable[[], Any]]
    page: Callable[[], Page]
    screen: Callable[[Detail], Sequence[Any]] = lambda detail: ()
    cell: Callable[[], Sequence[Grid | Text | str]] = tuple
    facts: Callable[[Detail], Sequence[Named]] = lambda detail: ()
    prints: Callable[[float], Mapping[str, Any]] = lambda width: {}
    few: int = 0
