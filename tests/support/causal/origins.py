"""Made-up origins of roles: separators are vertical, neighbours are by query, one head by a neuron."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from headroles import Labelling
    from headroles.records import HeldRoles, Knocked, Products, Removal, Rule, Scores

LOUD = '<b>loud</b>, "quoted" \u202e😀'
ROLES = ("delimiter:cls", "delimiter:sep", "local", "syntactic:amod", "block")
SHARES = {"delimiter:cls": 1.05, "delimiter:sep": 0.95, "local": -0.05, "syntactic:amod": 0.45}
"""Part that all queries share, by role; one half for others."""
FLAT = "block"
"""The role whose heads have no contrast."""
FACTS: dict[str, Any] = {
    "headroles": "0.1.0",
    "command": "headroles why runs/QNLI",
    "task": "QNLI",
    "model": {"name": "tiny/<i>model</i>", "architecture": "BertForMaskedLM", "origin": "a folder"},
    "source": {"kind": "sample", "name": "QNLI"},
    "why": {"references": {"inputs": 200, "units": 40, "of": "deciding"}, "redeals": 19, "rotations": 999},
    "preset": "calibrated",
    "statistic": "contrast",
    "notes": [f"a note about {LOUD}"],
}


@cache
def why_run(
    shape: tuple[int, int, int] = (40, 4, 6),
    *,
    size: int = 16,
    rotary: bool = False,
    redeals: int = 19,
    removed: bool = True,
    roles: tuple[str, ...] = ROLES,
    held: bool = True,
) -> "Labelling":
    """Return a run of some units in each third, layers and heads.

    Args:
        shape: Units of each of the three parts, layers and heads.
        size: Dimensions of a head.
        rotary: Whether dimensions turn in pairs, so that no rotation of the space is free.
        redeals: Number of re-deals of the cells.
        removed: Whether directions were removed.
        roles: Roles that are asked about.
        held: Whether heads hold them.
    """
    from headroles import Labelling
    from headroles.records import Decision, Origins
    from headroles.stats import assess, judge, judge_origins, knockout_tests, removals_of

    asked = held_roles(shape, roles, held=held)
    products = made_products(shape, asked, size=size, rotary=rotary, redeals=redeals)
    scores, rules = made_columns(shape, products, asked)
    decision = Decision()
    with np.errstate(all="ignore"):
        origins, dimensions = judge_origins(products, asked, asked.decision.size, decision)
        removals = removals_of(products, origins, dimensions) if removed else ()
        knocked = made_scores(shape, products, removals, asked) if removals else None
        knockouts = knockout_tests(products, knocked, decision) if knocked is not None else ()
        findings = judge(scores, rules, decision)
        assessment = assess(scores, rules, decision, findings, absence=False, nots=False)
    part = Origins(asked, products, origins, dimensions, knocked, knockouts)
    facts = FACTS | {"counts": {"examples": 3 * shape[0], "units": 3 * shape[0]}}
    return Labelling(scores, findings, decision, facts, (f"{LOUD}: left out.",), assessment, origins=part)


def names_of(shape: tuple[int, int, int], part: int) -> tuple[str, ...]:
    """Return the units of one of the three parts."""
    return tuple(f"QNLI/{number}" for number in range(part, 3 * shape[0], 3))


def held_roles(shape: tuple[int, int, int], roles: tuple[str, ...], *, held: bool = True) -> "HeldRoles":
    """Return roles by random scores, decided on a third of the units."""
    from headroles.records import HeldRoles

    chance = np.random.default_rng(5)
    score = chance.beta(1.0, 2.0, size=(len(roles), *shape[1:]))
    decision = np.where((score > 0.4) & held, 0, 1)
    return HeldRoles(roles, decision, score, names_of(shape, 0), "runs/QNLI")


def made_products(
    shape: tuple[int, int, int], held: "HeldRoles", *, size: int, rotary: bool, redeals: int
) -> "Products":
    """Return products of heads whose keys differ along one direction each; that of one head is an axis."""
    from headroles.records import Products

    chance = np.random.default_rng(7)
    families: list[tuple[str, int, int]] = [
        (role, layer, head) for role in held.roles for layer, head in np.argwhere(held.heads(role)).tolist()
    ]
    count, units = len(families), shape[0]
    parts = np.empty((units, count, size))
    vertical, outers = np.empty((units, count)), np.empty((count, size, size))
    for place, (role, _, _) in enumerate(families):
        level = 3.0 * (role != FLAT) * (1 + chance.random()) + 1e-3
        direction = chance.normal(size=size)
        lonely = role == "local" and "local" not in [one[0] for one in families[:place]]
        if lonely:
            direction = np.where(np.arange(size) == 3, 20.0, 0.2)
        other = direction + 0.3 * chance.normal(size=size)
        outer = level * np.outer(direction, other) / (direction @ other)
        noise = 0.1 + 0.05 * level
        parts[:, place] = np.diag(outer) + noise * chance.normal(size=(units, size)) / np.sqrt(size)
        vertical[:, place] = SHARES.get(role, 0.5) * parts[:, place].sum(axis=1)
        vertical[:, place] += noise * chance.normal(size=units)
        outer[np.diag_indices(size)] = parts[:, place].mean(axis=0)
        outers[place] = outer
    strongest = np.linalg.norm(outers, 2, axis=(1, 2)) if count else np.zeros(0)
    far = strongest[:, None] * chance.uniform(0.2, 0.6, (count, redeals)) + 0.05
    return Products(
        roles=tuple(role for role, _, _ in families),
        layers=np.array([layer for _, layer, _ in families], dtype=np.int64),
        heads=np.array([head for _, _, head in families], dtype=np.int64),
        units=names_of(shape, 1),
        parts=parts,
        vertical=vertical,
        bias=np.zeros((units, count)),
        outer=outers,
        redealt=far,
        group=np.arange(size) % (size // 2) if rotary else np.arange(size),
        free=np.full(size, not rotary),
    )


def _contrast(products: "Products", family: int) -> Float[np.ndarray, " units"]:
    """Return the contrast of a family in every unit."""
    contrast: np.ndarray = products.parts[:, family].sum(axis=1)
    return contrast


def made_scores(
    shape: tuple[int, int, int], products: "Products", removals: "tuple[Removal, ...]", held: "HeldRoles"
) -> "Knocked":
    """Return scores that fall where a subspace is removed, and of other roles stay."""
    from headroles.records import Knocked

    chance = np.random.default_rng(11)
    by, families, sizes, scored, before, after = [], [], [], [], [], []
    for removal in removals:
        place = (int(products.layers[removal.family]), int(products.heads[removal.family]))
        role = products.roles[removal.family]
        for other in (role, *(name for name in held.roles if name != role and held.heads(name)[place])):
            by.append(removal.by)
            families.append(removal.family)
            sizes.append(removal.basis.shape[1])
            scored.append(other)
            before.append(np.clip(chance.normal(0.6, 0.1, shape[0]), 0, 1))
            left = {"subspace": 0.1, "dimensions": 0.6}[removal.by] if other == role else 1.0
            after.append(np.clip(left * before[-1] + chance.normal(0, 0.1, shape[0]), 0, 1))
    return Knocked(
        tuple(by), np.array(families), np.array(sizes), tuple(scored), names_of(shape, 2), np.array(before),
        np.array(after), np.full(len(by), 0.25),
    )  # fmt: skip


def made_columns(
    shape: tuple[int, int, int], products: "Products", held: "HeldRoles"
) -> "tuple[Scores, tuple[Rule, ...]]":
    """Return the scores of a run: the contrast of every family, and what is vertical of it."""
    from headroles.records import Rule, Scores

    examples = tuple(f"QNLI/{number}" for number in range(3 * shape[0]))
    roles = tuple(dict.fromkeys(products.roles)) or held.roles[:1]
    names = tuple(f"{what}:{role}" for role in roles for what in ("contrast", "vertical"))
    values = np.full((len(names), len(examples), *shape[1:]), np.nan, dtype=np.float32)
    rows = [examples.index(name) for name in products.units]
    for family, role in enumerate(products.roles):
        contrast, vertical = _contrast(products, family), products.vertical[:, family]
        layer, head = int(products.layers[family]), int(products.heads[family])
        values[names.index(f"contrast:{role}"), rows, layer, head] = contrast
        values[names.index(f"vertical:{role}"), rows, layer, head] = 2 * vertical - contrast
    table = np.full((len(names), len(examples)), 20.0)
    scores = Scores(
        sieves=names, examples=examples, units=examples, tokens=np.full(len(examples), 40), cells=table,
        values=values, null=table * 0,
    )  # fmt: skip
    rules = tuple(
        Rule(name, margin=0.0, role="vertical" in name, together="families" * ("vertical" in name))
        for name in names
    )
    return scores, rules
