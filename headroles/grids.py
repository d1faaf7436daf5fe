"""Arrays of a record that have one entry per sieve, layer and head."""

from collections.abc import Iterable
from typing import Any

from headroles.errors import BadInput
from headroles.readonly import frozen


def frozen_grids(record: Any, what: str, names: Iterable[str]) -> None:
    """Make arrays of a record read-only, each with one entry per sieve, layer and head.

    Args:
        record: With ``rules``, one per sieve, and the array ``count`` of units.
        what: What the record holds, for the error.
        names: Of the arrays.

    Raises:
        BadInput: When an array has another shape.
    """
    for name in names:
        array = getattr(record, name)
        if array.ndim != 3 or array.shape != (len(record.rules), *record.count.shape[1:]):
            raise BadInput(
                f"{what} have one entry per sieve, layer and head, but {name!r} of {len(record.rules)} "
                f"sieves has shape {array.shape}"
            )
        object.__setattr__(record, name, frozen(array))
