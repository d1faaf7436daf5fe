"""A batch read as one: its plans by visible set, laid in the thread beside the model, and its scores."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float

from headroles.extraction import forming
from headroles.extraction.batched import BatchPlan, batch_plan
from headroles.extraction.kernels import unfit
from headroles.extraction.readers import Visible, key_of
from headroles.extraction.scratch import Scratches
from headroles.plans.batch import Asking, Stated
from headroles.records.example import Example

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
        count, room = len(self.examples), forming.ROOM if self._device.type != "cpu" else CHUNK
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
            raise unfit(self._together.examples[int(broken[:, layer].argmax())].key, layer)
        return found


def reads_together(sizes: Sequence[int], heads: int, device: torch.device) -> bool:
    """Whether examples of these sizes are read as one batch where their weights lie together.

    On a processor that is so for short ones, of which operations on single examples would cost more than
    the numbers they work on; on other devices as long as the weights of a layer have room.
    """
    if len(sizes) < 2:
        return False
    if device.type == "cpu":
        return max(sizes) <= forming.WHOLE
    return 4 * heads * len(sizes) * max(sizes) ** 2 <= ROOM


ROOM = 2**29
"""Bytes that the weights of a layer may take on other devices where a batch is read as one."""
