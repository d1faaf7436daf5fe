"""Made-up damages, roles and sets of heads, shaped as those of a run that takes heads out."""

from collections.abc import Sequence

import numpy as np

from headroles.records import CLEAN, NORM, SITES, HeadSets, HeldRoles, Rule, Scores, parse_column
from headroles.runs import column_rules, columns_of
from tests.support.scores import scored

ROLES = ("induction", "local", "delimiter:sep")


def ablation_scores(
    seed: int = 0,
    *,
    outcomes: Sequence[str] = ("loss", "distribution"),
    by: Sequence[str] = ("mean", "cells", "cells:matched"),
    units: int = 60,
    per_unit: int = 1,
    grid: tuple[int, int] = (2, 6),
) -> tuple[Scores, tuple[Rule, ...]]:
    """Random damages of all heads: losses of either sign, distances from 0 to 1."""
    rng = np.random.default_rng(seed)
    columns = columns_of(outcomes, by, sites=ROLES[:1], cells=ROLES[:2])
    names = tuple(column.name for column in columns)
    examples, rules = units * per_unit, column_rules(names)
    values = np.stack([_column(name, (examples, *grid), rng) for name in names])
    owners = [k // per_unit for k in range(examples)]
    return scored(values, rules, units=owners, cells=np.nan), rules


def _column(name: str, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    column = parse_column(name)
    if column.what == CLEAN:
        return np.broadcast_to(rng.gamma(4, 0.6, size=(shape[0], 1, 1)), shape)
    if column.what == NORM:
        return rng.gamma(4, 1, size=shape)
    if column.outcome == "loss" or column.what == SITES:
        return rng.normal(0, 0.04, size=shape) + rng.normal(0, 0.03, size=(1, *shape[1:]))
    return rng.beta(1, 60, size=shape) * rng.uniform(0, 2, size=(1, *shape[1:]))


def made_roles(scores: Scores, seed: int = 0) -> HeldRoles:
    """Roles at random, as if the first half of the units had decided them."""
    rng = np.random.default_rng(seed)
    shape = (len(ROLES), scores.layers, scores.heads)
    decision = rng.choice([0, 1, 2], size=shape, p=[0.3, 0.5, 0.2]).astype(np.int8)
    decision[0, 0, 0] = 0
    units = list(dict.fromkeys(scores.units))
    first = {*units[: len(units) // 2]}
    examples = [key for key, unit in zip(scores.examples, scores.units, strict=True) if unit in first]
    score = rng.normal(size=shape)
    return HeldRoles(ROLES, decision, score, tuple(units[: len(units) // 2]), "runs/labels", tuple(examples))


def made_sets(scores: Scores, held: HeldRoles, sets: int = 20) -> HeadSets:
    """Sets of all heads of each role, and random ones, whose damage is the sum of the single damages."""
    rng = np.random.default_rng(0)
    arms = tuple(name for name in scores.sieves if parse_column(name).arm)
    roles, number, members = list[str](), list[int](), list[np.ndarray]()
    for role in held.roles:
        own = held.heads(role)
        for count in range(sets + 1 if own.any() else 0):
            roles.append(role)
            number.append(count)
            members.append(rng.permuted(own, axis=1) if count else own)
    together = np.stack(members)
    single = np.stack([scores.values[scores.sieves.index(arm)] for arm in arms])
    damage = np.einsum("aelh,slh->ase", single, together.astype(np.float32))
    left_out = ~held.apart(scores.units, scores.examples)
    damage[..., left_out] = np.nan
    return HeadSets(arms, tuple(roles), np.array(number), together, damage.astype(np.float32))
