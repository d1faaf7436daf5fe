"""Results of interventions on heads: whether heads matter, and whether their roles say where."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from headroles.records.arrays import seal_arrays
from headroles.records.causal.columns import arm_name
from headroles.records.shown.brief import brief
from headroles.records.table import (
    COUNT,
    SHARE,
    Column,
    Table,
    chance,
    counted,
    head_cell,
    interval_ends,
)

VERDICTS = ("needed", "negligible", "undetermined", "untestable", "interfering")
"""What a test says of a head, by code: those of ``records.findings.DECISIONS`` in the same order."""
FEWEST_UNITS = 20
"""Units below which no question about damage is decided."""
ENOUGH_FOR_LITTLE = 75
"""Units below which no damage is called negligible or interfering: what one unit in twenty shows is missing
from 0.02 of samples of 75 units, and from 0.05 of samples of 58."""
COUNTED = ("needed", "negligible", "interfering")
"""Verdicts of which tables count the heads."""
GRIDS = (
    "count", "mean", "low", "high", "p_needed", "q_needed", "p_interfering", "q_interfering", "p_negligible",
    "q_negligible",
)  # fmt: skip
"""Numbers of every arm, layer and head."""
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
    """Damage of taking out one head at a time, and its three tests.

    Its arrays are the columns of ``HEAD_DAMAGE`` by arm, layer and head.

    Attributes:
        arms: Names of the columns, such as "loss:mean", in the order of the first axis.
        threshold: The smallest damage that counts in each arm, θ.
        verdict: Place in ``VERDICTS``.
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

    @property
    def table(self) -> Table:
        """Return a row for each arm, layer and head."""
        arm, layer, head = (place.ravel() for place in np.indices(self.count.shape))
        grids = {name: getattr(self, name).ravel() for name in GRIDS}
        return HEAD_DAMAGE.of(
            arm=np.array(self.arms, object)[arm], layer=layer, head=head, threshold=self.threshold[arm],
            verdict=np.array(VERDICTS, object)[self.verdict.ravel()], **grids,
        )  # fmt: skip


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


