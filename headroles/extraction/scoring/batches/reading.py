"""Plans of padded batches, made before the model runs, and the scores of a batch layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.extraction.capture import blocks, weights
from headroles.extraction.capture.readers import VisibleArray, visible_key
from headroles.extraction.capture.threads import Threads
from headroles.extraction.scoring.batches.cells import by_cell
from headroles.extraction.scoring.batches.contrasts import Contrasts, contrast_scores, lay_contrasts
from headroles.extraction.scoring.batches.plan import lay_sieves, lay_swaps, pad_batch
from headroles.extraction.scoring.finite import NotFiniteError
from headroles.extraction.scoring.scratch import Scratch
from headroles.plans.batch import SieveLayout, SieveMasks
from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class BatchPlan:
    """All mask sieves and contrasts of some examples of one padded width.

    Attributes:
        linear: Column of each row of the product that is a score by itself.
        weight: Weights of attention (examples, rows, tokens × tokens): of the mask sieves, then of the
            pairs that contrasts count, then of swaps.
        divisor: For the bias (examples, masks, tokens × tokens); None for the selectivity.
        contrasts: By space.
        swaps: Column of each swap.
        has_value: Which columns have a value (examples, columns); the others are NaN.
        cells: Eligible queries or arcs (examples, columns); NaN where there is no value.
        low: Smallest value each column can take; NaN where there is no value.
        high: Largest value.
        real: Pairs of an example's own tokens of which the first can see the second (examples, 1, tokens,
            tokens).
    """

    linear: tuple[int, ...]
    weight: Float[torch.Tensor, "examples rows pairs"]
    divisor: Float[torch.Tensor, "examples masks pairs"] | None
    contrasts: tuple[Contrasts, ...]
    swaps: tuple[int, ...]
    has_value: Bool[torch.Tensor, "examples columns"]
    cells: Float[torch.Tensor, "examples columns"]
    low: Float[torch.Tensor, "examples columns"]
    high: Float[torch.Tensor, "examples columns"]
    real: Bool[torch.Tensor, "examples 1 tokens tokens"]

    def scores(
        self,
        weights: Float[torch.Tensor, "examples heads tokens tokens"],
        cells: Float[torch.Tensor, "cells heads"] | None = None,
    ) -> Float[torch.Tensor, "examples columns heads"]:
        """Return the scores of one layer's attention; NaN where a column has no value.

        Where the attention of a head on visible keys of an example is not finite, its scores are infinite,
        since NaN means that there is no value.

        Args:
            weights: Attention of a padded batch; cells beyond an example's own tokens do not matter
                (on devices other than processors as long as they are finite).
            cells: Where the attention by cell is written, whether contrasts read it or not; None where
                nothing else reads it.
        """
        examples, heads = weights.shape[:2]
        flat = weights.flatten(2)
        products = sums_over_pairs(flat, self.weight)
        fine = weights.device.type == "cpu" and bool(
            products.isfinite().all()
        )  # elsewhere the check would wait for the device
        if weights.device.type == "cpu" and not fine:
            weights = weights.masked_fill(~self.real, 0.0)
            flat = weights.flatten(2)
            products = sums_over_pairs(flat, self.weight)
        masks = len(self.linear)
        inside = products[:, :masks]
        if self.divisor is not None:
            base = sums_over_pairs(flat, self.divisor)
            inside = torch.where(base > 0, inside / base, torch.nan)
        scores = inside.new_full((examples, self.has_value.shape[1], heads), torch.nan)
        scores[:, list(self.linear)] = inside
        row = masks
        attention = by_cell(weights, cells) if self.contrasts or cells is not None else None
        for contrasts in self.contrasts:
            assert attention is not None, "there are contrasts"
            stop = row + len(contrasts.columns)
            observed, row = products[:, row:stop], stop
            scores[:, contrasts.columns] = contrast_scores(contrasts, observed, attention)
        scores[:, list(self.swaps)] = products[:, row:]
        if not fine:
            scores.masked_fill_(~products.isfinite().all(1, keepdim=True), torch.inf)
        return scores.masked_fill_(~self.has_value[..., None], torch.nan)


def sums_over_pairs(
    attention: Float[torch.Tensor, "examples heads pairs"], weight: Float[torch.Tensor, "examples rows pairs"]
) -> Float[torch.Tensor, "examples rows heads"]:
    """Return Σ weight · attention over pairs; a processor adds up ``PAIRS`` of them at a time."""
    count = attention.shape[2]
    step = min(PAIRS, count) if attention.device.type == "cpu" else count
    sums = attention[..., :step] @ weight[..., :step].mT
    for start in range(step, count, step):
        pairs = slice(start, start + step)
        sums.baddbmm_(attention[..., pairs], weight[..., pairs].mT)
    return sums.mT


def batch_plan(
    layout: SieveLayout,
    masks: Sequence[SieveMasks],
    examples: Sequence[Example],
    visible: Sequence[VisibleArray],
    width: int,
    device: torch.device,
    words: int = 0,
) -> BatchPlan:
    """Lay a selection of sieves over a padded batch.

    Args:
        layout: The columns and settings of the selection.
        masks: The masks of each example.
        examples: The inputs; no joint inputs of cross attention.
        visible: Which keys each query of each example can see; None: all.
        width: To which they are padded, at least the longest.
        device: The device of the attention and of the plan.
        words: Number of words to pad to, where parts of a batch are to have one shape.
    """
    batch = pad_batch(examples, visible, device, width, words)
    contrasts = lay_contrasts(layout, masks, batch)
    further = sum(len(space.columns) for space in contrasts) + len(layout.swaps)
    mask_weights = lay_sieves(layout, masks, batch, further)
    shape = (len(examples), layout.columns)
    has_value = torch.zeros(shape, dtype=torch.bool, device=device)
    cells, low, high = (torch.zeros(shape, dtype=batch.exact, device=device) for _ in range(3))
    linear = list(layout.linear)
    has_value[:, linear] = mask_weights.has_value
    cells[:, linear] = mask_weights.cells.to(batch.exact)
    low[:, linear], high[:, linear] = mask_weights.low, mask_weights.high
    row = len(linear)
    for space in contrasts:
        reach, stop = space.reach.to(batch.exact), row + len(space.columns)
        mask_weights.weight[:, row:stop], row = space.seen, stop
        has_value[:, space.columns] = space.has_value
        cells[:, space.columns] = space.cells.to(batch.exact)
        low[:, space.columns], high[:, space.columns] = -reach, reach
    if layout.exchanged is not None:
        laid = lay_swaps(layout.exchanged, masks, batch)
        swaps = list(layout.swaps)
        mask_weights.weight[:, row:] = laid.weight
        has_value[:, swaps], cells[:, swaps] = laid.has_value, laid.cells.to(batch.exact)
        low[:, swaps], high[:, swaps] = laid.low, laid.high
    return BatchPlan(
        linear=layout.linear,
        weight=mask_weights.weight,
        divisor=mask_weights.divisor,
        contrasts=tuple(contrasts),
        swaps=layout.swaps,
        has_value=has_value,
        cells=cells.masked_fill_(~has_value, torch.nan),
        low=low.masked_fill_(~has_value, torch.nan),
        high=high.masked_fill_(~has_value, torch.nan),
        real=(batch.real[:, :, None] & batch.visible)[:, None],
    )


PAIRS = 2**12
"""Pairs in one product on a processor. In the sum of far more pairs the smallest terms are rounded away."""
CHUNK = 2 * 2**20
"""Bytes of attention that are read at once on a processor, so that they stay in its cache."""

PartPlans = list[tuple[slice, BatchPlan]]


@runtime_checkable
class MaskSource(Protocol):
    """Sieves that give their columns and settings, and their masks of an example."""

    @property
    def layout(self) -> SieveLayout:
        """Return the columns and settings of mask sieves and contrasts, the same for every example."""

    def masks_of(self, examples: Sequence[Example]) -> list[SieveMasks]:
        """Return the masks of each example."""


class BatchPlans:
    """The plans of the examples of one padded batch, by visible set.

    Plans depend only on which examples are in the batch. So a batch that is formed again, by another
    worker or after a restart, gets the same bits.
    """

    def __init__(
        self, sieves: MaskSource, examples: Sequence[Example], heads: int, device: torch.device
    ) -> None:
        """Get the masks of the examples of a batch.

        Raises:
            HeadrolesError: As the functions of a sieve raise it.
        """
        self.layout = sieves.layout
        self.examples = list(examples)
        self._masks = sieves.masks_of(examples)
        self._heads, self._device = heads, device
        self._words = max(int(example.word.max(initial=-1)) + 1 for example in examples)
        self._known: list[tuple[list[VisibleArray], list[bytes], PartPlans]] = []

    def plans(self, visible: Sequence[VisibleArray], width: int) -> PartPlans:
        """Return the plans of the batch by part; parts are read one after another.

        Equal visible sets get the same object.

        Args:
            visible: Which keys each query of each example can see; None: all.
            width: Tokens that the examples are padded to.
        """
        for known_sets, _, plans in self._known:
            if all(known is given for known, given in zip(known_sets, visible, strict=True)):
                return plans
        keys = [visible_key(given) for given in visible]
        for _, known_keys, plans in self._known:
            if keys == known_keys:
                self._known.append((list(visible), keys, plans))
                return plans
        plans = [(part, self._lay(part, visible[part], width)) for part in self._parts(width)]
        self._known.append((list(visible), keys, plans))
        return plans

    def _parts(self, width: int) -> list[slice]:
        count, room = len(self.examples), blocks.ROOM if self._device.type != "cpu" else CHUNK
        step = max(1, room // (4 * self._heads * width**2))
        return [slice(start, min(start + step, count)) for start in range(0, count, step)]

    def _lay(self, part: slice, visible: Sequence[VisibleArray], width: int) -> BatchPlan:
        return batch_plan(
            self.layout, self._masks[part], self.examples[part], visible, width, self._device, self._words
        )


class BatchScores:
    """The scores of a batch while its layers are read; after the last they are copied to the processor."""

    def __init__(self, together: BatchPlans, layers: int, device: torch.device) -> None:
        """Take the plans of the batch, and the number of layers."""
        self._together, self._layers = together, layers
        self._scratch, self._threads = Scratch(device), Threads()
        self._scores: list[torch.Tensor] = []
        self._used: list[PartPlans] = []

    def add(
        self, weights: torch.Tensor, visible: Sequence[VisibleArray], *, keep: bool = False
    ) -> tuple[PartPlans, Float[torch.Tensor, "cells heads"]]:
        """Read a layer's weights (examples, heads, tokens, tokens).

        Args:
            weights: Attention of the padded batch.
            visible: Which keys each query of each example can see; None: all.
            keep: Whether the attention of the layer by cell is wanted.

        Returns:
            The plans, if they are new, and the attention by cell, valid until the next layer; empty where it
            is not kept.
        """
        examples, heads, _, width = weights.shape
        plans = self._together.plans(visible, width)
        shape = (examples, width**2, heads) if keep else (0, width**2, heads)
        cells, scores = self._scratch.take("cells", shape), [weights] * len(plans)

        def score(number: int) -> None:
            part, plan = plans[number]
            scores[number] = plan.scores(weights[part], cells[part].flatten(0, 1) if keep else None)

        self._threads.run([partial(score, number) for number in range(len(plans))], weights.device)
        self._scores.append(torch.cat(scores))
        if any(plans is used for used in self._used):
            return [], cells.flatten(0, 1)
        self._used.append(plans)
        return plans, cells.flatten(0, 1)

    @property
    def done(self) -> bool:
        """Return whether all layers are read."""
        return len(self._scores) == self._layers

    def values(self) -> Float[np.ndarray, "columns examples layers heads"]:
        """Return the scores of all layers.

        Raises:
            BadInput: When attention is not finite, naming the example and the first layer.
        """
        scores: np.ndarray = torch.stack(self._scores).permute(2, 1, 0, 3).cpu().numpy()
        broken = np.isinf(scores).any(axis=(0, 3))
        if broken.any():
            layer = int(broken.any(axis=0).argmax())
            raise NotFiniteError(self._together.examples[int(broken[:, layer].argmax())].key, layer)
        return scores


def reads_as_batch(sizes: Sequence[int], heads: int, device: torch.device) -> bool:
    """Return whether examples of these sizes are read as one batch.

    A processor reads short ones so: with single examples, calling an operation would cost more than its
    arithmetic. Other devices do so as long as the weights of a layer have room. One example alone is read
    so where it is short, on every device.
    """
    if device.type == "cpu" or len(sizes) == 1:
        return max(sizes) <= weights.WHOLE
    return 4 * heads * len(sizes) * max(sizes) ** 2 <= ROOM


ROOM = 2**29
"""Most bytes of the weights of a layer of a batch that is read as one, on devices other than processors."""
