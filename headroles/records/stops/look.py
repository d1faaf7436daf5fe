"""A look at the heads of a run that may stop early: which are decided after some of its units."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from headroles.records.arrays import read_only
from headroles.records.findings import DECISIONS
from headroles.records.layers import Stack, plain_stack
from headroles.records.shown.brief import brief
from headroles.records.shown.phrases import phrase_of

UNDETERMINED, UNTESTABLE = DECISIONS.index("undetermined"), DECISIONS.index("untestable")
STATES = ("role", "not", "explained", "untestable", "open")
"""States of a head at a look."""
SHOWN = 8
"""Heads that a note names for each role at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """The decisions about all heads after some units of a run, in their random order.

    A look is no promise: at a later look a head may have lost its role. Only the last look counts.

    Attributes:
        number: Number of the look, from 1.
        units: Units that were read.
        examples: Inputs that were read.
        all_units: Units of the run, if it does not stop.
        all_examples: Inputs of the run, if it does not stop.
        roles: Names of the sieves that can be roles.
        decision: Decision for every role, layer and head, as in ``Findings``: 0 role, 1 not, 2 undetermined,
            3 untestable, 4 explained.
        open: Whether a further look may still decide it: undetermined, untestable for want of inputs, or
            decided without a contrast that later inputs bring.
        enough: Share of all roles × heads that must be decided for a stop.
        stack: The layers by their positions; None for a stack of which every block is read.
    """

    number: int
    units: int
    examples: int
    all_units: int
    all_examples: int
    roles: tuple[str, ...]
    decision: Int[np.ndarray, "roles layers heads"]
    open: Bool[np.ndarray, "roles layers heads"]
    enough: float = 1.0
    stack: Stack | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        object.__setattr__(self, "decision", read_only(self.decision))
        object.__setattr__(self, "open", read_only(self.open))

    @property
    def tests(self) -> int:
        """Return the number of roles × heads."""
        return int(self.open.size)

    @property
    def left(self) -> int:
        """Return how many of them are open."""
        return int(self.open.sum())

    @property
    def stops(self) -> bool:
        """Return whether the run may stop here."""
        return self.tests - self.left >= self.enough * self.tests

    @property
    def last(self) -> bool:
        """Return whether all inputs were read."""
        return self.examples == self.all_examples

    def counts(self, place: int) -> dict[str, int]:
        """Return how many heads have the role, have it not, are explained, are untestable, and are open.

        Args:
            place: Place of the role in ``roles``.

        Example:
            >>> decision = np.array([[[0, 1, 2]]])
            >>> look = Look(1, 64, 64, 640, 640, ("local",), decision, decision == 2)
            >>> look.counts(0)
            {'role': 1, 'not': 1, 'explained': 0, 'untestable': 0, 'open': 1}
            >>> look.left, look.tests, look.stops
            (1, 3, False)
        """
        states = self.states(place)
        return {state: int((states == state).sum()) for state in STATES}

    def states(self, place: int) -> np.ndarray:
        """Return the state of every head for a role, layers × heads: "open", or its decision.

        Args:
            place: Place of the role in ``roles``.
        """
        return np.where(self.open[place], "open", np.array(DECISIONS)[self.decision[place]])

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the titles of the roles."""
        return tuple(phrase_of(role).title for role in self.roles)

    @property
    def line(self) -> str:
        """Return the look as a line: how much was read, how many heads are decided, and where some are open.

        Example:
            >>> decision = np.array([[[0, 1, 2]]])
            >>> Look(3, 192, 192, 1545, 1545, ("local",), decision, decision == 2).line
            'look 3: 192 of 1,545 units, 2 of 3 roles × heads decided; open: local 1'
        """
        counts = {role: int(heads.sum()) for role, heads in zip(self.roles, self.open, strict=True)}
        still = ", ".join(f"{role} {count:,}" for role, count in counts.items() if count)
        return (
            f"look {self.number}: {self.units:,} of {self.all_units:,} units, {self.tests - self.left:,} of "
            f"{self.tests:,} roles × heads decided{f'; open: {still}' if still else ''}"
        )

    def open_heads(self) -> dict[str, list[str]]:
        """Return the open heads of every role that has some, as layer-head.

        Example:
            >>> decision = np.array([[[0, 1], [2, 2]]])
            >>> Look(1, 64, 64, 640, 640, ("local",), decision, decision == 2).open_heads()
            {'local': ['1-0', '1-1']}
        """
        stack = self.stack or plain_stack(self.decision.shape[1])
        return {
            role: [stack.name(layer, head) for layer, head in np.argwhere(grid).tolist()]
            for role, grid in zip(self.roles, self.open, strict=True)
            if grid.any()
        }


Watch = Callable[[Look], None]
"""Callback that gets every look of a run."""


def stop_record(look: Look, per_look: int) -> dict[str, Any]:
    """Return where and why a run stopped, in JSON types, for its manifest.

    Args:
        look: The last look.
        per_look: Units between two looks.

    Returns:
        ``rule`` ("decided"), ``stopped`` (whether inputs were left), ``units`` and ``of_units``,
        ``examples`` and ``of_examples``, ``looks``, ``units_per_look``, ``tests`` and ``decided``
        (roles × heads), ``share`` (what had to be decided), and ``open`` (heads by role).
    """
    return {
        "rule": "decided",
        "stopped": not look.last,
        "units": look.units,
        "of_units": look.all_units,
        "examples": look.examples,
        "of_examples": look.all_examples,
        "looks": look.number,
        "units_per_look": per_look,
        "tests": look.tests,
        "decided": look.tests - look.left,
        "share": look.enough,
        "open": look.open_heads(),
    }


def stop_words(record: dict[str, Any]) -> str:
    """Return where and why a run stopped as a sentence, from its manifest.

    Args:
        record: As ``stop_record`` returns it.

    Example:
        >>> record = {"stopped": True, "units": 384, "of_units": 1545}
        >>> record |= {"tests": 360, "decided": 360, "open": {}}
        >>> stop_words(record)
        'The run stopped after 384 of 1,545 units, when all 360 roles × heads were decided.'
        >>> stop_words(record | {"units": 1545, "stopped": False})
        'The run read all 1,545 units, and at the end all 360 roles × heads were decided.'
        >>> stop_words(record | {"stopped": False, "units": 1545, "decided": 359, "open": {"local": ["0-3"]}})
        'The budget of 1,545 units ended with 1 of 360 roles × heads open: local 0-3.'
    """
    decided, tests, units = record["decided"], record["tests"], record["of_units"]
    all_of_them = decided == tests
    if record["stopped"]:
        what = f"all {tests:,}" if all_of_them else f"{decided:,} of {tests:,}"
        left = "" if all_of_them else f" {_open_words(record['open'])}"
        return (
            f"The run stopped after {record['units']:,} of {units:,} units, when {what} roles × heads were "
            f"decided.{left and f' Open:{left}.'}"
        )
    if all_of_them:
        return f"The run read all {units:,} units, and at the end all {tests:,} roles × heads were decided."
    return (
        f"The budget of {units:,} units ended with {tests - decided:,} of {tests:,} roles × heads open: "
        f"{_open_words(record['open'])}."
    )


def stop_sentences(manifest: Mapping[str, Any]) -> list[str]:
    """Return how a run that may stop was read, and where it stopped, for a methods paragraph.

    Args:
        manifest: Of any run.

    Example:
        >>> record = {"stopped": True, "units": 384, "of_units": 1545, "units_per_look": 64, "looks": 6}
        >>> record |= {"tests": 360, "decided": 360, "share": 1.0, "open": {}}
        >>> stop_sentences({"until": record, "settings": {"seed": 0}})[0]
        'Units were read in random order (seed 0), with a look at all heads after every 64 units (6 looks).'
        >>> stop_sentences({})
        []
    """
    record = manifest.get("until")
    if not isinstance(record, dict):
        return []
    seed = manifest.get("settings", {}).get("seed", 0)
    return [
        f"Units were read in random order (seed {seed}), with a look at all heads after every "
        f"{record['units_per_look']} units ({record['looks']} looks).",
        stop_words(record),
    ]


def _open_words(heads: dict[str, list[str]]) -> str:
    """Return the open heads of every role, many only counted."""
    return "; ".join(
        f"{role} {', '.join(names) if len(names) <= SHOWN else f'{len(names)} heads'}"
        for role, names in heads.items()
    )