ARM = Column("arm", 'Name of the arm, such as "loss:mean".', str, "arm", arm_name, terminal="wide")
ROLE = Column("role", "The role.", str, "role", terminal="narrow")
LAYER = Column("layer", "Layer of the head.", int, "head", cell=head_cell, terminal="narrow", within=COUNT)
HEAD = Column("head", "The head.", int, within=COUNT)
UNITS = counted("count", "Units that counted.", "units")
LOW, HIGH = interval_ends()
ENDS = ("low", "high")
UNDECIDED = ("undetermined", "untestable")
HEAD_DAMAGE = Table(
    "damage.csv", "Damage of taking out one head at a time", "an arm and a head", (
        replace(ARM, terminal=""), LAYER, HEAD, UNITS,
        Column("mean", "Mean damage over units; positive where the output gets worse, or changes.", float,
               "damage [95\u00a0%]", ends=ENDS),
        LOW, HIGH,
        Column("threshold", "The smallest damage that counts in this arm, θ.", within=COUNT),
        chance("p_needed", 'One-sided p of "damage is at most θ", with three further units at the '
               "smallest of any head."),
        chance("q_needed", "`p_needed` adjusted over its family.", "q needed"),
        chance("p_interfering", 'One-sided p of "damage is at least −θ", with three further units at the '
               "largest; NaN for distances."),
        chance("q_interfering", "`p_interfering` adjusted over its family.", "q interfering"),
        chance("p_negligible", 'P of "damage is at least θ in either direction" (two one-sided tests), '
               "with three further units as bad as the worst."),
        chance("q_negligible", "`p_negligible` adjusted over its family.", "q negligible"),
        Column("verdict", "What the tests say of the head. Below 20 units nothing is decided, below 75 "
               "nothing is negligible or interfering.",
               str, "verdict", words=VERDICTS),
    ),
    name="Damage", single=("arm",),
    first=("layer", "arm", "count", "mean", "q_needed", "q_negligible", "q_interfering", "verdict"),
)  # fmt: skip
SITE_TESTS = Table(
    "sites.csv", "Damage at the sites of roles", "an arm, a role and a head that holds it", (
        ARM, ROLE, LAYER, HEAD, UNITS,
        Column("mean", "Mean over units of the damage at sites minus that at other tokens of the same, "
               "or else the nearest, stratum.", float, "at sites − elsewhere [95\u00a0%]", ends=ENDS,
               terminal="narrow", short="at sites −\nelsewhere [95\u00a0%]"),
        LOW, HIGH,
        chance("p", "One-sided p of \"not larger at sites\".", "p"),
        counted("controls", "Heads of the layer without the role that it is compared with, whose mean "
                "damage is clearly above 0; 0 for none.", "controls"),
        Column("difference", "`mean` minus what the controls foretell for a head of its size: mean "
               "damage of the head times their mean of `mean` / mean damage, over the same units. NaN "
               "without controls, and for a head whose mean damage is not clearly above 0.", float,
               "beyond controls [95\u00a0%]", ends=("difference_low", "difference_high"), terminal="wide",
               short="beyond\ncontrols [95\u00a0%]"),
        *interval_ends("difference_low", "difference_high"),
        chance("p_difference", "One-sided p of \"not larger than the controls foretell\".", "p controls"),
        chance("p_joint", "The larger of both p; `p` where there are no controls."),
        chance("q", "`p_joint` adjusted over the labelled heads of the role.", "q", terminal="narrow"),
        chance("p_elsewhere", 'Mirrored `p_joint`: of "not smaller at sites, or not smaller than that of '
               'controls".'),
        chance("q_elsewhere", "`p_elsewhere` adjusted over the labelled heads of the role."),
        Column("decision", '"at its sites", "elsewhere" (significantly smaller at sites, and smaller '
               'than that of the controls), "undetermined" (also below 20 units) or "untestable".', str,
               "decision", terminal="narrow", words=("at its sites", "elsewhere", *UNDECIDED)),
    ),
    name="Sites", first=("layer", "role", "arm"), single=("arm",),
)  # fmt: skip
CELL_TESTS = Table(
    "removals.csv", "Damage of removing the cells of roles", "an outcome, a role and a head that holds it", (
        Column("outcome", "The outcome, such as \"loss\".", str, "outcome", terminal="wide"),
        ROLE, LAYER, HEAD, UNITS,
        Column("cells", "Mean damage of removing attention on the role's cells.", float, "its cells",
               terminal="wide", short="its\ncells"),
        Column("matched", "Mean damage of removing the same mass from other cells at the same offsets.",
               float, "other cells", terminal="wide", short="other\ncells"),
        Column("difference", "`cells` minus `matched`, mean over units.", float, "difference [95\u00a0%]",
               ends=ENDS, terminal="narrow"),
        LOW, HIGH,
        chance("p", "One-sided p of \"not larger than that of matched cells\".", "p"),
        chance("q", "`p` adjusted over the labelled heads of the role.", "q", terminal="narrow"),
        chance("p_other", "One-sided p of \"not smaller than that of matched cells\"."),
        chance("q_other", "`p_other` adjusted over the labelled heads of the role."),
        Column("decision", '"its cells matter", "other cells matter more", "undetermined" (also below 20 '
               'units) or "untestable".', str, "decision", terminal="narrow",
               words=("its cells matter", "other cells matter more", *UNDECIDED)),
    ),
    name="Cells", first=("layer", "role", "outcome"), single=("outcome",),
)  # fmt: skip
ROLE_TESTS = Table(
    "prediction.csv", "Roles and the damage of their heads", "an arm and a role", (
        replace(ARM, terminal="narrow"), ROLE,
        counted("heads", "Heads that hold it.", "heads", terminal="narrow"),
        counted("needed", "Of them, needed; by the verdicts of all heads.", "needed", terminal="wide"),
        counted("negligible", "Of them, negligible.", "negligible", terminal="narrow", short="negli-\ngible"),
        counted("interfering", "Of them, interfering.", "interfering"),
        counted("count", "Units that counted for `area`.", "units"),
        Column("area", "Area under the curve: chance that a head with the role does more damage than one "
               "of its layer without, mean over units; 0.5 for no relation. NaN where no layer has both.",
               float, "area [95\u00a0%]", ends=ENDS, terminal="narrow", within=SHARE),
        LOW, HIGH,
        chance("p_more", "One-sided p of \"area is at most 0.5\"."),
        chance("q_more", "The larger of `p_more` and `p_labels`, adjusted over the roles.", "q more"),
        chance("p_less", "One-sided p of \"area is at least 0.5\"."),
        chance("q_less", "The larger of `p_less` and `p_labels`, adjusted over the roles.", "q less"),
        chance("p_labels", "Rarity of the area among labels at random, with as many heads in each layer: "
               "twice the share of labellings whose area is at least as far out on the same side, at "
               "most 1.", "among random labels"),
        Column("decision", '"more damage", "less damage", "undetermined" (also below 20 units) or '
               '"untestable".', str, "goes with", terminal="narrow",
               words=("more damage", "less damage", *UNDECIDED)),
        Column("damage", "Mean damage of its heads, each taken out alone, mean over units.", float,
               "mean damage [95\u00a0%]", ends=("damage_low", "damage_high"), terminal="wide"),
        *interval_ends("damage_low", "damage_high"),
        chance("p_negligible", 'P of "damage is at least θ in either direction", with three further '
               "units as bad as the worst."),
        chance("q_negligible", "`p_negligible` adjusted over the roles.", "q negligible"),
        counted("quiet", "1 where the role predicts no damage, else 0."),
        Column("no_damage", '"negligible" where `q_negligible` is at most alpha, with 75 units; else '
               '"undetermined" or "untestable".', str, "on average", terminal="narrow",
               words=("negligible", *UNDECIDED)),
    ),
    name="Roles and damage", first=("role",), single=("arm",),
)  # fmt: skip
SET_TESTS = Table(
    "groups.csv", "Damage of all heads of a role together", "an arm and a role", (
        replace(ARM, terminal="narrow"), replace(ROLE, short="together"),
        counted("heads", "Heads that hold it.", "heads", terminal="narrow"), UNITS,
        Column("damage", "Mean damage of taking all of them out.", float, "damage [95\u00a0%]", ends=ENDS,
               terminal="narrow"),
        LOW, HIGH,
        Column("singles", "Sum of the damages of its heads, each taken out alone, over the same units.",
               float, "sum of single heads", terminal="wide", short="sum of\nsingles"),
        Column("excess", "`damage` minus `singles`, mean over units: positive where other heads make up "
               "for one that is missing (self-repair), and where heads change the output alike and the "
               "outcome grows faster than the change, as 1 − cosine and losses do.", float,
               "beyond the sum [95\u00a0%]", ends=("excess_low", "excess_high")),
        *interval_ends("excess_low", "excess_high"),
        chance("p_excess", "One-sided p of \"excess is at most 0\"."),
        chance("q_excess", "`p_excess` adjusted over the roles.", "q beyond the sum"),
        Column("excess_decision", '"more than the sum", "undetermined" or "untestable" (of `excess`).', str,
               words=("more than the sum", *UNDECIDED)),
        counted("sets", "Random sets of as many heads in each layer, of like norm.", "sets"),
        Column("random_low", "Their 2.5 % quantile of mean damage."),
        Column("random_middle", "Their median.", float, "random sets [2.5, 97.5\u00a0%]",
               ends=("random_low", "random_high"), terminal="narrow",
               short="random sets\n[2.5, 97.5\u00a0%]"),
        Column("random_high", "Their 97.5 % quantile."),
        chance("p", "Rarity among placements: (1 + sets with at least this damage beyond norm) / (1 + "
               "sets). The line of damage by norm over all sets is taken from each.", "p"),
        chance("q", "`p` adjusted over the roles.", "q", terminal="wide"),
        Column("decision", '"more than random sets", "undetermined" (also below 20 units) or '
               '"untestable" (no other set is possible).', str, "decision", terminal="narrow",
               words=("more than random sets", *UNDECIDED)),
        Column("norm", "Mean norm of the outputs of its heads.", float, "norm", within=COUNT),
        Column("random_norm", "That of the heads of the random sets, mean over sets; NaN without any.",
               float, "norm of random sets", within=COUNT),
    ),
    name="Sets of heads", single=("arm",), first=(
        "role", "arm", "heads", "count", "damage", "random_middle", "sets", "norm", "random_norm", "p", "q",
        "decision", "singles", "excess", "q_excess",
    ),
)  # fmt: skip
MARGIN_ROWS = Table(
    "margins.csv", "Heads by verdict under other margins", "an arm and a margin", (
        ARM,
        Column("margin", "The margin: a share of the loss, or a damage of a bounded outcome.", float,
               "margin", terminal="narrow", within=COUNT),
        counted("needed", "Heads that are needed.", "needed", terminal="narrow"),
        counted("negligible", "Heads that are negligible.", "negligible", terminal="narrow"),
        counted("interfering", "Heads that interfere.", "interfering", terminal="narrow"),
    ),
    name="Margins", first=("margin",), single=("arm",),
)  # fmt: skip
VERDICTS_BY_ARM = Table(
    "", "Heads by verdict", "an arm", (
        replace(ARM, terminal="narrow"),
        Column("threshold", "The smallest damage that counts.", float, "threshold", terminal="wide"),
        counted("needed", "Heads that are needed.", "needed", terminal="narrow"),
        counted("negligible", "Heads that are negligible.", "negligible", terminal="narrow",
                short="negli-\ngible"),
        counted("undetermined", "Heads that the inputs do not decide.", "undetermined", terminal="narrow",
                short="unde-\nter-\nmined"),
        counted("untestable", "Heads that were not taken out, or have no spread or too few units.",
                "untestable", terminal="wide", short="untest-\nable"),
        counted("interfering", "Heads that interfere.", "interfering", terminal="narrow",
                short="inter-\nfering"),
        replace(LAYER, meaning="Layer of the head of the largest damage; −1 for none.",
                heading="largest in head", terminal="wide", short="largest\nin head"),
        HEAD,
        Column("mean", "Its damage.", float, "its damage [95\u00a0%]", ends=ENDS, terminal="narrow",
               short="damage [95\u00a0%]"),
        LOW, HIGH,
    ),
    name="Verdicts by arm",
)  # fmt: skip


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
    sites: Table = SITE_TESTS
    cells: Table = CELL_TESTS
    roles: Table = ROLE_TESTS
    groups: Table = SET_TESTS
    margins: Table = MARGIN_ROWS
    sets: HeadSets | None = None

    __repr__ = brief
