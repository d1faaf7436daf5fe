"""Cross attention laid into the square of one joint example: the decoder's tokens, then the encoder's.

Whatever is made for attention within one input then works on it unchanged. Rows of the decoder's tokens
hold their weights on the encoder's; the encoder's own tokens attend to nothing here, so that their rows
are 0 and no key is visible to them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float

from headroles.extraction.capture.readers import Visible
from headroles.extraction.capture.stacks import DECODED, ENCODED, MASKS, Inputs
from headroles.extraction.texts.tokens import Tokenised
from headroles.plans.masks import Cells, Match

Sides = tuple[int, int]
"""Real tokens that the decoder and the encoder read."""


def sides_of(inputs: Inputs) -> list[Sides]:
    """The real tokens of decoder and encoder, example by example."""
    counts = [
        inputs[MASKS[name]].sum(1).tolist()
        if MASKS[name] in inputs
        else [inputs[name].shape[1]] * len(inputs[name])
        for name in (DECODED, ENCODED)
    ]
    return [(int(said), int(read)) for said, read in zip(*counts, strict=True)]


def across(sides: Sides) -> Bool[np.ndarray, "tokens tokens"]:
    """The keys that each token of a joint example sees: all of the encoder's, for the decoder's.

    Example:
        >>> across((2, 1)).astype(int).tolist()
        [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    said, read = sides
    seen = np.zeros((said + read, said + read), dtype=np.bool_)
    seen[:said, said:] = True
    return seen


def foreseen(tokenised: Tokenised, causal: bool) -> Visible:
    """The keys that each token will see, as far as that is known before the model runs.

    Args:
        tokenised: The input.
        causal: Whether every layer hides later keys.
    """
    if tokenised.stack is not None:
        read = int(tokenised.stack.sum())
        return across((tokenised.size - read, read))
    return np.tri(tokenised.size, dtype=np.bool_) if causal and tokenised.size > 1 else None


class Crossing:
    """The cross attention of one batch: visible sets by mask, worked out once, and weights as squares."""

    def __init__(self, sides: Sequence[Sides]) -> None:
        """Take the tokens of each example."""
        self.sides = sides
        self._masks: list[torch.Tensor | None] = []
        self._dense: dict[tuple[int, int], Bool[np.ndarray, "tokens tokens"]] = {}
        self._shown: dict[tuple[int, int], Match | Cells] = {}

    def of(self, mask: torch.Tensor | None, example: int) -> Bool[np.ndarray, "tokens tokens"]:
        """Visible set of an example under the mask that arrives, which hides the encoder's padding."""
        place = (self._number(mask), example)
        if place not in self._dense:
            seen, kept, (said, _) = (
                across(self.sides[example]),
                self._kept(mask, example),
                self.sides[example],
            )
            if kept is not None:
                seen[:said, said:] = kept
            self._dense[place] = seen
        return self._dense[place]

    def under(self, mask: torch.Tensor | None) -> list[Bool[np.ndarray, "tokens tokens"]]:
        """Visible sets of all examples under a mask."""
        return [self.of(mask, example) for example in range(len(self.sides))]

    def shown(self, mask: torch.Tensor | None, example: int) -> Match | Cells:
        """The visible set of a long example, which takes no room where the whole encoder is seen."""
        place = (self._number(mask), example)
        if place not in self._shown:
            kept, (said, read) = self._kept(mask, example), self.sides[example]
            whole = kept is None or bool(kept.all())
            encoder = np.repeat(np.array([-1, 0]), [said, read])
            self._shown[place] = Match(-1 - encoder, encoder) if whole else Cells(self.of(mask, example))
        return self._shown[place]

    def _number(self, mask: torch.Tensor | None) -> int:
        """Which of the masks that came so far this is."""
        for number, known in enumerate(self._masks):
            if known is mask:
                return number
        self._masks.append(mask)
        return len(self._masks) - 1

    def _kept(self, mask: torch.Tensor | None, example: int) -> np.ndarray | None:
        """Which of the encoder's tokens each of the decoder's sees, or all alike; None for all."""
        if mask is None:
            return None
        said, read = self.sides[example]
        own = mask[min(example, mask.shape[0] - 1), 0, :said, :read]
        kept = own if own.dtype == torch.bool else own > torch.finfo(own.dtype).min / 2
        found: np.ndarray = kept.cpu().numpy()
        return found

    def squares(
        self, weights: Float[torch.Tensor, "examples heads queries keys"]
    ) -> Float[torch.Tensor, "examples heads tokens tokens"]:
        """Weights of a padded batch as padded squares of joint examples."""
        widest = max(sum(sides) for sides in self.sides)
        laid = weights.new_zeros((*weights.shape[:2], widest, widest))
        for example, (said, read) in enumerate(self.sides):
            laid[example, :, :said, said : said + read] = weights[example, :, :said, :read]
        return laid
