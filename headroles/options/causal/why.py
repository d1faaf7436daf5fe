"""Options of ``headroles why``."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headroles.errors import BadInput
from headroles.options.causal.held import take_inputs
from headroles.options.described import Option
from headroles.options.finished import FOLDER
from headroles.options.inputs import InputOptions
from headroles.options.shared import ATTENTION, FAMILY, MARGIN, OWN_SIEVE, PRESET, REFERENCES, STREAM, TEST
from headroles.records.rules.rule import Decision
from headroles.stats.decision import BETTING

REDEALS = 19
"""Fewest re-deals whose largest value is a 95 % point: each of 20 is the largest with a chance of 5 %."""

MOST_ROTATIONS = 99_999
"""Most random rotations of a head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyOptions(InputOptions):
    """Options of runs that ask why heads attend where they do; ``headroles.why`` documents each.

    Where no inputs are given, inputs and model are those of the label run: its manifest is read.

    Raises:
        UnknownName: For a task, source, device or precision that does not exist.
        BadInput: For numbers out of range, options that exclude each other, or a folder that holds no label
            run.
    """

    folder: Annotated[
        str, FOLDER.but(detail="Here: a label run on this machine. Its inputs and model are the default.")
    ]
    sieve: Annotated[tuple[str, ...], OWN_SIEVE] = ()
    rotations: Annotated[
        int,
        Option(
            "Random rotations of a head's dimensions, with which its parts are compared.",
            "Questions",
            least=99,
            most=MOST_ROTATIONS,
        ),
    ] = 9_999
    redeals: Annotated[
        int,
        Option(
            "Re-deals: each moves the cells of a role by chance to other queries at equal offsets.",
            "Questions",
            detail="With 0, no directions are tested; else at least 19.",
            least=0,
            most=999,
        ),
    ] = REDEALS
    references: Annotated[
        int,
        REFERENCES.but(detail="Here: the mean query of each head."),
    ] = 200

    margin: Annotated[float | None, MARGIN.but(hidden=True)] = None
    family: Annotated[str | None, FAMILY.but(hidden=True)] = None
    test: Annotated[str | None, TEST.but(default="t-skew")] = None
    attention: Annotated[
        str | None,
        ATTENTION.but(detail="Not for this command: stored maps hold no queries and keys.", rare=True),
    ] = None
    preset: Annotated[
        str, PRESET.but(detail="Only calibrated: the released code reads no queries.", rare=True)
    ] = "calibrated"
    stream: Annotated[
        bool, STREAM.but(detail="Not for this command: units are counted before they are cut into groups.")
    ] = False

    KIND: ClassVar[str] = "why"
    COMMAND: ClassVar[str] = "headroles why"
    NAMES_RUN: ClassVar[str] = "FOLDER"
    NOT_STORED: ClassVar[tuple[str, ...]] = ("sieve",)

    def __post_init__(self) -> None:
        """Take inputs of the label run where none are given, and check what can be checked at once."""
        if self.attention is not None:
            raise BadInput(
                "queries and keys are those of a model that runs, but --attention names stored maps; leave "
                "it out"
            )
        take_inputs(self, self.folder, self.NAMES_RUN, "queries and keys are those of a model that runs")
        InputOptions.__post_init__(self)
        if self.preset == "published":
            raise BadInput("the released code reads no queries and keys; leave --preset out")
        if self.stream:
            raise BadInput(
                "units are cut into three groups before anything is measured, but --stream does not count "
                "them first; leave it out"
            )
        if self.test == BETTING:
            raise BadInput(
                f"contrasts of logits have no bounds, which --test {BETTING} needs; give another --test, or "
                f"leave it out"
            )
        if self.margin is not None:
            raise BadInput("the parts of a contrast are compared without a margin; leave --margin out")
        if self.family is not None:
            raise BadInput("all heads of all roles are corrected together; leave --family out")
        if 0 < self.redeals < REDEALS:
            raise BadInput(
                f"--redeals is 0 or at least {REDEALS}, so that the largest of them is a 95 % point, but got "
                f"{self.redeals}; give one of these"
            )

    @property
    def roles(self) -> str:
        """Folder of the label run."""
        return self.folder

    @property
    def usual(self) -> Decision:
        """Default decision."""
        return Decision()
