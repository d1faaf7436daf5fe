"""Origins of roles: those of the recorded run, and the same ones where something differs or is lacking."""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tests.support.made_runs import recorded

if TYPE_CHECKING:
    from headroles import Labelling


@cache
def why_run(
    shape: tuple[int, int, int] = (40, 2, 3),
    *,
    size: int = 8,
    rotary: bool = False,
    redeals: int = 19,
    removed: bool = True,
    held: bool = True,
) -> "Labelling":
    """Return a run whose dimensions may turn in pairs; without re-deals, removals, or roles on request."""
    from headroles.records import Origins
    from headroles.stats import judge_origins

    run = recorded("why")
    assert run.origins is not None
    assert run.scores.values.shape[2:] == shape[1:]
    roles, products, families = run.origins.held, run.origins.products, slice(None if held else 0)
    assert products.group.size == size
    if held and removed and redeals and not rotary:
        return run
    if rotary:
        pairs = np.arange(size) % (size // 2)
        products = replace(products, group=pairs, free=np.zeros(size, dtype=np.bool_))
    products = replace(
        products,
        roles=products.roles[families],
        **{name: getattr(products, name)[families] for name in ("layers", "heads", "outer")},
        **{
            name: getattr(products, name)[:, families] for name in ("parts", "vertical", "bias", "references")
        },
        redealt=products.redealt[families, :redeals],
    )
    roles = roles if held else replace(roles, decision=np.ones_like(roles.decision))
    origins, dimensions = judge_origins(products, roles, roles.decision.size, run.decision)
    return replace(run, origins=Origins(roles, products, origins, dimensions))
