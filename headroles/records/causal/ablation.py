"""Results of interventions on heads: whether heads matter, and whether their roles say where."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from headroles.records.arrays import seal_arrays
from headroles.records.brief import brief

VERDICTS = ("needed", "negligible", "undetermined", "untestable", "interfering")
"""What a test says of a head, by code: those of ``records.findings.DECISIONS`` in the same order."""
FEWEST_UNITS = 20
"""Units below which no question about damage is decided."""
ENOUGH_FOR_LITTLE = 75
"""Units below which no damage is called negligible or interfering: what one unit in twenty shows is missing
from 0.02 of samples of 75 units, and from 0.05 of samples of 58."""
QUIET_ROLES = ("delimiter", "first", "punctuation", "parked")
"""First part of the names of roles that predict no damage."""


def is_quiet(role: str) -> bool:
    """Return whether a role predicts that a head does not matter: it attends where little is to be taken.

    Example:
        >>> is_quiet("delimiter:sep"), is_quiet("local")
        (True, False)
    """
    return role.partition(":")[0] in QUIET_ROLES


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """Damage of taking out one head at a time, and its three tests (rows of ``damage.csv``).

    Attributes:
        arms: Names of the columns, such as "loss:mean", in the order of the first axis.
        count: Units that counted.
        mean: Mean damage over units; positive where the output gets worse, or changes.
        low: Lower end of its 95 % interval.
        high: Upper end.
        threshold: The smallest damage that counts in each arm, θ.
        p_needed: One-sided p of "damage is at most θ", with three further units at the smallest of any head.
        q_needed: ``p_needed`` adjusted over its family.
        p_interfering: One-sided p of "damage is at least −θ", with three further units at the largest.
        q_interfering: ``p_interfering`` adjusted over its family.
        p_negligible: P of "damage is at least θ in either direction" (two one-sided tests), the same.
        q_negligible: ``p_negligible`` adjusted over its family.
        verdict: 0 needed, 1 negligible, 2 undetermined, 3 untestable, 4 interfering (``VERDICTS``).
    """

    arms: tuple[str, ...]
    count: Int[np.ndarray, "arms layers heads"]
    mean: Float[np.ndarray, "arms layers heads"]
    low: Float[np.ndarray, "arms layers heads"]
    high: Float[np.ndarray, "arms layers heads"]
    threshold: Float[np.ndarray, " arms"]
    p_needed: Float[np.ndarray, "arms layers heads"]
    q_needed: Float[np.ndarray, "arms layers heads"]
    p_interfering: Float[np.ndarray, "arms layers heads"]
    q_interfering: Float[np.ndarray, "arms layers heads"]
    p_negligible: Float[np.ndarray, "arms layers heads"]
    q_negligible: Float[np.ndarray, "arms layers heads"]
    verdict: Int[np.ndarray, "arms layers heads"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "damages", {"arms": len(self.arms)})

    def of(self, arm: str) -> int:
        """Return the position of an arm on the first axis."""
        return self.arms.index(arm)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRoles:
    """The roles of a label run that are asked about, decided on units that measure no damage.

    Attributes:
        roles: Names of the roles.
        decision: Decision of each head, by code (``records.findings.DECISIONS``).
        score: Mean score of each head over those units.
        units: Names of the units that decided; damage at sites and of roles is measured on others. Where the
            label run read other inputs, each name is followed by its folder.
        source: Folder of the label run; "" where there was none.
        examples: Keys of the inputs of those units. Where the label run read other inputs, whose names say
            nothing here, keys of the inputs of this run that are the same as inputs of that one.
    """

    roles: tuple[str, ...]
    decision: Int[np.ndarray, "roles layers heads"]
    score: Float[np.ndarray, "roles layers heads"]
    units: tuple[str, ...]
    source: str = ""
    examples: tuple[str, ...] = ()

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "held roles", {"roles": len(self.roles)})

    def heads(self, role: str) -> Bool[np.ndarray, "layers heads"]:
        """Return which heads hold a role."""
        held: np.ndarray = self.decision[self.roles.index(role)] == 0
        return held

    def apart(self, units: Sequence[str], examples: Sequence[str]) -> Bool[np.ndarray, " examples"]:
        """Return which examples belong to units that decided no label: damage of roles is measured on them.

        A unit is named by one of its inputs, and other inputs of a run can name it otherwise. So a unit is
        left out, too, when one of its inputs decided.

        Args:
            units: Unit of each example.
            examples: Key of each example.

        Example:
            >>> grid = np.zeros((1, 1, 2), dtype=np.int8)
            >>> held = HeldRoles(("local",), grid, grid * 0.5, ("a",), "run", ("x0", "x1"))
            >>> held.apart(["a", "b", "b", "c"], ["x0", "x1", "x2", "x3"]).tolist()
            [False, False, False, True]
        """
        decided = {*self.units}
        own = {*self.examples}
        decided |= {unit for unit, example in zip(units, examples, strict=True) if example in own}
        return np.array([unit not in decided for unit in units], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class SiteTest:
    """Damage of one head at the sites of one of its roles, beyond other tokens (a row of ``sites.csv``).

    Attributes:
        arm: Name of the arm, such as "loss:mean".
        role: The role.
        layer: Layer of the head.
        head: The head.
        count: Units that counted.
        mean: Mean over units of the damage at sites minus that at other tokens of the same, or else the
            nearest, stratum.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: One-sided p of "not larger at sites".
        controls: Heads of the layer without the role that it is compared with, whose mean damage is clearly
            above 0; 0 for none.
        difference: ``mean`` minus what the controls foretell for a head of its size: mean damage of the head
            times their mean of ``mean`` / mean damage, over the same units. NaN without controls, and for a
            head whose mean damage is not clearly above 0.
        difference_low: Lower end of its 95 % interval.
        difference_high: Upper end.
        p_difference: One-sided p of "not larger than the controls foretell".
        p_joint: The larger of both p; ``p`` where there are no controls.
        q: ``p_joint`` adjusted over the labelled heads of the role.
        p_elsewhere: Mirrored ``p_joint``: of "not smaller at sites, or not smaller than that of controls".
        q_elsewhere: ``p_elsewhere`` adjusted over the labelled heads of the role.
        decision: "at its sites", "elsewhere" (significantly smaller at sites, and smaller than that of the
            controls), "undetermined" (also below 20 units) or "untestable".
    """

    arm: str
    role: str
    layer: int
    head: int
    count: int
    mean: float
    low: float
    high: float
    p: float
    controls: int
    difference: float
    difference_low: float
    difference_high: float
    p_difference: float
    p_joint: float
    q: float
    p_elsewhere: float
    q_elsewhere: float
    decision: str


@dataclass(frozen=True, slots=True)
class CellTest:
    """Damage of removing the cells of a role, against equally much attention elsewhere (``removals.csv``).

    Attributes:
        outcome: The outcome, such as "loss".
        role: The role.
        layer: Layer of the head.
        head: The head.
        count: Units that counted.
        cells: Mean damage of removing attention on the role's cells.
        matched: Mean damage of removing the same mass from other cells at the same offsets.
        difference: ``cells`` minus ``matched``, mean over units.
        low: Lower end of the 95 % interval of the difference.
        high: Upper end.
        p: One-sided p of "not larger than that of matched cells".
        q: ``p`` adjusted over the labelled heads of the role.
        p_other: One-sided p of "not smaller than that of matched cells".
        q_other: ``p_other`` adjusted over the labelled heads of the role.
        decision: "its cells matter", "other cells matter more", "undetermined" (also below 20 units) or
            "untestable".
    """

    outcome: str
    role: str
    layer: int
    head: int
    count: int
    cells: float
    matched: float
    difference: float
    low: float
    high: float
    p: float
    q: float
    p_other: float
    q_other: float
    decision: str


@dataclass(frozen=True, slots=True)
class RoleTest:
    """Whether holding a role goes with damage, over the heads of each layer (a row of ``prediction.csv``).

    Attributes:
        arm: Name of the arm.
        role: The role.
        heads: Heads that hold it.
        needed: Of them, needed; by the verdicts of all heads.
        negligible: Of them, negligible.
        interfering: Of them, interfering.
        count: Units that counted for ``area``.
        area: Area under the curve: chance that a head with the role does more damage than one of its layer
            without, mean over units (0 to 1; 0.5 for no relation); NaN where no layer has both.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p_more: One-sided p of "area is at most 0.5".
        q_more: The larger of ``p_more`` and ``p_labels``, adjusted over the roles.
        p_less: One-sided p of "area is at least 0.5".
        q_less: The larger of ``p_less`` and ``p_labels``, adjusted over the roles.
        p_labels: Rarity of the area among labels at random, with as many heads in each layer: twice the share
            of labellings whose area is at least as far out on the same side, at most 1.
        decision: "more damage", "less damage", "undetermined" (also below 20 units) or "untestable".
        damage: Mean damage of its heads, each taken out alone, mean over units.
        damage_low: Lower end of its 95 % interval.
        damage_high: Upper end.
        p_negligible: P of "damage is at least θ in either direction", with three further units as bad as
            the worst.
        q_negligible: ``p_negligible`` adjusted over the roles.
        quiet: 1 where the role predicts no damage, else 0.
        no_damage: "negligible" where ``q_negligible`` is at most alpha, with 75 units; else "undetermined" or
            "untestable".
    """

    arm: str
    role: str
    heads: int
    needed: int
    negligible: int
    interfering: int
    count: int
    area: float
    low: float
    high: float
    p_more: float
    q_more: float
    p_less: float
    q_less: float
    p_labels: float
    decision: str
    damage: float
    damage_low: float
    damage_high: float
    p_negligible: float
    q_negligible: float
    quiet: int
    no_damage: str


@dataclass(frozen=True, slots=True)
class GroupTest:
    """Damage of taking out all heads of a role at once, against random sets of heads (``groups.csv``).

    Attributes:
        arm: Name of the arm.
        role: The role.
        heads: Heads that hold it.
        count: Units that counted.
        damage: Mean damage of taking all of them out.
        low: Lower end of its 95 % interval.
        high: Upper end.
        singles: Sum of the damages of its heads, each taken out alone, over the same units.
        excess: ``damage`` minus ``singles``, mean over units: positive where other heads make up for one
            that is missing (self-repair), and where heads change the output alike and the outcome grows
            faster than the change, as 1 − cosine and losses do.
        excess_low: Lower end of its 95 % interval.
        excess_high: Upper end.
        p_excess: One-sided p of "excess is at most 0".
        q_excess: ``p_excess`` adjusted over the roles.
        excess_decision: "more than the sum", "undetermined" or "untestable" (of ``excess``).
        sets: Random sets of as many heads in each layer, of like norm.
        random_low: Their 2.5 % quantile of mean damage.
        random_middle: Their median.
        random_high: Their 97.5 % quantile.
        p: Rarity among placements: (1 + sets with at least this damage beyond norm) / (1 + sets). The line of
            damage by norm over all sets is taken from each.
        q: ``p`` adjusted over the roles.
        decision: "more than random sets", "undetermined" (also below 20 units) or "untestable" (no other set
            is possible).
        norm: Mean norm of the outputs of its heads.
        random_norm: That of the heads of the random sets, mean over sets; NaN without any.
    """

    arm: str
    role: str
    heads: int
    count: int
    damage: float
    low: float
    high: float
    singles: float
    excess: float
    excess_low: float
    excess_high: float
    p_excess: float
    q_excess: float
    excess_decision: str
    sets: int
    random_low: float
    random_middle: float
    random_high: float
    p: float
    q: float
    decision: str
    norm: float = float("nan")
    random_norm: float = float("nan")


@dataclass(frozen=True, slots=True)
class MarginRow:
    """Verdicts under another margin (a row of ``margins.csv``).

    Attributes:
        arm: Name of the arm.
        margin: The margin: a share of the loss, or a damage of a bounded outcome.
        needed: Heads that are needed.
        negligible: Heads that are negligible.
        interfering: Heads that interfere.
    """

    arm: str
    margin: float
    needed: int
    negligible: int
    interfering: int


@dataclass(frozen=True, slots=True, eq=False)
class HeadSets:
    """Sets of heads that were taken out together, and their damage (``sets.npz``).

    Attributes:
        arms: Names of the arms.
        roles: Role of each set.
        number: 0 for the heads of the role themselves, from 1 on for random sets.
        members: Heads of each set.
        damage: Damage of each arm, set and example, in the order of the scores; NaN where not measured.
    """

    arms: tuple[str, ...]
    roles: tuple[str, ...]
    number: Int[np.ndarray, " sets"]
    members: Bool[np.ndarray, "sets layers heads"]
    damage: Float32[np.ndarray, "arms sets examples"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes, and make the arrays read-only.

        Raises:
            BadInput: Naming the first array that does not fit.
        """
        seal_arrays(self, "sets of heads", {"arms": len(self.arms), "sets": len(self.roles)})


@dataclass(frozen=True, slots=True, eq=False)
class Ablation:
    """Everything that interventions on heads say beyond the findings.

    Attributes:
        damage: Verdicts of all heads, by arm.
        held: Roles that are asked about; None without a label run.
        sites: Whether roles say where heads matter.
        cells: Whether the cells of a role matter.
        roles: Whether roles say which heads matter.
        groups: Whether roles matter when all their heads are taken out.
        margins: Verdicts under other margins.
        sets: The sets that were taken out together; None where none were.
    """

    damage: Damage
    held: HeldRoles | None = None
    sites: tuple[SiteTest, ...] = ()
    cells: tuple[CellTest, ...] = ()
    roles: tuple[RoleTest, ...] = ()
    groups: tuple[GroupTest, ...] = ()
    margins: tuple[MarginRow, ...] = ()
    sets: HeadSets | None = None

    __repr__ = brief
