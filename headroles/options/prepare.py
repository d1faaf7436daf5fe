"""Options of preparing texts as inputs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from headroles.addresses import check_place
from headroles.errors import BadInput
from headroles.options.described import Option, check_values
from headroles.options.shared import (
    CACHE,
    COLUMN_B,
    FIRST,
    GROUP,
    LAYOUT,
    LIMIT,
    MAX_LENGTH,
    MODEL,
    OUT,
    OVERWRITE,
    PARSER,
    REVISION,
    SEED,
    TEXT_A,
    check_subset,
)
from headroles.records.objects import ModelObject

LAYOUTS = ("conllu", "words", "table", "text")
"""Layouts of texts that become trees."""
CUTS = ("lines", "words")
CUT = Option(
    "Where segments end: between lines, as in the released script of Clark et al. (2019), or between words.",
    "Inputs",
    detail="Cut between words, in mid-sentence too, each pair is as long as fits.",
    choices=CUTS,
)
FILE = Option("Texts to prepare.", "Inputs", path=True, argument=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationOptions:
    """Options that all ways of preparing a file share, checked before anything is read.

    Raises:
        BadInput: For numbers out of range, or a file that would be overwritten by mistake.
    """

    file: Annotated[str, FILE]
    out: Annotated[str, OUT.but(detail="A .jsonl file.", required=True)] = ""
    limit: Annotated[int | None, LIMIT] = None
    first: Annotated[int | None, FIRST] = None
    seed: Annotated[int, SEED] = 0
    overwrite: Annotated[bool, OVERWRITE] = False

    def __post_init__(self) -> None:
        """Check the options without opening a file."""
        check_values(self)
        check_subset(self.limit, self.first)
        source, target = Path(self.file), Path(self.out)
        if target.suffix != ".jsonl":
            raise BadInput(f"the output is JSON lines, so --out ends in .jsonl, but got '{target}'")
        check_place(target)
        if source.resolve() == target.resolve():
            raise BadInput(
                f"--out must be another file than the text, but both are '{source}'; name a new one"
            )
        if target.exists() and not self.overwrite:
            raise BadInput(f"'{target}' exists already; give --overwrite to replace it, or another --out")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions(PreparationOptions):
    """Options for pairs: also the model whose tokenizer counts the tokens."""

    model: Annotated[
        str | ModelObject | None,
        MODEL.but(detail="Its tokenizer counts the tokens.", in_python="Or its tokenizer alone."),
    ] = None
    revision: Annotated[str | None, REVISION] = None
    max_length: Annotated[int, MAX_LENGTH] = 128
    cut: Annotated[str, CUT] = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions(PreparationOptions):
    """Options for trees: also the layout and columns of the file, and the parser."""

    layout: Annotated[str | None, LAYOUT.but(choices=LAYOUTS)] = None
    text_a: Annotated[str | None, TEXT_A] = None
    text_b: Annotated[str | None, COLUMN_B] = None
    group: Annotated[str | None, GROUP] = None
    parser: Annotated[str | None, PARSER] = None
    cache: Annotated[str | None, CACHE] = None

    def __post_init__(self) -> None:
        """Check the options without opening a file."""
        PreparationOptions.__post_init__(self)
        if self.text_b is not None and self.text_a is None:
            raise BadInput("--text-b names the second text of a pair, so --text-a must name the first")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the texts."""
        return tuple(column for column in (self.text_a, self.text_b) if column is not None)
