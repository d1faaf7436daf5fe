"""Many roles named in one sentence."""

from collections.abc import Sequence

MOST = 12
"""Names in one sentence; of more the first ones, and how many others there are."""


def shortened(names: Sequence[str]) -> str:
    """Names joined by commas, no more than a reader can use.

    Example:
        >>> shortened(["local", "block"]), shortened([str(k) for k in range(20)])
        ('local, block', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 others')
    """
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} others" if more > 0 else "")
