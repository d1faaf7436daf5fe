"""Options of the list of sieves, and of what a command prints of its result."""

from dataclasses import dataclass
from typing import Annotated

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.options.described import Option, check_values
from headroles.options.shared import MAX_LENGTH, MODEL, OVERWRITE, PARSER, REVISION, SVG, VECTORS

JSON = Option("Print JSON, for other programs.", "Output")
EXCLUSIVE = ("quiet", "verbose", "json")
"""Options of what is printed, of which one at most is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SieveListOptions:
    """Options of the list of sieves, and of showing one.

    Raises:
        BadInput: For options that need another one, or more than two texts.
    """

    sieve_name: Annotated[str | None, Option("A sieve, or a set of sieves.", "Questions", argument=True)] = (
        None
    )
    tasks: Annotated[bool, Option("List the tasks whose samples are shipped.", "Questions")] = False
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
    json: Annotated[bool, JSON.but(detail="Every fact of every sieve.")] = False
    svg: Annotated[str | None, SVG.but(detail="It draws the cells that the sieve counts.")] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a file that headroles did not write.")] = (
        False
    )

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        asked = {"a sieve": self.sieve_name, "--show": self.show, "--json": self.json}
        other = next((name for name, value in asked.items() if value), None)
        if self.tasks and other is not None:
            raise BadInput(f"--tasks lists tasks and no sieves, but got {other}, too; leave one of them out")
        if self.show and self.sieve_name is None:
            raise BadInput("--show draws what one sieve counts, so name it: headroles sieves NAME")
        if len(self.show) > 2:
            raise BadInput(
                f"--show takes a text, or two for a pair, but got {len(self.show)}; give one or two"
            )
        for name in ("model", "revision", "parser", "vectors", "causal", "svg"):
            if getattr(self, name) is not None and not self.show:
                raise BadInput(
                    f"--{name} changes a drawing, which needs --show; leave it out, or give --show"
                )
        if self.show and self.json:
            raise BadInput("--json prints facts of sieves, and --show draws one; leave one of them out")


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayOptions:
    """How much of a result a command prints.

    Raises:
        BadInput: For options that exclude each other.
    """

    quiet: Annotated[bool, Option("Print nothing but the path of the report.", "Output", rare=True)] = False
    verbose: Annotated[
        bool, Option("Print all that is known: the test, every table, and what the words mean.", "Output")
    ] = False
    json: Annotated[bool, JSON.but(detail="One object with counts, strongest heads, sentences, notes.")] = (
        False
    )
    grid: Annotated[
        bool, Option("Print layers × heads, with the rarest role of every head.", "Output", rare=True)
    ] = False
    open: Annotated[bool, Option("Open the report in the browser.", "Output")] = False
    yes: Annotated[
        bool,
        Option(
            "Go on without a question where the inputs are too few to decide anything.", "Running", rare=True
        ),
    ] = False
    watch: Annotated[
        bool, Option("With --until, show while the run is made which heads are decided.", "Output", rare=True)
    ] = False

    def __post_init__(self) -> None:
        """Refuse options that exclude each other."""
        given = [f"--{name}" for name in EXCLUSIVE if getattr(self, name)]
        if len(given) > 1:
            raise BadInput(f"{' and '.join(given)} exclude each other; give one of them")
        if self.watch and self.quiet:
            raise BadInput("--quiet shows nothing of a run, so it excludes --watch; leave one of them out")
        if self.grid and (self.quiet or self.json):
            raise BadInput(f"{given[0]} prints no grid, so it excludes --grid; leave one of them out")

    def check_place(self, place: str) -> None:
        """Refuse to open a report that is no file of this machine.

        Args:
            place: Folder of the result, or its address.

        Raises:
            BadInput: When the report is at an address, and is to be opened.
        """
        if self.open and is_address(place):
            raise BadInput(
                f"--open shows a file of this machine, but the report is at '{place}'; leave --open out"
            )
