"""Options of the lists of sieves and tasks."""

from dataclasses import dataclass
from typing import Annotated

from headroles.errors import BadInput
from headroles.options.described import Option, check_values
from headroles.options.shared import MAX_LENGTH, MODEL, OVERWRITE, PARSER, REVISION, SVG, VECTORS


@dataclass(frozen=True, slots=True, kw_only=True)
class SieveListOptions:
    """Options of the list of sieves, and of showing one.

    Raises:
        BadInput: For options that need another one, or more than two texts.
    """

    sieve_name: Annotated[str | None, Option("A sieve, or a set of sieves.", "Questions", argument=True)] = (
        None
    )
    show: Annotated[
        tuple[str, ...],
        Option("Draw what the sieve counts on this text; given twice, on a pair.", "Questions"),
    ] = ()
    model: Annotated[str | None, MODEL.but(detail="Its tokenizer reads the text.")] = None
    revision: Annotated[str | None, REVISION] = None
    parser: Annotated[str | None, PARSER] = None
    vectors: Annotated[str | None, VECTORS] = None
    causal: Annotated[
        bool | None,
        Option("Whether queries see only keys up to their own place.", "Model", default="as the model does"),
    ] = None
    max_length: Annotated[int, MAX_LENGTH] = 512
    json: Annotated[bool, Option("Print JSON with every fact of every sieve.", "Output")] = False
    svg: Annotated[str | None, SVG.but(detail="It draws the cells that the sieve counts.")] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a file that headroles did not write.")] = (
        False
    )

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        if self.show and self.sieve_name is None:
            raise BadInput("--show draws what one sieve counts, so name it: headroles sieves NAME")
        if len(self.show) > 2:
            raise BadInput(
                f"--show takes a text, or two for a pair, but got {len(self.show)}; give one or two"
            )
        for name in ("model", "revision", "parser", "vectors", "causal", "svg"):
            if getattr(self, name) is not None and not self.show:
                raise BadInput(f"--{name} is for drawing, which only --show asks for; leave it out")
        if self.show and self.json:
            raise BadInput("--json prints facts of sieves, and --show draws one; leave one of them out")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskListOptions:
    """Options of the list of tasks: none."""
