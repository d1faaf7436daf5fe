"""Made-up products of queries and keys, and the roles of their families."""

from dataclasses import replace

import numpy as np

from headroles.records import HeldRoles, Products

ROLES = ("delimiter:sep", "local")
IN_LAYER = 4


def made_products(
    parts: np.ndarray,
    vertical: np.ndarray | None = None,
    *,
    outer: np.ndarray | None = None,
    redealt: np.ndarray | None = None,
    references: np.ndarray | None = None,
    group: np.ndarray | None = None,
) -> Products:
    """Products with given parts (units × families × size); all else is made to fit them.

    The families are the roles by turns, on one head after the other. Without ``outer`` it has the mean parts
    on its diagonal and nothing else; without ``group`` all dimensions are free; without ``vertical`` half of
    the contrast is shared; without ``references`` 40 of them have no spread.
    """
    units, families, size = parts.shape
    heads = np.arange(families) // len(ROLES)
    middle = np.nan_to_num(np.nanmean(parts, axis=0)) if units else np.zeros((families, size))
    return Products(
        roles=tuple(ROLES[k % len(ROLES)] for k in range(families)),
        layers=heads // IN_LAYER,
        heads=heads % IN_LAYER,
        units=tuple(f"u{k}" for k in range(units)),
        parts=parts,
        vertical=parts.sum(axis=2) / 2 if vertical is None else vertical,
        references=np.zeros((40, families)) if references is None else references,
        bias=np.zeros((units, families)),
        outer=middle[:, :, None] * np.eye(size) if outer is None else outer,
        redealt=np.zeros((families, 0)) if redealt is None else redealt,
        group=np.arange(size) if group is None else group,
        free=np.full(size, group is None),
    )


def random_products(seed: int, *, units: int = 60, families: int = 4) -> Products:
    """Products of skewed parts around means of their own, with clear contrasts and full outer products."""
    rng, size = np.random.default_rng(seed), 6
    means = rng.gamma(1, 0.5, size=(families, size))
    parts = means + rng.gamma(2, 0.1, size=(units, families, size)) - 0.2
    vertical = rng.uniform(0, 1, families) * parts.sum(axis=2) + rng.normal(0, 0.2, (units, families))
    outer = means[:, :, None] * np.eye(size) + 0.2 * rng.normal(size=(families, size, size))
    references = vertical[:1] + rng.gamma(2, 0.3, (45, families)) if units else None
    made = made_products(
        parts, vertical, outer=outer, redealt=rng.uniform(0.5, 1, (families, 19)), references=references
    )
    return replace(made, bias=rng.normal(size=(units, families)))


def roles_of(products: Products) -> HeldRoles:
    """The roles of all families, as if other units had decided them."""
    layers = int(products.layers.max(initial=0)) + 1
    decision = np.ones((len(ROLES), layers, IN_LAYER), dtype=np.int8)
    for role, layer, head in zip(products.roles, products.layers, products.heads, strict=True):
        decision[ROLES.index(role), layer, head] = 0
    return HeldRoles(ROLES, decision, decision * 0.1, ("other",), "run", ("x",))
