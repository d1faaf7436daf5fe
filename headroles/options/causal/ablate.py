"""Options of ``headroles ablate``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from headroles.errors import BadInput
from headroles.options.causal.held import take_inputs
from headroles.options.described import Option
from headroles.options.inputs import InputOptions
from headroles.options.shared import (
    ATTENTION,
    LOSS_LABEL,
    MARGIN,
    MASK_SHARE,
    OWN_SIEVE,
    PRESET,
    REFERENCES,
    TEST,
)
from headroles.options.surface import MASK
from headroles.records.causal.columns import (
    CELLS,
    DISTRIBUTION,
    INTERVENTIONS,
    LOSS,
    MATCHED,
    MEAN,
    OF_ROLES,
    OUTCOMES,
    RESAMPLE,
    WHOLE,
)
from headroles.records.rules.rule import Decision

SHARE = 0.01
"""Default of the smallest damage that counts: 1 % of the loss, or 0.01 of an outcome between 0 and 1."""
OF_LOSSES = {"screen": (LOSS,), "label": (LOSS,), "mask": (LOSS, DISTRIBUTION)}
"""Options of a model's loss, and the outcomes that use each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AblateOptions(InputOptions):
    """Options of a run that takes heads out; ``headroles.ablate`` documents each.

    Where a label run is given and no inputs, inputs and model are those of the label run: its manifest is
    read.

    Raises:
        UnknownName: For an intervention, outcome, task, source, device or precision that does not exist.
        BadInput: For numbers out of range, options that exclude each other, or a folder that holds no label
            run.
    """

    roles: Annotated[
        str | None,
        Option(
            "Folder of a label run, whose roles are asked about.",
            "Questions",
            path=True,
            detail="Without inputs and model, those of that run are taken.",
        ),
    ] = None
    sieve: Annotated[tuple[str, ...], OWN_SIEVE] = ()
    by: Annotated[
        tuple[str, ...],
        Option(
            "What replaces the output of a head, or its attention.",
            "Questions",
            detail="May be repeated. cells and cells:matched need --roles and one of the others.",
            choices=INTERVENTIONS,
            kind="intervention",
        ),
    ] = (MEAN,)
    outcome: Annotated[
        tuple[str, ...],
        Option(
            "What damage is measured on.",
            "Questions",
            detail="loss: its rise. distribution: total variation of the output. representation, tokens: 1 − "
            "cosine, of an input or of each token. May be repeated.",
            choices=OUTCOMES,
            default="loss where the model has one, else representation and tokens",
        ),
    ] = ()
    groups: Annotated[
        bool,
        Option(
            "Also take out all heads of a role at once, and random sets of heads. Needs --roles.",
            "Questions",
            detail="Every set takes about as long as one head. Inputs that decide roles are left out.",
        ),
    ] = False
    sets: Annotated[
        int,
        Option(
            "Random sets for each role, with as many heads in each layer and of like norm; for --groups.",
            "Questions",
            least=99,
            most=9999,
            rare=True,
        ),
    ] = 99
    screen: Annotated[
        int | None,
        Option(
            "Take out only this many heads, those of the largest estimated damage. Needs a loss.",
            "Questions",
            least=1,
            detail="The estimate is gradient times difference. Heads that tests of roles need are added.",
        ),
    ] = None
    donors: Annotated[
        int,
        Option(
            "Inputs whose outputs --by resample puts in, averaged over their damages.",
            "Questions",
            least=1,
            most=100,
            rare=True,
        ),
    ] = 5
    references: Annotated[
        int,
        REFERENCES.but(detail="Here: mean outputs, and outputs that are drawn."),
    ] = 200
    label: Annotated[str | None, LOSS_LABEL.but(rare=True)] = None
    mask: Annotated[float, MASK_SHARE] = MASK

    margin: Annotated[
        float | None,
        MARGIN.but(
            detail="It is a share of the loss, or a change of another outcome.",
            default="0.01",
        ),
    ] = None
    test: Annotated[str | None, TEST.but(default="t-skew")] = None
    attention: Annotated[
        str | None,
        ATTENTION.but(detail="Not for this command: heads are taken out of a model that runs.", rare=True),
    ] = None
    preset: Annotated[
        str, PRESET.but(detail="Only calibrated: the released code takes no heads out.", rare=True)
    ] = "calibrated"
    KIND: ClassVar[str] = "ablate"
    COMMAND: ClassVar[str] = "headroles ablate"
    NAMES_RUN: ClassVar[str] = "--roles"
    NOT_STORED: ClassVar[tuple[str, ...]] = ("sieve",)

    def __post_init__(self) -> None:
        """Take inputs of the label run where none are given, and check what can be checked at once."""
        if self.roles is not None:
            take_inputs(self, self.roles, self.NAMES_RUN, "heads are taken out of a model that runs")
        InputOptions.__post_init__(self)
        if self.attention is not None:
            raise BadInput(
                "heads are taken out of a model that runs, but --attention names stored maps; leave it out"
            )
        if self.preset == "published":
            raise BadInput("the released code takes no heads out; leave --preset out")
        for name in ("by", "outcome"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise BadInput(f"--{name} names each thing once, but got {', '.join(getattr(self, name))}")
        if not {*self.by} & {*WHOLE}:
            given = ", ".join(self.by) or "none"
            raise BadInput(f"--by names at least one of {', '.join(WHOLE)}, but got {given}; add one")
        if MATCHED in self.by and CELLS not in self.by:
            raise BadInput("cells:matched is compared with cells; give --by cells, too")
        if self.sieve and self.roles is None:
            raise BadInput("--sieve gives a sieve of a label run; name the run with --roles")
        if self.of_roles and self.roles is None:
            raise BadInput(f"{self.of_roles[0]} needs the roles of heads; name a label run with --roles")
        self._check_used()
        if self.label is not None and (self.data is None or self.source == "hub"):
            raise BadInput("--label names a column of --data, but no file was given")

    def _check_used(self) -> None:
        """Refuse options that change nothing without another option."""
        usual = _defaults()
        read = self.roles is not None or self.screen is not None or {*self.by} & {MEAN, RESAMPLE}
        for name, used, needed in (
            ("sets", self.groups, "--groups"),
            ("donors", RESAMPLE in self.by, "--by resample"),
            ("references", read, "--by mean, --by resample, --roles or --screen"),
        ):
            if getattr(self, name) != usual[name] and not used:
                raise BadInput(f"--{name} has no effect without {needed}; leave it out, or add {needed}")
        if self.outcome:
            self.check_outcomes(self.outcome)

    def check_outcomes(self, outcomes: Sequence[str]) -> None:
        """Refuse options that change nothing where damage is measured on some outcomes.

        Args:
            outcomes: Those that the options name, or else those that the model has.

        Raises:
            BadInput: For options of a loss without one, and for a margin that no bounded outcome reaches.
        """
        usual = _defaults()
        for name, users in OF_LOSSES.items():
            if getattr(self, name) != usual[name] and not {*outcomes} & {*users}:
                other = f"add --outcome {users[0]}" if self.outcome else "give a --model saved with a loss"
                raise BadInput(
                    f"--{name} is for damage of {' or '.join(users)}, but it is measured on "
                    f"{', '.join(outcomes)}; {other}, or leave --{name} out"
                )
        bounded = [outcome for outcome in outcomes if outcome != LOSS]
        if bounded and self.share >= 1:
            raise BadInput(
                f"the damage of {bounded[0]} is at most 1, so its margin lies below 1, but --margin is "
                f"{self.share:g}; give a smaller one"
            )

    @property
    def of_roles(self) -> tuple[str, ...]:
        """What is asked about heads that hold a role, as words of the command line."""
        cells = [f"--by {name}" for name in self.by if name in OF_ROLES]
        return (*cells, *["--groups"] * self.groups)

    @property
    def usual(self) -> Decision:
        """Default decision."""
        return Decision()

    @property
    def share(self) -> float:
        """Smallest damage that counts, as a share of the loss or as a change of another outcome."""
        return SHARE if self.margin is None else self.margin


def _defaults() -> Mapping[str, Any]:
    return {field.name: field.default for field in fields(AblateOptions)}
