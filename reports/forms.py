"""Forms and widths of figure files, checked before anything is loaded or drawn."""

from numbers import Real
from typing import Any

from headroles.errors import BadInput, UnknownName

FORMS = ("pdf", "png", "svg")
WIDTH = 183.0
"""Usual width of a figure over two columns of a page, in millimetres."""
NARROWEST, WIDEST = 60.0, 500.0
"""Widths in millimetres between which a figure can be read and kept on a sheet."""


def check_form(form: str) -> str:
    """Return a form of files; raises ``UnknownName`` when there is none of that name."""
    if not isinstance(form, str) or form not in FORMS:
        raise UnknownName("form of figures", form, FORMS)
    return form


def check_width(width: Any) -> float:
    """Return the width of figures in millimetres as a plain number, if it is one from 60 to 500.

    Raises:
        BadInput: When it is not.

    Example:
        >>> check_width(89)
        89.0
    """
    real = isinstance(width, Real) and not isinstance(width, bool)
    if not real or not NARROWEST <= float(width) <= WIDEST:
        raise BadInput(
            f"the width of figures is a number of millimetres from {NARROWEST:g} to {WIDEST:g}, but "
            f"got {width!r}; 89 is a column of a journal, 183 are two"
        )
    return float(width)
