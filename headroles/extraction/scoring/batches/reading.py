"""A batch read as one: its plans by visible set, laid in the thread beside the model, and its scores.

Plans of whole batches: what a handful of operations per layer say of many examples together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.extraction.capture import weights
from headroles.extraction.capture.readers import Visible, key_of
from headroles.extraction.scoring.batches.contrasts import Contrasts, beyond, contrasts_of
from headroles.extraction.scoring.batches.plan import padding_of, weights_of
from headroles.extraction.scoring.finite import not_finite
from headroles.extraction.scoring.scratch import Scratches
from headroles.plans.batch import Asking, Stated
from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class BatchPlan:
    """All mask sieves and contrasts of some examples of one padded width.

    Attributes:
        linear: Column of each row of the product that is a score by itself.
        weight: Weights of attention (examples, rows, tokens × tokens): of the mask sieves, then of the
            pairs that contrasts count.
        divisor: For the bias (examples, masks, tokens × tokens); None for the selectivity.
        contrasts: By space.
        said: Which columns have something to say (examples, columns); the others are NaN.
        cells: Eligible queries or arcs (examples, columns); NaN where nothing is said.
        low: Smallest value each column can take; NaN where nothing is said.
        high: Largest value.
        real: Pairs of an example's own tokens of which the first can see the second (examples, 1, tokens,
            tokens).
    """

    linear: tuple[int, ...]
    weight: Float[torch.Tensor, "examples rows pairs"]
    divisor: Float[torch.Tensor, "examples masks pairs"] | None
    contrasts: tuple[Contrasts, ...]
    said: Bool[torch.Tensor, "examples columns"]
    cells: Float[torch.Tensor, "examples columns"]
    low: Float[torch.Tensor, "examples columns"]
    high: Float[torch.Tensor, "examples columns"]
    real: Bool[torch.Tensor, "examples 1 tokens tokens"]

    def scores(
        self, weights: Float[torch.Tensor, "examples heads tokens tokens"], scratch: Scratches
    ) -> Float[torch.Tensor, "examples columns heads"]:
        """Scores of one layer's attention; NaN where a column has nothing to say.

        Where a head's attention on what an example's tokens can see is no number, neither are its scores:
        infinity stands for them, as NaN means something else.

        Args:
            weights: Attention of a padded batch; what lies beyond an example's own tokens does not matter
                (on devices other than processors as long as it is finite).
            scratch: Memory for what is on the way.
        """
        examples, heads = weights.shape[:2]
        flat = weights.flatten(2).mT
        products = self.weight @ flat
        fine = weights.device.type == "cpu" and bool(products.isfinite().all())  # elsewhere asking would wait
        if weights.device.type == "cpu" and not fine:
            weights = weights.masked_fill(~self.real, 0.0)
            flat = weights.flatten(2).mT
            products = self.weight @ flat
        masks = len(self.linear)
        inside = products[:, :masks]
        if self.divisor is not None:
            base = self.divisor @ flat
            inside = torch.where(base > 0, inside / base, torch.nan)
        found = inside.new_full((examples, self.said.shape[1], heads), torch.nan)
        found[:, list(self.linear)] = inside
        row = masks
        for each in self.contrasts:
            seen = products[:, row : row + len(each.columns)]
            found[:, each.columns] = beyond(each, seen, weights, scratch.of(each.shape))
            row += len(each.columns)
        if not fine:
            found.masked_fill_(~products.isfinite().all(1, keepdim=True), torch.inf)
        return found.masked_fill_(~self.said[..., None], torch.nan)


def batch_plan(
    asking: Asking,
    stated: Sequence[Stated],
    examples: Sequence[Example],
    visible: Sequence[Visible],
    width: int,
    device: torch.device,
    words: int = 0,
) -> BatchPlan:
    """Lay a selection of sieves over a padded batch.

    Args:
        asking: What the selection asks.
        stated: What it says of each example.
        examples: The inputs; joint inputs of cross attention are not laid out so.
        visible: Which keys each query of each example can see; None: all.
        width: To which they are padded, at least the longest.
        device: Where attention lies, and the plan with it.
        words: To which words are padded, where parts of a batch are to be of one shape.
    """
    batch = padding_of(examples, visible, device, width, words)
    contrasts = contrasts_of(asking, stated, batch)
    masks = weights_of(asking, stated, batch, sum(len(each.columns) for each in contrasts))
    shape = (len(examples), asking.columns)
    said = torch.zeros(shape, dtype=torch.bool, device=device)
    cells, low, high = (torch.zeros(shape, dtype=batch.exact, device=device) for _ in range(3))
    linear = list(asking.linear)
    said[:, linear] = masks.said
    cells[:, linear] = masks.cells.to(batch.exact)
    low[:, linear], high[:, linear] = masks.low, masks.high
    row = len(linear)
    for each in contrasts:
        reach, stop = each.reach.to(batch.exact), row + len(each.columns)
        masks.weight[:, row:stop], row = each.seen, stop
        said[:, each.columns] = each.said
        cells[:, each.columns] = each.cells.to(batch.exact)
        low[:, each.columns], high[:, each.columns] = -reach, reach
    return BatchPlan(
        linear=asking.linear,
        weight=masks.weight,
        divisor=masks.divisor,
        contrasts=tuple(contrasts),
        said=said,
        cells=cells.masked_fill_(~said, torch.nan),
        low=low.masked_fill_(~said, torch.nan),
        high=high.masked_fill_(~said, torch.nan),
        real=(batch.real[:, :, None] & batch.visible)[:, None],
    )


CHUNK = 2 * 2**20
"""Bytes of attention that are read at once on a processor, so that they stay in its cache."""

Plans = list[tuple[slice, BatchPlan]]


@runtime_checkable
class Stating(Protocol):
    """Sieves that say what they ask of every example, and of each one."""

    @property
    def asking(self) -> Asking:
        """What the mask sieves and contrasts ask of every example."""

    def stated(self, example: Example) -> Stated:
        """What they say of one."""


class Together:
    """Examples whose attention comes as one padded batch, and how sieves are laid over them.

    Plans depend on which examples are in the batch and on nothing else, so that a batch that is formed
    again, by another worker or after a restart, gets the same bits.
    """

    def __init__(
        self, sieves: Stating, examples: Sequence[Example], heads: int, device: torch.device
    ) -> None:
        """Ask the sieves about the examples of a batch.

        Raises:
            HeadrolesError: As a sieve's functions do.
        """
        self.asking = sieves.asking
        self.examples = list(examples)
        self._stated = [sieves.stated(example) for example in examples]
        self._heads, self._device = heads, device
        self._words = max(int(example.word.max(initial=-1)) + 1 for example in examples)
        self._known: list[tuple[list[Visible], list[bytes], Plans]] = []

    def plans(self, visible: Sequence[Visible], width: int) -> Plans:
        """Plans of the batch, in parts that are read one after another; the same object for the same sets.

        Args:
            visible: Which keys each query of each example can see; None: all.
            width: To which the examples are padded.
        """
        for known, _, plans in self._known:
            if all(one is other for one, other in zip(known, visible, strict=True)):
                return plans
        keys = [key_of(each) for each in visible]
        for _, same, plans in self._known:
            if keys == same:
                self._known.append((list(visible), keys, plans))
                return plans
        plans = [(part, self._laid(part, visible[part], width)) for part in self._parts(width)]
        self._known.append((list(visible), keys, plans))
        return plans

    def _parts(self, width: int) -> list[slice]:
        count, room = len(self.examples), weights.ROOM if self._device.type != "cpu" else CHUNK
        step = max(1, room // (4 * self._heads * width**2))
        return [slice(start, min(start + step, count)) for start in range(0, count, step)]

    def _laid(self, part: slice, visible: Sequence[Visible], width: int) -> BatchPlan:
        return batch_plan(
            self.asking, self._stated[part], self.examples[part], visible, width, self._device, self._words
        )


class BatchScores:
    """The scores of a batch while its layers come in; brought to the processor's memory once, at the last."""

    def __init__(self, together: Together, layers: int, device: torch.device) -> None:
        """Take the examples, and how many layers there will be."""
        self._together, self._layers = together, layers
        self._scratch = Scratches(device)
        self._found: list[torch.Tensor] = []
        self._used: list[Plans] = []

    def add(self, weights: torch.Tensor, visible: Sequence[Visible]) -> Plans:
        """Read a layer's weights (examples, heads, tokens, tokens); gives plans when first used."""
        plans = self._together.plans(visible, weights.shape[-1])
        found = [plan.scores(weights[part], self._scratch) for part, plan in plans]
        self._found.append(torch.cat(found))
        if any(plans is used for used in self._used):
            return []
        self._used.append(plans)
        return plans

    @property
    def done(self) -> bool:
        """Whether all layers are read."""
        return len(self._found) == self._layers

    def values(self) -> Float[np.ndarray, "columns examples layers heads"]:
        """The scores of all layers.

        Raises:
            BadInput: When attention is no number, naming the example and the first layer.
        """
        found: np.ndarray = torch.stack(self._found).permute(2, 1, 0, 3).cpu().numpy()
        broken = np.isinf(found).any(axis=(0, 3))
        if broken.any():
            layer = int(broken.any(axis=0).argmax())
            raise not_finite(self._together.examples[int(broken[:, layer].argmax())].key, layer)
        return found


def reads_together(sizes: Sequence[int], heads: int, device: torch.device) -> bool:
    """Whether examples of these sizes are read as one batch where their weights lie together.

    On a processor that is so for short ones, of which operations on single examples would cost more than
    the numbers they work on, and everywhere for one short example by itself; on other devices for several
    as long as the weights of a layer have room.
    """
    if device.type == "cpu" or len(sizes) == 1:
        return max(sizes) <= weights.WHOLE
    return 4 * heads * len(sizes) * max(sizes) ** 2 <= ROOM


ROOM = 2**29
"""Bytes that the weights of a layer may take on other devices where a batch is read as one."""
