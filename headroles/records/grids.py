"""Base of records with one entry per sieve, layer and head: findings of a run, differences of two runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.records.arrays import read_only
from headroles.records.example import Rule


@dataclass(frozen=True, slots=True, eq=False)
class HeadGrid:
    """Rules and unit counts of tests, one entry per sieve, layer and head; subclasses add their arrays.

    Attributes:
        rules: Rule of each sieve, in the order of the first axis.
        count: Units that counted.

    Raises:
        BadInput: When an array does not have one entry per sieve, layer and head.
    """

    rules: tuple[Rule, ...]
    count: Int[np.ndarray, "sieves layers heads"]

    def __post_init__(self) -> None:
        """Check shapes of all fields but the rules, and make the arrays read-only."""
        content = type(self).__name__.lower()
        for name in (field.name for field in fields(self) if field.name != "rules"):
            array = getattr(self, name)
            if array.ndim != 3 or array.shape != (len(self.rules), *self.count.shape[1:]):
                raise BadInput(
                    f"{content} have one entry per sieve, layer and head, but {name!r} of "
                    f"{len(self.rules)} sieves has shape {array.shape}"
                )
            object.__setattr__(self, name, read_only(array))

    @property
    def sieves(self) -> tuple[str, ...]:
        """Names of the sieves, contrasts included."""
        return tuple(rule.sieve for rule in self.rules)

    def of(self, sieve: str) -> int:
        """Return the position of a sieve on the first axis."""
        return self.sieves.index(sieve)

    def flat_columns(self, names: Iterable[str]) -> dict[str, Any]:
        """Return columns of a table with one row per sieve × layer × head: these three, then named arrays.

        Args:
            names: Fields that are arrays, in the order of the columns.
        """
        sieve, layer, head = (index.ravel() for index in np.indices(self.count.shape))
        columns: dict[str, Any] = {
            "sieve": np.array(self.sieves, dtype=object)[sieve], "layer": layer, "head": head
        }  # fmt: skip
        return columns | {name: getattr(self, name).ravel() for name in names}
