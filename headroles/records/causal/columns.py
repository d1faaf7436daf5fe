"""Names of the columns of a run that intervenes on heads."""

from collections.abc import Sequence
from dataclasses import dataclass

LOSS, DISTRIBUTION, REPRESENTATION, TOKENS = "loss", "distribution", "representation", "tokens"
OUTCOMES = (LOSS, DISTRIBUTION, REPRESENTATION, TOKENS)
"""What an intervention changes: the loss (nats), the total variation of the output distribution, 1 − cosine
of the representation of the input, and 1 − cosine of the hidden state of each token (all three 0 to 1)."""
ACCURACY = "accuracy"
"""Outcome of classifiers: 1 for an input that only the whole model gets right, −1 for one that only the
pruned model gets right, 0 for any other."""
PRUNE_OUTCOMES = (*OUTCOMES, ACCURACY)
"""What damage of removed heads is measured on."""
BY_TOKEN = (LOSS, DISTRIBUTION, TOKENS)
"""Outcomes that have a value for each token; a classifier's loss and distribution have one an input."""
MEAN, ZERO, RESAMPLE, EVEN = "mean", "zero", "resample", "even"
CELLS, MATCHED = "cells", "cells:matched"
WHOLE = (MEAN, ZERO, RESAMPLE, EVEN)
"""Interventions on a whole head, which need no role."""
OF_ROLES = (CELLS, MATCHED)
"""Interventions on the cells of a role, for heads that hold it."""
INTERVENTIONS = (*WHOLE, *OF_ROLES)
SITES, CLEAN, SCREEN, NORM = "sites", "clean", "screen", "norm"


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds.

    Attributes:
        outcome: One of ``OUTCOMES``; "" for the norm of a head's output.
        what: An intervention, or ``SITES`` (damage at the sites of a role beyond other tokens), ``CLEAN``
            (the loss without intervention, the same for all heads), ``SCREEN`` (damage to first order) or
            ``NORM`` (mean norm of the head's part of the layer's output).
        role: The role of cells or sites; "" for none.

    Example:
        >>> Column("loss", "cells:matched", "syntactic:obj").name
        'loss:cells:matched:syntactic:obj'
    """

    outcome: str
    what: str
    role: str = ""

    @property
    def name(self) -> str:
        """Name of the column."""
        return ":".join(part for part in (self.outcome, self.what, self.role) if part)

    @property
    def arm(self) -> bool:
        """Whether the column is the damage of an intervention on a whole head, tested for every head."""
        return self.what in WHOLE


def parse_column(name: str) -> Column:
    """Return what a column of a name holds.

    Raises:
        ValueError: When no run has such a column.

    Example:
        >>> parse_column("tokens:sites:induction")
        Column(outcome='tokens', what='sites', role='induction')
        >>> parse_column("loss:mean").arm, parse_column("norm").what
        (True, 'norm')
    """
    if name == NORM:
        return Column("", NORM)
    outcome, _, rest = name.partition(":")
    for what in (MATCHED, CELLS, SITES, CLEAN, SCREEN, *WHOLE):
        role = rest.removeprefix(what).removeprefix(":")
        if outcome in OUTCOMES and (rest == what or rest.startswith(f"{what}:")):
            if bool(role) == (what in (*OF_ROLES, SITES)):
                return Column(outcome, what, role)
            break
    raise ValueError(f"no run of interventions has a column {name!r}")


def main_arm(names: Sequence[str]) -> str:
    """Return the column that verdicts are shown for: the first arm, by mean output where there is one.

    Example:
        >>> main_arm(["loss:clean", "loss:zero", "loss:mean", "tokens:mean", "norm"])
        'loss:mean'
    """
    arms = [name for name in names if parse_column(name).arm]
    outcome = parse_column(arms[0]).outcome
    mean = Column(outcome, MEAN).name
    return mean if mean in arms else arms[0]


OUTCOME_WORDS = {
    LOSS: "loss",
    DISTRIBUTION: "output distribution",
    REPRESENTATION: "representation",
    TOKENS: "token states",
}
"""What damage is measured on, in few words."""
REPLACED = {
    "mean": "mean output",
    "zero": "zero",
    "resample": "output on other inputs",
    "even": "even attention",
}
"""What stands in place of a head's own output or attention."""
OTHER_COLUMNS = {
    CLEAN: "{outcome} without intervention",
    SCREEN: "{outcome}, damage to first order",
    SITES: "{outcome} at sites of {role} beyond other tokens",
    CELLS: "{outcome} without the cells of {role}",
    MATCHED: "{outcome} without other cells, matched to those of {role}",
}
"""Columns that are no arm, in words."""


def arm_name(arm: str) -> str:
    """Return a column in words.

    Example:
        >>> arm_name("loss:mean"), arm_name("representation:zero"), arm_name("norm")
        ('loss, mean output', 'representation, zero', 'norm of the head’s part of the output')
        >>> arm_name("loss:sites:induction")
        'loss at sites of induction beyond other tokens'
    """
    column = parse_column(arm)
    if column.what == NORM:
        return "norm of the head’s part of the output"
    outcome = OUTCOME_WORDS[column.outcome]
    if column.arm:
        return f"{outcome}, {REPLACED[column.what]}"
    return OTHER_COLUMNS[column.what].format(outcome=outcome, role=column.role)
