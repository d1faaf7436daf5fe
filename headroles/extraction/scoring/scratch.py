"""Memory that is used again layer after layer."""

import math

import torch


class Scratch:
    """Blocks of memory by name, kept from layer to layer and batch to batch.

    A large block that is asked of the system anew costs more than what is done with it: each of its
    pages is cleared when first touched.
    """

    def __init__(self, device: torch.device) -> None:
        """Take the device that the blocks lie on."""
        self._device = device
        self._held: dict[str, torch.Tensor] = {}
        self._zeroed: dict[str, tuple[int, ...]] = {}

    def take(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """A float32 tensor over the block of a name, with whatever it holds; good until taken again."""
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or held.numel() < size:
            self._held.pop(name, None)
            held = torch.empty(size, device=self._device)
            self._held[name] = held
        return held[:size].view(shape)

    def take_zero(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        """The same, 0 where those who took the block in this shape have not written."""
        found = self.take(name, shape)
        if self._zeroed.get(name) != shape:
            found.zero_()
            self._zeroed[name] = shape
        return found


class Scratches:
    """Memory of its own for every shape of what is worked on, so that zeros stay where they are."""

    def __init__(self, device: torch.device) -> None:
        """Take the device that the blocks lie on."""
        self._device = device
        self._made: dict[tuple[int, ...], Scratch] = {}

    def of(self, shape: tuple[int, ...]) -> Scratch:
        """The blocks of a shape."""
        if shape not in self._made:
            self._made[shape] = Scratch(self._device)
        return self._made[shape]
