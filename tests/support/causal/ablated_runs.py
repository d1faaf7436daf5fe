"""A made-up run that takes heads out: the last layer matters most, and roles that predict no damage."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.made_runs import LOUD, made_scores

if TYPE_CHECKING:
    from headroles import Labelling
    from headroles.records import HeadSets, HeldRoles, Scores

ROLES = ("local", "delimiter", "first", "syntactic", "syntactic:obj")
WITH_SITES = ("syntactic", "syntactic:obj")
SHARE = 0.01
FACTS: dict[str, Any] = {
    "headroles": "0.1.0",
    "command": "headroles ablate --roles runs/QNLI --groups --by mean --by zero",
    "task": "QNLI",
    "model": {"name": "tiny/<i>model</i>", "architecture": "BertForMaskedLM", "origin": "a folder"},
    "source": {"kind": "sample", "name": "QNLI"},
    "settings": {"margin": SHARE},
    "ablation": {
        "loss": "The loss of an input is the cross-entropy of its label.",
        "references": {"inputs": 200, "units": 200},
    },
    "preset": "calibrated",
    "statistic": "damage",
    "notes": [f"a note about {LOUD}"],
}


@cache
def ablated_run(
    shape: tuple[int, int, int] = (120, 6, 12),
    *,
    roles: tuple[str, ...] = ROLES,
    outcome: str = "loss",
    by: tuple[str, ...] = ("mean", "zero"),
    groups: bool = True,
    screened: int = 0,
) -> "Labelling":
    """Return a run of some units, layers and heads; of each layer, screened heads were not taken out."""
    from headroles import Labelling
    from headroles.records import Decision
    from headroles.stats import assess, judge_ablation

    held = _held(shape, roles) if roles else None
    scores, rules = _scores(shape, held, outcome, by, screened)
    decision = Decision()
    sets = _sets(scores, held, f"{outcome}:{by[0]}") if held is not None and groups else None
    with np.errstate(all="ignore"):
        known, findings, part = judge_ablation(scores, rules, decision, SHARE, held, sets)
        assessment = assess(scores, known, decision, findings, absence=False, nots=False)
    facts = FACTS | {"counts": {"examples": shape[0], "units": shape[0]}}
    skipped = (f"{LOUD}: left out.",)
    return Labelling(scores, findings, decision, facts, skipped, assessment, ablated=part)


def _scores(
    shape: tuple[int, int, int], held: "HeldRoles | None", outcome: str, by: tuple[str, ...], screened: int
) -> "tuple[Scores, tuple[Any, ...]]":
    """Damages that grow with depth, larger at sites of the relations, and the clean loss."""
    from headroles.runs import column_rules, columns_of

    chance = np.random.default_rng(7)
    units, layers, heads = shape
    roles = held.roles if held else ()
    sites = [role for role in roles if role in WITH_SITES]
    done = [*by, *(("cells", "cells:matched") if roles else ())]
    columns = columns_of([outcome], done, sites=sites, cells=roles[:1], screened=bool(screened))
    depth = np.exp(1.2 * (np.arange(layers) - layers + 1))[:, None]
    level = 0.12 * depth * chance.gamma(2.0, 0.5, size=(layers, heads))
    level[0, :2] = -0.08 if outcome == "loss" else 0.002
    clean = chance.gamma(8.0, 0.4, size=units)
    parts = []
    for column in columns:
        noise = chance.normal(0, 0.01 + 0.3 * np.abs(level), size=(units, layers, heads))
        values = level * {"zero": 1.5, "cells": 0.6, "cells:matched": 0.3}.get(column.what, 1.0) + noise
        if column.what == "sites":
            values = (chance.random((layers, heads)) > 0.5) * level + noise
        elif column.what == "screen":
            values = 0.8 * level + noise / 2
        elif column.what == "clean":
            values = np.broadcast_to(clean[:, None, None], noise.shape).copy()
        elif column.what == "norm":
            values = 1.0 + chance.random((layers, heads)) + np.abs(noise)
        elif column.what.startswith("cells") and held is not None:
            values[:, ~held.heads(column.role)] = np.nan
        if column.what not in ("clean", "norm", "screen") and screened:
            values[:, :, heads - screened :] = np.nan
        parts.append(values if outcome == "loss" or column.what == "norm" else np.abs(values).clip(0, 1))
    names = tuple(column.name for column in columns)
    return made_scores(names, np.array(parts), key="QNLI/", tokens=40, cells=40.0), column_rules(names)


def _held(shape: tuple[int, int, int], roles: tuple[str, ...]) -> "HeldRoles":
    """Roles by random scores, decided on every other unit."""
    from headroles.records import HeldRoles

    chance = np.random.default_rng(3)
    score = chance.beta(0.7, 2.5, size=(len(roles), *shape[1:]))
    for place, role in enumerate(roles):
        score[place] += 0.25 * (role in ("delimiter", "first"))
    decision = np.where(score > 0.35, 0, 1)
    units = tuple(f"QNLI/{number}" for number in range(0, shape[0], 2))
    return HeldRoles(roles, decision, score.clip(0, 1), units, "runs/QNLI")


def _sets(scores: "Scores", held: "HeldRoles", arm: str) -> "HeadSets":
    """The heads of each role, which do more together than alone, and 99 random sets as large."""
    from headroles.records import HeadSets

    chance = np.random.default_rng(11)
    values = np.nan_to_num(scores.values[scores.sieves.index(arm)])
    roles, numbers, members, damages = [], [], [], []
    for role in held.roles:
        own = held.heads(role)
        for number in range(100):
            drawn = own if number == 0 else np.array([chance.permutation(row) for row in own])
            roles.append(role)
            numbers.append(number)
            members.append(drawn)
            damages.append((1.3 if number == 0 else 1.0) * values[:, drawn].sum(axis=1))
    damage = np.array([damages], dtype=np.float32)
    return HeadSets((arm,), tuple(roles), np.array(numbers), np.array(members), damage)
