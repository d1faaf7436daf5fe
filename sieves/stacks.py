"""Offsets between tokens of one stack of layers only, which is where they mean something.

A joint example of cross attention has the decoder's tokens before the encoder's. A key there is as far
from its query as the decoder's text is long, which says nothing, so that a sieve of offsets does not apply.
"""

from headroles.plans.masks import Band, Every, Same
from headroles.records.example import Example


def within_stacks(returned: object, example: Example) -> object:
    """What a mask function returned, its bands kept to keys of the query's own stack.

    Args:
        returned: Anything; only a ``Band``, by itself or among ``Every``, is changed.
        example: The input.

    Example:
        >>> import numpy as np
        >>> joint = Example("joint", ("a", "b", "c"), stack=np.array([0, 0, 1]))
        >>> within_stacks(Band(1, 1, 3), joint).rows(0, 3).astype(int).tolist()
        [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    masks = returned.masks if isinstance(returned, Every) else (returned,)
    if not any(isinstance(mask, Band) for mask in masks) or not example.stack.any():
        return returned
    return Every((*masks, Same(example.stack)))
