"""Products of queries and keys over the inputs of shards: in files of the shards, and joined for a run."""

from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import Float, Float32

from headroles.extraction.why.layout import QueryLayout
from headroles.extraction.why.products import Families, InputProducts
from headroles.extraction.why.singular import largest_singular
from headroles.records.causal.origins import Products
from headroles.runs.scored import ScoredRun
from headroles.stats.columns import unit_numbers
from headroles.stats.moments import unit_means
from headroles.storage.archive import archive_bytes, read_archive

PRODUCTS = "products.npz"
"""Ending of a shard's file of products."""


class ShardProducts:
    """Parts of contrasts by input of a shard, and sums of outer products.

    An input has the weight 1 / (inputs of its unit) in these sums, so that all units weigh the same.
    """

    def __init__(
        self,
        families: Families,
        layout: QueryLayout,
        redeals: int,
        queries: Float[np.ndarray, "references families size"],
    ) -> None:
        """Start without inputs.

        Args:
            families: Roles and heads.
            layout: The dimensions of queries.
            redeals: Re-deals of the cells.
            queries: Mean query of each reference unit.
        """
        count, size = len(families), layout.size
        self._families, self._layout, self._queries = families, layout, queries
        self._examples: list[str] = []
        self._parts: list[Float32[np.ndarray, "families size"]] = []
        self._vertical: list[Float[np.ndarray, " families"]] = []
        self._bias: list[Float[np.ndarray, " families"]] = []
        self._outer, self._weight = np.zeros((count, size, size)), np.zeros(count)
        self._difference = np.zeros((count, size))
        self._redealt = np.zeros((count, redeals, size, size), dtype=np.float32)
        self._redealt_weight = np.zeros((count, redeals))

    def add(self, example: str, products: InputProducts, members: int) -> None:
        """Add the products of an input.

        Args:
            example: Its key.
            products: Its products.
            members: Inputs of its unit.
        """
        self._examples.append(example)
        self._parts.append(products.parts.astype(np.float32))
        self._vertical.append(products.vertical)
        self._bias.append(products.bias)
        for total, weight, own in (
            (self._outer, self._weight, products.outer),
            (self._redealt, self._redealt_weight, products.redealt),
        ):
            known = ~np.isnan(own).any(axis=(-2, -1))
            weight[known] += 1 / members
            total[known] += own[known] / members
        self._difference += np.nan_to_num(products.difference) / members

    def content(self) -> bytes:
        """Return the content of the shard's file."""
        families, layout = self._families, self._layout
        wide = (len(self._examples), len(families))
        return archive_bytes(
            {
                "roles": np.array(families.roles, dtype=np.str_),
                "layers": families.layers,
                "heads": families.heads,
                "group": layout.group,
                "free": layout.free,
                "examples": np.array(self._examples, dtype=np.str_),
                "parts": np.array(self._parts, dtype=np.float32).reshape(*wide, layout.size),
                "vertical": np.array(self._vertical, dtype=np.float64).reshape(wide),
                "bias": np.array(self._bias, dtype=np.float64).reshape(wide),
                "references": np.einsum("rfd,fd->rf", self._queries, self._difference),
                "outer": self._outer,
                "weight": self._weight,
                "redealt": self._redealt,
                "redealt_weight": self._redealt_weight,
            }
        )


def join_products(contents: Iterable[bytes], units: Mapping[str, str]) -> Products:
    """Return the products of a run from the files of its shards.

    A unit's value is the mean over its inputs that have one.

    Args:
        contents: The files, in the order of the shards.
        units: Unit of each example, by its key.

    Raises:
        ValueError: When a file is no archive.
        KeyError: When an array is missing.
        BadInput: When arrays do not fit together.
    """
    examples: list[str] = []
    rows: dict[str, list[np.ndarray]] = {"parts": [], "vertical": [], "bias": []}
    sums: dict[str, np.ndarray] = {}
    last: dict[str, np.ndarray] = {}
    for content in contents:
        last = read_archive(content, PRODUCTS)
        examples += map(str, last["examples"])
        for name, values in rows.items():
            values.append(last[name])
        for name in ("references", "outer", "weight", "redealt", "redealt_weight"):
            sums[name] = last[name].astype(np.float64) + sums.get(name, 0.0)
    names = [units[example] for example in examples]
    numbers = unit_numbers(names)
    by_unit = {name: unit_means(np.concatenate(values), numbers) for name, values in rows.items()}
    return Products(
        roles=tuple(map(str, last["roles"])),
        layers=last["layers"],
        heads=last["heads"],
        units=tuple(dict.fromkeys(names)),
        **by_unit,
        references=_divide(sums["references"].T, sums["weight"]).T,
        outer=_divide(sums["outer"], sums["weight"]),
        redealt=largest_singular(_divide(sums["redealt"], sums["redealt_weight"])),
        group=last["group"],
        free=last["free"],
    )


def read_products_of(scored: ScoredRun) -> Products:
    """Return the products of a new run from the files of its shards.

    Raises:
        BadInput: When a file of a shard is missing or was altered.
    """
    units = dict(zip(scored.scores.examples, scored.scores.units, strict=True))
    return join_products(scored.shard_files(PRODUCTS), units)


def _divide(sums: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return arrays over the weights of their first axes; NaN without weight."""
    with np.errstate(invalid="ignore"):
        known = np.where(weight > 0, weight, np.nan)
        mean: np.ndarray = sums / known.reshape(*weight.shape, *[1] * (sums.ndim - weight.ndim))
    return mean
