"""Verdicts of heads that were taken out, and tests of roles, as files of a run folder, and back."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from headroles.records.causal.ablation import (
    VERDICTS,
    Ablation,
    CellTest,
    Damage,
    GroupTest,
    HeadSets,
    HeldRoles,
    MarginRow,
    RoleTest,
    SiteTest,
)
from headroles.records.causal.columns import parse_column
from headroles.records.example import Scores
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of
from headroles.storage.folder import DAMAGE, GROUPS, HEAD_SETS, HELD, MARGINS, PREDICTION, REMOVALS, SITES
from headroles.storage.tables import csv_text, read_records

TESTS: dict[str, tuple[str, type]] = {
    SITES: ("sites", SiteTest),
    REMOVALS: ("cells", CellTest),
    PREDICTION: ("roles", RoleTest),
    GROUPS: ("groups", GroupTest),
    MARGINS: ("margins", MarginRow),
}
"""Field of ``Ablation`` and kind of record, by the name of the table."""


@dataclass(frozen=True, slots=True)
class HeadDamage:
    """Row of ``damage.csv``: the damage of taking one head out, and its verdict.

    Attributes:
        arm: Name of the column, such as "loss:mean".
        layer: Layer of the head.
        head: The head.
        count: Units that counted.
        mean: Mean damage over units.
        low: Lower end of its 95 % interval.
        high: Upper end.
        threshold: The smallest damage that counts in this arm, θ.
        p_needed: One-sided p of "damage is at most θ".
        q_needed: ``p_needed`` adjusted over its family.
        p_interfering: One-sided p of "damage is at least −θ", with three further units as bad as the worst;
            NaN for distances.
        q_interfering: ``p_interfering`` adjusted over its family.
        p_negligible: P of "damage is at least θ in either direction", with three further units as bad as
            the worst.
        q_negligible: ``p_negligible`` adjusted over its family.
        verdict: "needed", "negligible", "interfering", "undetermined" or "untestable". Below 20 units
            nothing is decided, below 75 nothing is negligible or interfering.
    """

    arm: str
    layer: int
    head: int
    count: int
    mean: float
    low: float
    high: float
    threshold: float
    p_needed: float
    q_needed: float
    p_interfering: float
    q_interfering: float
    p_negligible: float
    q_negligible: float
    verdict: str


GRIDS = tuple(
    field.name for field in fields(Damage) if field.name not in ("arms", "count", "threshold", "verdict")
)
"""Fields of ``Damage`` with a number per arm, layer and head."""


def ablation_files(ablation: Ablation) -> dict[str, str | bytes]:
    """Return every file by name; NaN is an empty cell, and empty tables are left out.

    ``held.npz`` holds the roles with their decisions, scores and units, and ``sets.npz`` the sets of heads
    with their damage (float32).
    """
    contents: dict[str, str | bytes] = {DAMAGE: csv_text(HeadDamage, damage_rows(ablation.damage))}
    for name, (field, kind) in TESTS.items():
        if getattr(ablation, field):
            contents[name] = csv_text(kind, getattr(ablation, field))
    for name, record in ((HELD, ablation.held), (HEAD_SETS, ablation.sets)):
        if record is not None:
            contents[name] = archive_bytes(arrays_of(record), compressed=True)
    return contents


def damage_rows(damage: Damage) -> list[HeadDamage]:
    """Return a row per arm, layer and head."""
    return [
        HeadDamage(
            arm=damage.arms[place[0]],
            layer=place[1],
            head=place[2],
            count=int(damage.count[place]),
            threshold=float(damage.threshold[place[0]]),
            **{name: float(getattr(damage, name)[place]) for name in GRIDS},
            verdict=VERDICTS[damage.verdict[place]],
        )
        for place in np.ndindex(damage.count.shape)
    ]


def read_ablation(folder: Path, scores: Scores) -> Ablation:
    """Read verdicts and tests from a run folder.

    Args:
        folder: Folder of the run.
        scores: Its scores.

    Raises:
        KeyError: When a column or an array is missing.
        OSError: When a file is missing that every run has.
        ValueError: When a file is damaged, or has arms, heads, roles, examples or verdicts that the run has
            not.
        BadInput: When arrays do not fit together.
    """
    damage = _read_damage(folder / DAMAGE, scores)
    tables = {
        field: tuple(read_records(kind, folder / name)) if (folder / name).is_file() else ()
        for name, (field, kind) in TESTS.items()
    }
    held = _read_archive(folder / HELD, HeldRoles)
    sets = _read_archive(folder / HEAD_SETS, HeadSets)
    ablation = Ablation(damage=damage, held=held, sets=sets, **tables)
    _check_roles(ablation, (scores.layers, scores.heads))
    _check_sets(ablation, scores)
    _check_words(ablation)
    return ablation


def _read_archive(path: Path, kind: type) -> Any:
    """Read a record from an archive; None where there is no file."""
    return record_of(kind, read_archive(path.read_bytes(), path.name)) if path.is_file() else None


def _read_damage(path: Path, scores: Scores) -> Damage:
    arms = tuple(name for name in scores.sieves if parse_column(name).arm)
    shape = (len(arms), scores.layers, scores.heads)
    rows: list[HeadDamage] = read_records(HeadDamage, path)
    wanted = [(arms[place[0]], *place[1:]) for place in np.ndindex(shape)]
    if [(row.arm, row.layer, row.head) for row in rows] != wanted:
        raise ValueError(f"the rows of {path.name} are not every arm, layer and head in turn")
    grids = {name: np.array([getattr(row, name) for row in rows]).reshape(shape) for name in GRIDS}
    thresholds = np.array([row.threshold for row in rows]).reshape(len(arms), -1)
    if not all(np.unique(own).size == 1 for own in thresholds):
        raise ValueError(f"{path.name} has more than one threshold for an arm")
    return Damage(
        arms=arms,
        count=np.array([row.count for row in rows], dtype=np.int64).reshape(shape),
        threshold=thresholds[:, 0],
        verdict=np.array([_code(row.verdict, path.name) for row in rows], dtype=np.int8).reshape(shape),
        **grids,
    )


def _code(verdict: str, name: str) -> int:
    if verdict not in VERDICTS:
        raise ValueError(f"{name} has a verdict {verdict!r}, which no test gives")
    return VERDICTS.index(verdict)


def _check_roles(ablation: Ablation, grid: tuple[int, int]) -> None:
    """Refuse roles of other heads, and rows of roles or heads that do not hold them."""
    held = ablation.held
    of_heads: list[SiteTest | CellTest] = [*ablation.sites, *ablation.cells]
    rows: list[SiteTest | CellTest | RoleTest | GroupTest] = [*of_heads, *ablation.roles, *ablation.groups]
    if held is None:
        if rows or ablation.sets is not None:
            raise ValueError(f"there are tests of roles, but no {HELD}")
        return
    if held.decision.shape[1:] != grid or len(held.roles) != len(held.decision):
        raise ValueError(f"{HELD} is not of the roles and heads of the run")
    for row in rows:
        if row.role not in held.roles:
            raise ValueError(f"there is a test of a role {row.role!r}, which {HELD} does not have")
    for test in of_heads:
        heads = held.heads(test.role)
        if not (0 <= test.layer < grid[0] and 0 <= test.head < grid[1] and heads[test.layer, test.head]):
            raise ValueError(f"there is a test of head {test.layer}-{test.head}, which is not {test.role}")


def _check_sets(ablation: Ablation, scores: Scores) -> None:
    """Refuse sets of other examples, heads or arms."""
    sets = ablation.sets
    if sets is None:
        return
    if sets.members.shape[1:] != (scores.layers, scores.heads):
        raise ValueError(f"{HEAD_SETS} is not of the heads of the run")
    if sets.damage.shape[2] != len(scores.examples):
        raise ValueError(
            f"{HEAD_SETS} is of {sets.damage.shape[2]} examples, the run of {len(scores.examples)}"
        )
    if not set(sets.arms) <= set(ablation.damage.arms):
        raise ValueError(f"{HEAD_SETS} has arms that the run has not")


DECIDED = {
    ("sites", "decision"): ("at its sites", "elsewhere", "undetermined", "untestable"),
    ("cells", "decision"): ("its cells matter", "other cells matter more", "undetermined", "untestable"),
    ("roles", "decision"): ("more damage", "less damage", "undetermined", "untestable"),
    ("roles", "no_damage"): ("negligible", "undetermined", "untestable"),
    ("groups", "decision"): ("more than random sets", "undetermined", "untestable"),
    ("groups", "excess_decision"): ("more than the sum", "undetermined", "untestable"),
}
"""Decisions that tests of roles can have, by the field of ``Ablation`` and that of its rows."""


def _check_words(ablation: Ablation) -> None:
    """Refuse decisions that no test gives, and arms that the run has not."""
    arms, outcomes = ablation.damage.arms, {parse_column(arm).outcome for arm in ablation.damage.arms}
    for (field, column), known in DECIDED.items():
        for decision in (getattr(row, column) for row in getattr(ablation, field)):
            if decision not in known:
                raise ValueError(f"there is a decision {decision!r}, which no test gives")
    named = [row.arm for row in ablation.sites] + [row.arm for row in ablation.roles]
    named += [row.arm for row in ablation.groups] + [row.arm for row in ablation.margins]
    for arm in named:
        if arm not in arms:
            raise ValueError(f"there is a row of an arm {arm!r}, which the run has not")
    if any(row.outcome not in outcomes for row in ablation.cells):
        raise ValueError("there is a row of an outcome that the run has not")
