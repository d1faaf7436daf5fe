"""Verdicts of heads that were taken out, and tests of roles, as files of a run folder, and back."""

from pathlib import Path
from typing import Any

import numpy as np

from headroles.records.causal.ablation import (
    CELL_TESTS,
    GRIDS,
    HEAD_DAMAGE,
    MARGIN_ROWS,
    ROLE_TESTS,
    SET_TESTS,
    SITE_TESTS,
    VERDICTS,
    Ablation,
    Damage,
    HeadSets,
    HeldRoles,
)
from headroles.records.causal.columns import parse_column
from headroles.records.example import Scores
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of
from headroles.storage.folder import DAMAGE, HEAD_SETS, HELD
from headroles.storage.tables import read_csv, read_table

TESTS = {
    "sites": SITE_TESTS, "cells": CELL_TESTS, "roles": ROLE_TESTS, "groups": SET_TESTS, "margins": MARGIN_ROWS
}  # fmt: skip
"""Table of every field of ``Ablation`` that holds one."""


def ablation_files(ablation: Ablation) -> dict[str, str | bytes]:
    """Return every file by name; empty tables are left out.

    ``held.npz`` holds the roles with their decisions, scores and units, and ``sets.npz`` the sets of heads
    with their damage (float32).
    """
    tables = [ablation.damage.table, *(getattr(ablation, field) for field in TESTS)]
    contents: dict[str, str | bytes] = {table.file: table.csv() for table in tables if len(table)}
    for name, record in ((HELD, ablation.held), (HEAD_SETS, ablation.sets)):
        if record is not None:
            contents[name] = archive_bytes(arrays_of(record), compressed=True)
    return contents


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
    tables = {field: read_table(table, folder / table.file) for field, table in TESTS.items()}
    held = _read_archive(folder / HELD, HeldRoles)
    sets = _read_archive(folder / HEAD_SETS, HeadSets)
    ablation = Ablation(damage=damage, held=held, sets=sets, **tables)
    _check_roles(ablation, (scores.layers, scores.heads))
    _check_sets(ablation, scores)
    _check_arms(ablation)
    return ablation


def _read_archive(path: Path, kind: type) -> Any:
    """Read a record from an archive; None where there is no file."""
    return record_of(kind, read_archive(path.read_bytes(), path.name)) if path.is_file() else None


def _read_damage(path: Path, scores: Scores) -> Damage:
    arms = tuple(name for name in scores.sieves if parse_column(name).arm)
    shape = (len(arms), scores.layers, scores.heads)
    table = HEAD_DAMAGE.parse(read_csv(path))
    places = zip(table["arm"], table["layer"].tolist(), table["head"].tolist(), strict=True)
    if [*places] != [(arms[arm], layer, head) for arm, layer, head in np.ndindex(shape)]:
        raise ValueError(f"the rows of {path.name} are not every arm, layer and head in turn")
    thresholds = table["threshold"].reshape(len(arms), -1)
    if not all(np.unique(own).size == 1 for own in thresholds):
        raise ValueError(f"{path.name} has more than one threshold for an arm")
    codes = {verdict: code for code, verdict in enumerate(VERDICTS)}
    return Damage(
        arms=arms,
        threshold=thresholds[:, 0],
        verdict=np.array([codes[word] for word in table["verdict"]], dtype=np.int8).reshape(shape),
        **{name: table[name].reshape(shape) for name in GRIDS},
    )


def _check_roles(ablation: Ablation, grid: tuple[int, int]) -> None:
    """Refuse roles of other heads, and rows of roles or heads that do not hold them."""
    held = ablation.held
    of_heads = [*ablation.sites, *ablation.cells]
    rows = [*of_heads, *ablation.roles, *ablation.groups]
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


def _check_arms(ablation: Ablation) -> None:
    """Refuse arms and outcomes that the run has not."""
    arms, outcomes = ablation.damage.arms, {parse_column(arm).outcome for arm in ablation.damage.arms}
    named = [row.arm for row in ablation.sites] + [row.arm for row in ablation.roles]
    named += [row.arm for row in ablation.groups] + [row.arm for row in ablation.margins]
    for arm in named:
        if arm not in arms:
            raise ValueError(f"there is a row of an arm {arm!r}, which the run has not")
    if any(row.outcome not in outcomes for row in ablation.cells):
        raise ValueError("there is a row of an outcome that the run has not")
