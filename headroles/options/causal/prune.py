"""Options of ``headroles prune``."""

from dataclasses import dataclass, fields
from typing import Annotated

from headroles.errors import BadInput
from headroles.options.described import Option
from headroles.options.finished import FOLDER, FinishedOptions
from headroles.options.shared import (
    ALPHA,
    BATCH_SIZE,
    BOUND,
    COLUMN_B,
    DATA,
    DEVICE,
    LOSS_LABEL,
    OUT,
    OVERWRITE,
    SEED,
    TEXT_A,
)
from headroles.records.causal.columns import LOSS, PRUNE_OUTCOMES
from headroles.records.objects import DataObject

OF_CHECKS = ("data", "text_a", "text_b", "label")
"""Options that only ``--check`` takes."""
OF_CERTIFICATES = ("bound", "outcome", "sizes", "alpha", "seed", "out", "overwrite")
"""Options that ``--check`` does not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOptions(FinishedOptions):
    """Options of removing heads with a certificate; ``headroles.prune`` documents each.

    Raises:
        UnknownName: For an outcome or device that does not exist.
        BadInput: For numbers out of range, a missing bound, or options that exclude each other.
    """

    folder: Annotated[str, FOLDER.but(detail="A run of headroles ablate; with --check, a pruned model.")]
    bound: Annotated[
        float | None,
        BOUND.but(
            detail="The change is the damage of all removed heads together. It is a share of the loss, or on "
            "the scale of another outcome.",
            default="none; it must be given, except with --check",
        ),
    ] = None
    outcome: Annotated[
        str | None,
        Option(
            "What damage is measured on.",
            "Questions",
            detail="As in headroles ablate. accuracy: the fall of the share of right classes.",
            choices=PRUNE_OUTCOMES,
            default="the first outcome of the run",
        ),
    ] = None
    sizes: Annotated[
        tuple[int, ...],
        Option(
            "Sizes of the sets of heads that are tested, such as 1-8,12,16.",
            "Questions",
            default="up to 36, evenly spread over all heads",
        ),
    ] = ()
    check: Annotated[
        bool, Option("Measure the damage of a pruned model on fresh inputs, given by --data.", "Questions")
    ] = False
    data: Annotated[str | DataObject | None, DATA.but(detail="With --check: inputs never used.")] = None
    text_a: Annotated[str | None, TEXT_A.but(default="as in the run")] = None
    text_b: Annotated[str | None, COLUMN_B.but(default="as in the run")] = None
    label: Annotated[str | None, LOSS_LABEL.but(default="as in the run")] = None
    alpha: Annotated[
        float,
        ALPHA.but(detail="Here: the largest share of certificates that are wrong.", default=""),
    ] = 0.05
    seed: Annotated[int, SEED.but(detail="It decides which units order the heads, and which test them.")] = 0
    device: Annotated[str, DEVICE] = "auto"
    batch_size: Annotated[int, BATCH_SIZE] = 32
    out: Annotated[
        str | None,
        OUT.but(detail="A folder with the model and its certificate.", default="pruned/RUN; none in Python"),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a pruning with other settings.")] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        usual = {field.name: field.default for field in fields(self)}
        given = [name for name in OF_CERTIFICATES if getattr(self, name) != usual[name]]
        if self.check and given:
            raise BadInput(
                "--check writes into the folder of a certificate, and takes its bound, outcome and alpha, "
                f"but got --{given[0]}; leave it out"
            )
        if self.check and self.data is None:
            raise BadInput("--check measures damage on fresh inputs; name their file with --data")
        unused = [name for name in OF_CHECKS if getattr(self, name) is not None]
        if not self.check and unused:
            raise BadInput(
                f"--{unused[0].replace('_', '-')} is of fresh inputs, which only --check reads; give "
                "--check, or leave it out"
            )
        if not self.check and self.bound is None:
            raise BadInput(
                "a certificate says that damage stays below a bound, but none was given; give --bound, "
                "such as 0.01 for 1 % of the loss"
            )
        if self.outcome is not None:
            self.check_bound(self.outcome)
        if self.sizes and self.sizes[0] < 1:
            raise BadInput(f"--sizes are numbers of heads, at least 1, but got {self.sizes[0]}; leave it out")

    def check_bound(self, outcome: str) -> None:
        """Refuse a bound that no damage of an outcome reaches.

        Raises:
            BadInput: When the outcome is at most 1 and the bound is not below it.
        """
        if outcome != LOSS and self.bound is not None and self.bound >= 1:
            raise BadInput(
                f"the damage of {outcome} is at most 1, so its bound lies below 1, but --bound is "
                f"{self.bound}; give a smaller one"
            )
