"""What a probe is: items about gold annotation, and the baselines a head has to beat."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from headroles.annotation import Choices, Window

MATCHED = "matched"
"""Last part of the name of a column of contrasts."""


@runtime_checkable
class Probe(Protocol):
    """A question with right answers, asked of every head on every window.

    A probe is a ``ChoiceProbe`` (a word chooses among candidates, read on the device) or a
    ``DecodingProbe`` (a structure decoded from a head's whole word attention, on the CPU).
    """

    @property
    def name(self) -> str:
        """First part of the names of its columns."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Relations, kinds of mention or measures, such as "all", "nsubj"."""

    @property
    def directions(self) -> tuple[str, ...]:
        """``("→", "←")``, or ``("",)`` where only the asking word's own attention is read."""

    @property
    def baselines(self) -> tuple[str, ...]:
        """Names of the baselines; those that heads have to beat come first."""

    @property
    def rivals(self) -> int:
        """How many of the baselines heads have to beat; the best of them is chosen on other data."""

    def baseline_hits(self, window: Window) -> Int[np.ndarray, "rows baselines"]:
        """Right answers of each baseline over the items of a window."""


@runtime_checkable
class ChoiceProbe(Probe, Protocol):
    """A probe whose items are choices of words."""

    @property
    def contrast(self) -> bool:
        """Whether attention on the right word beyond the head's distance profile is measured, too."""

    def choices(self, window: Window) -> tuple[Choices, Int[np.ndarray, " rows"]]:
        """The items of a window, and per row how many could not be asked there."""


@runtime_checkable
class DecodingProbe(Probe, Protocol):
    """A probe that decodes a structure from word attention."""

    def items(self, window: Window) -> Int[np.ndarray, " rows"]:
        """Items of a window per row."""

    def decode(
        self, attention: Float[np.ndarray, "heads words words"], window: Window
    ) -> Int[np.ndarray, "rows directions heads"]:
        """Right items per row, direction and head of one layer, from word attention of the window."""
