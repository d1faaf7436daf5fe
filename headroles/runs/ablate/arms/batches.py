"""The interventions on one batch of inputs, and where their damages belong."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from headroles.extraction.ablation.arms import Arm, Effects
from headroles.extraction.model.losses import LossTarget
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.causal.columns import CLEAN, LOSS, NORM, WHOLE, Column
from headroles.runs.ablate.arms.layout import Layout, cell_interventions, main_intervention
from headroles.runs.ablate.arms.table import DamageTable
from headroles.runs.ablate.sets import different_sets
from headroles.runs.held.role_cells import Cells


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some inputs of a shard on which the same is measured.

    Attributes:
        places: Their places in the shard.
        inputs: The inputs as the model reads them.
        targets: Targets of their losses; None where the model has none.
        units: Unit of each.
        cells: Cells of the roles in each; empty where roles are not asked about.
        alone: Whether heads are taken out one by one.
        asked: Whether roles are asked about: their sites, cells and sets.
    """

    places: Int[np.ndarray, " batch"]
    inputs: Sequence[Tokenised]
    targets: Sequence[LossTarget] | None
    units: Sequence[str]
    cells: Sequence[Cells]
    alone: bool
    asked: bool


@dataclass(slots=True, eq=False)
class BatchArms:
    """The interventions on a batch.

    Attributes:
        arms: All of them, in order.
        whole: By intervention, those on each head of the layout.
        removed: By intervention and role, those on each head that holds the role.
        together: Place of the arm of every different set, with the places of the sets that it is.
    """

    arms: list[Arm] = field(default_factory=list)
    whole: dict[str, slice] = field(default_factory=dict)
    removed: dict[tuple[str, str], slice] = field(default_factory=dict)
    together: list[tuple[int, list[int]]] = field(default_factory=list)

    def add(self, arms: Sequence[Arm]) -> slice:
        """Add interventions, and return where they are."""
        start = len(self.arms)
        self.arms += arms
        return slice(start, len(self.arms))


def arms_of(batch: Batch, layout: Layout, by: Sequence[str]) -> BatchArms:
    """Return the interventions on a batch.

    Args:
        batch: The batch.
        layout: Heads, pairs and sets of the run.
        by: All interventions of the run.
    """
    laid, main = BatchArms(), main_intervention(by)
    if batch.alone:
        for name in by:
            if name in WHOLE:
                laid.whole[name] = laid.add([Arm(name, (head,)) for head in layout.heads])
    if not batch.asked:
        return laid
    for name in cell_interventions(by):
        for role, heads in layout.removed.items():
            cells = [own[role] for own in batch.cells]
            laid.removed[name, role] = laid.add([Arm(name, (head,), cells) for head in heads])
    for members, places in different_sets(layout.sets):
        if len(members) == 1 and members[0] in layout.heads:  # it is taken out alone, too
            arm = laid.whole[main].start + layout.heads.index(members[0])
        else:
            arm = laid.add([Arm(main, members)]).start
        laid.together.append((arm, places))
    return laid


def write_effects(
    batch: Batch, laid: BatchArms, effects: Effects, layout: Layout, by: Sequence[str], table: DamageTable
) -> None:
    """Write what interventions did to a batch into the table of its shard."""
    table.put_all(Column(LOSS, CLEAN), batch.places, effects.clean[:, None, None])
    table.put_all(Column("", NORM), batch.places, effects.norm)
    for outcome, damage in effects.values.items():
        for name, own in laid.whole.items():
            table.put_heads(Column(outcome, name), batch.places, layout.heads, damage[own])
        for (name, role), own in laid.removed.items():
            column = Column(outcome, name, role)
            table.put_heads(column, batch.places, layout.removed[role], damage[own])
            for place, cells in zip(batch.places.tolist(), batch.cells, strict=True):
                table.count_cells(column, place, int(cells[role].sum()))
        for arm, sets in laid.together:
            table.put_sets(outcome, sets, batch.places, damage[arm])
    if not batch.asked or not layout.sites:
        return
    main = laid.whole[main_intervention(by)]
    for outcome, changes in effects.by_token.items():
        for number, place in enumerate(batch.places.tolist()):
            inputs = batch.inputs[number]
            order = effects.clean_tokens[number] if outcome == LOSS else np.arange(inputs.size, dtype=float)
            table.put_sites(outcome, place, batch.cells[number], changes[number][main], order)
