"""Settings of sieves, surface statistics and probes that options name, and their checks, without numpy."""

import unicodedata

from headroles.errors import BadInput, shorten

USUAL = ".,"
"""The punctuation marks of Clark et al. (2019)."""
ALL = "all"
"""Every token that is only punctuation."""
SMOOTHING = 1e-4
"""Share of each row that the code released with Clark et al. (2019) spreads evenly before entropies."""
ROOTS = ("given", "found")
"""Whether the root of a decoded tree is given or found."""


def is_mark(text: str) -> bool:
    """Return whether a text is punctuation only, by Unicode categories.

    Example:
        >>> [is_mark(text) for text in (".", "...", "“", "$", "e.g.", "")]
        [True, True, True, False, False, False]
    """
    return bool(text) and all(unicodedata.category(sign).startswith("P") for sign in text)


def check_marks(marks: str) -> None:
    """Check that punctuation marks are punctuation.

    Raises:
        BadInput: When there are none, or one is no punctuation.
    """
    if not isinstance(marks, str) or (marks != ALL and not (marks and all(is_mark(mark) for mark in marks))):
        raise BadInput(
            f"the punctuation marks are one or more marks in one word, as in {USUAL!r}, or {ALL!r} for every "
            f"token that is only punctuation, but got {shorten(marks)}"
        )
