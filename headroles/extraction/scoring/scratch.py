"""Memory that is used again, layer after layer."""

import math

import torch


class Scratch:
    """Blocks of memory by name, kept from layer to layer and batch to batch.

    A large new block costs more than the work done in it: the system clears each of its pages when it is
    first touched.
    """

    def __init__(self, device: torch.device) -> None:
        """Take the device of the blocks."""
        self._device = device
        self._held: dict[str, torch.Tensor] = {}
        self._zeroed: dict[str, tuple[int, ...]] = {}

    def take(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return a float32 tensor over the block of a name, with any content, until it is taken again."""
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or held.numel() < size:
            self._held.pop(name, None)
            held = torch.empty(size, device=self._device)
            self._held[name] = held
        return held[:size].view(shape)

    def take_zero(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """Return the same, but 0 in every cell that no user of the block in this shape has written."""
        block = self.take(name, shape)
        if self._zeroed.get(name) != shape:
            block.zero_()
            self._zeroed[name] = shape
        return block
