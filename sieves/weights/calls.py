"""Call the functions of sieves, also those of plug-ins, and turn their errors into sentences.

A joint example of cross attention has the decoder's tokens before the encoder's. The distance of its keys
depends on the length of the decoder's text and means nothing, so that sieves of offsets do not apply: a band
of offsets only counts keys of the query's own stack of layers.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import Int

from headroles.errors import BadSieve, HeadrolesError
from headroles.plans.masks import Band, Cells, Every, Mask, Same
from headroles.records.example import Example
from headroles.sieves.base import Contrast, LabelFunction, MaskFunction, MaskSieve
from headroles.sieves.masks import KINDS, as_mask

RECENT = 64
"""Examples whose calls are kept, such as those of the batch that is laid out."""


class SieveCalls:
    """Calls functions of sieves on one example; a function that several sieves share is called once."""

    def __init__(self, example: Example) -> None:
        """Keep the example."""
        self.example = example
        self._known: dict[int, tuple[object, object]] = {}  # a function is kept, so that its id stays its own
        self._checked: dict[tuple[int, int], np.ndarray] = {}
        self._masks: dict[tuple[int, int], Mask] = {}
        self._size, self._words = example.size, int(example.word.max(initial=-1)) + 1
        self._stacked = bool(example.stack.any())

    def mask(self, mask: MaskSieve) -> Mask:
        """Return the cells that a sieve counts, before visible keys, scope and special tokens are applied.

        Raises:
            BadSieve: When a function fails, or a mask or labels have another shape or type.
            BadInput: When the sieve needs annotation that the example lacks.
        """
        returned = self._call(mask.mask, "the mask of sieve", mask.name)
        if self._stacked:
            returned = within_stacks(returned, self.example)
            return as_mask(returned, self._size, mask.name, self.example.key)
        return self._as_mask(returned, self._size, mask.name)

    def scope(self, mask: MaskSieve) -> Mask | None:
        """Return the cells that a sieve's keys are compared within; None for every visible key."""
        if mask.scope is None:
            return None
        returned = self._call(mask.scope, "the scope of sieve", mask.name)
        return self._as_mask(returned, self._size, mask.name)

    def labels(self, mask: MaskSieve) -> Int[np.ndarray, " tokens"] | None:
        """Return the group of each query, −1 for queries that ask nothing; None: each is its own group."""
        return self._labels(mask.groups, self._size, mask.name)

    def contrast_cells(self, contrast: Contrast, column: str) -> Mask:
        """Return the cells that a contrast counts, over its units."""
        return self._units_mask(contrast.cells, contrast.words, column)

    def contrast_scope(self, contrast: Contrast, column: str) -> Mask:
        """Return the cells that a contrast compares within, over its units."""
        return self._units_mask(contrast.scope, contrast.words, column)

    def contrast_others(self, contrast: Contrast, column: str) -> Mask | None:
        """Return the cells over which a contrast compares keys with themselves; None where it does not."""
        return None if contrast.others is None else self._units_mask(contrast.others, contrast.words, column)

    def contrast_labels(self, contrast: Contrast, column: str) -> Int[np.ndarray, " units"] | None:
        """Return the group of each unit of a contrast, −1 for units that ask nothing; None: one group."""
        return self._labels(contrast.groups, self._units(contrast.words), column)

    def word_labels(self, function: LabelFunction, column: str) -> Int[np.ndarray, " words"]:
        """Return the group of each word for a contrast against word class, −1 for words in none."""
        labels = self._labels(function, self._words, column)
        assert labels is not None, "there is a function"
        return labels

    def _units(self, words: bool) -> int:
        """Return the number of words up to the last one that has a token, or of tokens."""
        return self._words if words else self._size

    def _units_mask(self, function: MaskFunction, words: bool, column: str) -> Mask:
        returned, units = self._call(function, "the contrast", column), self._units(words)
        if units == 0:  # nothing has a shape then
            return returned if isinstance(returned, (*KINDS, Mask)) else Cells(np.asarray(returned))
        return self._as_mask(returned, units, column, "words" if words else "tokens")

    def _as_mask(self, returned: object, units: int, name: str, unit: str = "tokens") -> Mask:
        """Return what a function returned as a mask; what several sieves share is checked once."""
        shared = id(returned), units
        if shared not in self._masks:
            self._masks[shared] = as_mask(returned, units, name, self.example.key, unit)
        return self._masks[shared]

    def _labels(self, function: LabelFunction | None, units: int, name: str) -> np.ndarray | None:
        if function is None:
            return None
        checked = self._checked.get((id(function), units))
        if checked is not None:
            return checked
        labels = np.asarray(self._call(function, "the groups of sieve", name))
        if labels.shape != (units,) or labels.dtype.kind not in "iu":
            raise BadSieve(
                f"the groups of sieve {name!r} are a whole number for each token or word, shape ({units},), "
                f"but got {labels.dtype} {labels.shape} for example {self.example.key!r}; mend the sieve"
            )
        most = (
            units + self._units(words=True) + len(self.example.mentions or ()) + len(self.example.arcs or ())
        )
        if labels.size and not -1 <= labels.min() <= labels.max() < most:
            raise BadSieve(
                f"the groups of sieve {name!r} are numbered from 0, below the number of tokens, words, "
                f"arcs and mentions, with −1 for those that do not count, but got {labels.min()} to "
                f"{labels.max()} for {most} in example {self.example.key!r}; number them again"
            )
        self._checked[id(function), units] = labels
        return labels

    def _call(self, function: Callable[[Example], object], what: str, name: str) -> object:
        """Return the result of a function; any error inside it becomes one sentence."""
        known = self._known.get(id(function))
        if known is not None:
            return known[1]
        try:
            returned = function(self.example)
        except HeadrolesError:
            raise
        except Exception as error:  # a third party's function may raise anything
            raise BadSieve(
                f"{what} {name!r} failed on example {self.example.key!r} ({type(error).__name__}: {error}); "
                f"mend the sieve"
            ) from error
        self._known[id(function)] = function, returned
        return returned


@lru_cache(maxsize=RECENT)
def calls_of(example: Example) -> SieveCalls:
    """Return the calls on an example, which masks and pairs of words of one batch share."""
    return SieveCalls(example)


def within_stacks(returned: object, example: Example) -> object:
    """Limit the bands of a mask to keys of the query's own stack.

    Args:
        returned: Anything that a mask function returned; only a ``Band``, alone or in ``Every``, is changed.
        example: The input.

    Example:
        >>> joint = Example("joint", ("a", "b", "c"), stack=np.array([0, 0, 1]))
        >>> within_stacks(Band(1, 1, 3), joint).rows(0, 3).astype(int).tolist()
        [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    masks = returned.masks if isinstance(returned, Every) else (returned,)
    if not any(isinstance(mask, Band) for mask in masks) or not example.stack.any():
        return returned
    return Every((*masks, Same(example.stack)))
