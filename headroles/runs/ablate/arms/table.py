"""The damages of the inputs of one shard, while they are measured."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from headroles.extraction.texts.tokens import Tokenised
from headroles.records.causal.columns import SITES, Column
from headroles.records.example import Scores
from headroles.runs.ablate.arms.layout import Head, Layout
from headroles.runs.ablate.arms.sites import opening_pieces, site_weights, strata_of
from headroles.runs.held.role_cells import Cells
from headroles.shards.work import Task

Places = Int[np.ndarray, " batch"]
"""Places of the inputs of a batch among those of the shard."""


class DamageTable:
    """Damage per column, input and head of a shard; NaN where nothing was measured."""

    def __init__(
        self, layout: Layout, inputs: Sequence[Tokenised], grid: tuple[int, int], outcomes: Sequence[str]
    ) -> None:
        """Start with no value.

        Args:
            layout: Heads and columns of the run.
            inputs: Inputs of the shard.
            grid: Numbers of layers and heads.
            outcomes: What damage is measured on.
        """
        self._layout, self._inputs, self._outcomes = layout, inputs, tuple(outcomes)
        self._places = {column: place for place, column in enumerate(layout.columns)}
        count = len(inputs)
        self._values = np.full((len(layout.columns), count, *grid), np.nan, dtype=np.float32)
        self._cells = np.full((len(layout.columns), count), np.nan)
        self.sets = np.full((len(outcomes), len(layout.sets.roles), count), np.nan, dtype=np.float32)

    def put_all(self, column: Column, places: Places, values: Float[np.ndarray, "batch *grid"]) -> None:
        """Write values of all heads, or (batch, 1, 1) for all alike, where the run has the column."""
        if column in self._places:
            self._values[self._places[column], places] = values

    def put_heads(
        self, column: Column, places: Places, heads: Sequence[Head], values: Float[np.ndarray, "heads batch"]
    ) -> None:
        """Write the values of some heads."""
        layers, numbers = np.array(heads).T
        self._values[self._places[column], places[:, None], layers, numbers] = values.T

    def put_sets(
        self, outcome: str, sets: Sequence[int], places: Places, values: Float[np.ndarray, " batch"]
    ) -> None:
        """Write the damage of taking out the heads of sets that have the same members."""
        self.sets[self._outcomes.index(outcome), np.array(sets)[:, None], places] = values

    def count_cells(self, column: Column, place: int, count: int) -> None:
        """Write how many tokens or cells of an input a column counts."""
        self._cells[self._places[column], place] = count

    def put_sites(
        self,
        outcome: str,
        place: int,
        cells: Cells,
        damage: Float[np.ndarray, "heads tokens"],
        order: Float[np.ndarray, " tokens"],
    ) -> None:
        """Write the difference between sites and other tokens for every role that has sites.

        Args:
            outcome: What damage is measured on.
            place: Place of the input.
            cells: Cells of the roles; sites are the queries that have some.
            damage: Damage of taking out each head of the layout, at every token; NaN where there is none.
            order: What tokens are sorted by: the loss without intervention, or the place in the text.
        """
        given = self._inputs[place]
        counted = (given.texts >= 0) & ~np.isnan(order) & ~np.isnan(damage).any(axis=0)
        strata = strata_of(counted, order, opening_pieces(given))
        known = np.where(counted, damage, 0.0)
        for role in self._layout.sites:
            column = Column(outcome, SITES, role)
            sites: np.ndarray = np.any(cells[role], axis=1)
            weights = site_weights(sites, strata)
            self.count_cells(column, place, int((sites & (weights > 0)).sum()))
            self.put_heads(column, np.array([place]), self._layout.heads, (known @ weights)[:, None])

    def scores(self, task: Task) -> Scores:
        """Return the scores of the shard."""
        return Scores(
            sieves=self._layout.names,
            examples=tuple(passage.key for passage in task.passages),
            units=tuple(task.units),
            tokens=np.array([given.size for given in self._inputs]),
            cells=self._cells,
            values=self._values,
            null=np.zeros(self._cells.shape),
        )
