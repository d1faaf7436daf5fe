"""Options of a run of surface statistics."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from headroles.errors import BadInput
from headroles.options.described import Option
from headroles.options.inputs import InputOptions
from headroles.options.shared import LOSS_LABEL, MARGIN, MASK_SHARE, TEST, WEIGHTS, check_norms
from headroles.records.rules.rule import Decision
from headroles.sieves.settings import SMOOTHING, USUAL, check_marks

MASK = 0.15
"""Default share of tokens that are masked for losses of masked words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceOptions(InputOptions):
    """Options of a run of surface statistics; ``headroles.surface`` documents each.

    Raises:
        UnknownName: For a task, source, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    gradients: Annotated[
        bool, Option("Measure how much the loss depends on attention, which is slow.", "Questions")
    ] = False
    label: Annotated[str | None, LOSS_LABEL] = None
    mask: Annotated[float, MASK_SHARE] = MASK
    marks: Annotated[
        str, Option("Marks that count as punctuation, in one word. With all, every mark counts.", "Questions")
    ] = USUAL

    weights: Annotated[str, WEIGHTS] = "attention"
    margin: Annotated[float | None, MARGIN.but(hidden=True)] = None
    test: Annotated[str | None, TEST.but(default="t-skew")] = None

    KIND: ClassVar[str] = "surface"
    COMMAND: ClassVar[str] = "headroles surface"
    OF_MODELS: ClassVar[tuple[str, ...]] = (*InputOptions.OF_MODELS, "gradients", "label", "mask")

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        InputOptions.__post_init__(self)
        check_marks(self.marks)
        check_norms(self.weights, self.attention is not None, self.preset)
        if self.gradients and self.weights == "norm":
            raise BadInput(
                "gradients are of a loss by attention itself, but --weights is 'norm'; leave one of them out"
            )
        if self.margin is not None:
            raise BadInput(
                "surface statistics are tested against even attention itself, without a margin; "
                "leave --margin out"
            )
        if self.gradients and self.dtype != "float32":
            raise BadInput(
                f"gradients are taken in float32, because 16 bits lose most of them, but --dtype is "
                f"{self.dtype}; leave it out"
            )
        if self.gradients and self.kind is not None:
            raise BadInput(
                "gradients are taken in models that are all encoder or all decoder, which have one kind of "
                f"attention, but --kind is {self.kind!r}; leave it out"
            )
        for name, usual in (("label", None), ("mask", MASK)):
            if getattr(self, name) != usual and not self.gradients:
                raise BadInput(
                    f"--{name} changes a loss, which needs --gradients; leave it out, or give --gradients"
                )
        if self.label is not None and (self.data is None or self.source == "hub"):
            raise BadInput("--label names a column of --data, but no file was given")

    @property
    def usual(self) -> Decision:
        """Default decision with any preset, because the released code has no test."""
        return Decision()

    @property
    def smoothing(self) -> float:
        """Share of even attention mixed into each row before entropies: none, or as in the released code."""
        return SMOOTHING if self.preset == "published" else 0.0
