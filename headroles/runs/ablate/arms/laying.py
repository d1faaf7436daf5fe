"""Lay out the arms of a run: which roles have sites, which heads are taken out, and which sets of heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from headroles.errors import BadInput
from headroles.extraction.ablation.arms import Ablator
from headroles.extraction.model.losses import LossTarget
from headroles.extraction.texts.tokens import Tokenised
from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.ablation import HeldRoles, is_quiet
from headroles.records.causal.columns import LOSS
from headroles.runs.ablate.arms.layout import (
    Head,
    Layout,
    cell_interventions,
    holders,
    screened_heads,
    screened_with,
)
from headroles.runs.ablate.arms.opening import OpenModel
from headroles.runs.ablate.columns import columns_of
from headroles.runs.ablate.sets import lay_sets
from headroles.runs.held.labels import deciding_half
from headroles.runs.held.role_cells import RoleCells

MOST_SITES, LOOKED_AT = 0.9, 50
"""Share of the tokens of texts above which a role has no other tokens, and inputs that it is counted on."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadInputs:
    """The reference inputs of a run, tokenised.

    Attributes:
        plain: The inputs.
        read: The same as the model reads them, some tokens masked for a loss of masked words.
        targets: Targets of their losses; None where the model has none.
        units: Unit of each.
        deciding: Whether the unit of each decides labels.
    """

    plain: Sequence[Tokenised]
    read: Sequence[Tokenised]
    targets: Sequence[LossTarget] | None
    units: Sequence[str]
    deciding: Bool[np.ndarray, " inputs"]

    def some(self, where: Bool[np.ndarray, " inputs"]) -> "ReadInputs":
        """Return some of the inputs, in their order."""
        places = np.flatnonzero(where).tolist()
        return ReadInputs(
            [self.plain[place] for place in places],
            [self.read[place] for place in places],
            None if self.targets is None else [self.targets[place] for place in places],
            [self.units[place] for place in places],
            self.deciding[places],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The arms of a run, and how they were chosen.

    Attributes:
        layout: Heads and columns.
        void: Roles whose sites are nearly all tokens.
        chose: Units that chose the heads that are taken out; they measure no damage.
    """

    layout: Layout
    void: tuple[str, ...]
    chose: frozenset[str]


def lay_out(
    options: AblateOptions,
    opened: OpenModel,
    ablator: Ablator,
    held: HeldRoles | None,
    cells: RoleCells | None,
    sample: ReadInputs,
) -> Laid:
    """Return the arms of a run; equal options and inputs give equal ones in every worker.

    Args:
        options: Of the run.
        opened: The model.
        ablator: It, with interventions.
        held: The roles that are asked about; None without any.
        cells: Counts their cells; None without any.
        sample: The reference inputs.

    Raises:
        BadInput: When no unit is left to choose heads.
    """
    model = opened.model
    asked = () if cells is None or held is None else tuple(holders(held, cells.names))
    loud = [role for role in asked if not is_quiet(role)] if opened.by_token else []
    void = _void_roles(cells, loud, sample.plain)
    sites = tuple(role for role in loud if role not in void)
    every = tuple((layer, head) for layer in range(model.layers) for head in range(model.heads))
    heads, chose, norms = every, frozenset[str](), np.zeros((model.layers, model.heads))
    owners = {} if held is None else holders(held, held.roles)
    if options.groups or options.screen is not None:
        norms = _mean_norms(ablator, sample)
    if options.screen is not None:
        choosing = sample.some(_choosing(sample, options.seed))
        if not choosing.plain:
            raise BadInput(
                "--screen chooses heads on some units and measures their damage on others, which takes at "
                f"least 2 units, but got {len(set(sample.units))}; give more inputs, or leave --screen out"
            )
        first_order = _first_order(ablator, choosing, screened_with(options.by))
        where = screened_heads(first_order, norms, owners, options.screen)
        heads = tuple(head for head in every if where[head])
        chose = frozenset(choosing.units)
    removed = asked if cell_interventions(options.by) else ()
    columns = columns_of(
        opened.outcomes,
        options.by,
        sites=sites,
        cells=removed,
        screened=options.screen is not None,
        by_token=opened.by_token,
    )
    pairs = {role: _heads_of(owners[role]) for role in removed}
    sets = lay_sets(owners if options.groups else {}, norms, count=options.sets, seed=options.seed)
    return Laid(Layout(columns, heads, pairs, sites, sets), void, chose)


def _void_roles(
    cells: RoleCells | None, roles: Sequence[str], inputs: Sequence[Tokenised]
) -> tuple[str, ...]:
    """Return roles that have nearly every token of some inputs as a site, so that none is left to compare."""
    if cells is None or not roles:
        return ()
    looked_at = inputs[:LOOKED_AT]
    total = sum(int((given.texts >= 0).sum()) for given in looked_at)
    counts = dict.fromkeys(roles, 0)
    for own in cells.of(looked_at):
        for role in roles:
            counts[role] += int(own[role].any(axis=1).sum())
    return tuple(role for role in roles if counts[role] > MOST_SITES * total)


def _choosing(sample: ReadInputs, seed: int) -> Bool[np.ndarray, " inputs"]:
    """Return which inputs choose heads: those that decide labels, or one half where none of them does."""
    return sample.deciding if sample.deciding.any() else deciding_half(sample.units, seed)


def _mean_norms(ablator: Ablator, sample: ReadInputs) -> Float[np.ndarray, "layers heads"]:
    """Return the mean norm of each head's part of the layer's output over reference inputs."""
    norms: np.ndarray = ablator.measure(sample.read, sample.units, sample.targets, ()).norm.mean(axis=0)
    return norms


def _first_order(ablator: Ablator, sample: ReadInputs, by: str) -> Float[np.ndarray, "layers heads"]:
    """Return the mean damage to first order of each head over some inputs."""
    assert sample.targets is not None, f"damage to first order is that of {LOSS}"
    damage = ablator.screen(sample.read, sample.units, sample.targets, by)
    known = ~np.isnan(damage)
    mean: np.ndarray = np.where(known, damage, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return mean


def _heads_of(own: Bool[np.ndarray, "layers heads"]) -> list[Head]:
    return [(int(layer), int(head)) for layer, head in np.argwhere(own)]
