"""Lay cross attention into the square of one joint example: the decoder's tokens, then the encoder's.

Code for attention within one input then works on it unchanged. Rows of the decoder's tokens hold their
weights on the encoder's tokens. The encoder's own tokens attend to nothing here: their rows are 0, and
no key is visible to them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.capture.stacks import DECODER_IDS, ENCODER_IDS, PADDING_MASKS, ModelInputs
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.masks import Cells, Match

SideLengths = tuple[int, int]
"""Numbers of tokens that the decoder and the encoder read, without padding."""


def side_lengths(inputs: ModelInputs) -> list[SideLengths]:
    """Return the numbers of tokens of decoder and encoder for each example, without padding."""
    counts = [
        inputs[PADDING_MASKS[name]].sum(1).tolist()
        if PADDING_MASKS[name] in inputs
        else [inputs[name].shape[1]] * len(inputs[name])
        for name in (DECODER_IDS, ENCODER_IDS)
    ]
    return [(int(decoder), int(encoder)) for decoder, encoder in zip(*counts, strict=True)]


def visible_cross(sides: SideLengths) -> Bool[np.ndarray, "tokens tokens"]:
    """Return the keys visible to each token of a joint example: to the decoder's, all of the encoder's.

    Example:
        >>> visible_cross((2, 1)).astype(int).tolist()
        [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    decoder, encoder = sides
    visible = np.zeros((decoder + encoder, decoder + encoder), dtype=np.bool_)
    visible[:decoder, decoder:] = True
    return visible


def expected_visible(tokenised: Tokenised, causal: bool) -> VisibleArray:
    """Return the keys that each token will see, as far as that is known before the model runs.

    Args:
        tokenised: The input.
        causal: Whether every layer hides later keys.
    """
    if tokenised.stack is not None:
        encoder = int(tokenised.stack.sum())
        return visible_cross((tokenised.size - encoder, encoder))
    return np.tri(tokenised.size, dtype=np.bool_) if causal and tokenised.size > 1 else None


class CrossLayout:
    """The cross attention of one batch: visible sets, computed once for each mask, and weights as squares."""

    def __init__(self, sides: Sequence[SideLengths]) -> None:
        """Take the numbers of tokens of each example."""
        self.sides = sides
        self._masks: list[torch.Tensor | None] = []
        self._arrays: dict[tuple[int, int], Bool[np.ndarray, "tokens tokens"]] = {}
        self._visible_masks: dict[tuple[int, int], Match | Cells] = {}

    def array(self, mask: torch.Tensor | None, example: int) -> Bool[np.ndarray, "tokens tokens"]:
        """Return the visible set of an example under a mask, which hides the encoder's padding."""
        place = (self._number(mask), example)
        if place not in self._arrays:
            decoder, _ = self.sides[example]
            visible, inside = visible_cross(self.sides[example]), self._visible_encoder(mask, example)
            if inside is not None:
                visible[:decoder, decoder:] = inside
            self._arrays[place] = visible
        return self._arrays[place]

    def arrays(self, mask: torch.Tensor | None) -> list[Bool[np.ndarray, "tokens tokens"]]:
        """Return the visible sets of all examples under a mask."""
        return [self.array(mask, example) for example in range(len(self.sides))]

    def visible_mask(self, mask: torch.Tensor | None, example: int) -> Match | Cells:
        """Return the visible set of a long example, which is small where the whole encoder is visible."""
        place = (self._number(mask), example)
        if place not in self._visible_masks:
            inside, (decoder, encoder) = self._visible_encoder(mask, example), self.sides[example]
            whole = inside is None or bool(inside.all())
            label = np.repeat(np.array([-1, 0]), [decoder, encoder])
            self._visible_masks[place] = (
                Match(-1 - label, label) if whole else Cells(self.array(mask, example))
            )
        return self._visible_masks[place]

    def _number(self, mask: torch.Tensor | None) -> int:
        """Return the number of a mask among those of this batch so far."""
        for number, known in enumerate(self._masks):
            if known is mask:
                return number
        self._masks.append(mask)
        return len(self._masks) - 1

    def _visible_encoder(self, mask: torch.Tensor | None, example: int) -> np.ndarray | None:
        """Return the encoder's tokens that each of the decoder's sees, or all alike; None for all."""
        if mask is None:
            return None
        decoder, encoder = self.sides[example]
        own = mask[min(example, mask.shape[0] - 1), 0, :decoder, :encoder]
        visible = own if own.dtype == torch.bool else own > torch.finfo(own.dtype).min / 2
        array: np.ndarray = visible.cpu().numpy()
        return array

    def to_squares(
        self, weights: Float[torch.Tensor, "examples heads queries keys"]
    ) -> Float[torch.Tensor, "examples heads tokens tokens"]:
        """Return the weights of a padded batch as padded squares of joint examples."""
        widest = max(sum(sides) for sides in self.sides)
        squares = weights.new_zeros((*weights.shape[:2], widest, widest))
        for example, (decoder, encoder) in enumerate(self.sides):
            own = weights[example, :, :decoder, :encoder]
            squares[example, :, :decoder, decoder : decoder + encoder] = own
        return squares
