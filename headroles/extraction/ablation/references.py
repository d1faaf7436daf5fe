"""Mean outputs of heads over reference inputs, by class of token, from inputs of other units."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.extraction.texts.tokens import Tokenised

CLASSES = ("first", "special", "other")
"""Classes of tokens that have mean outputs of their own."""
FEWEST = 10
"""Fewest tokens of a class in a fold for a mean of its own; with fewer it has that of all tokens."""

Outputs = Sequence[Float[torch.Tensor, "tokens heads _"]]
"""Outputs of the heads of an input, by layer."""
OfEach = Callable[[Callable[[int], list[torch.Tensor]], range], Iterable[list[torch.Tensor]]]
"""Applies a function to numbers, as ``map`` does."""


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """Inputs that mean outputs and draws are taken from.

    Attributes:
        inputs: The inputs, as the model reads them: with masked tokens where damage is measured on these.
        units: Unit of each.
    """

    inputs: Sequence[Tokenised]
    units: Sequence[str]


def token_classes(tokenised: Tokenised) -> Int[np.ndarray, " tokens"]:
    """Return the class of each token by number: the first one that is read, other special ones, the rest."""
    classes = np.where(tokenised.texts < 0, 1, 2)
    classes[:1] = 0
    return classes


class Folds:
    """Two folds of units, by a hash of seed and unit name; each has half of the reference units."""

    def __init__(self, units: Iterable[str], seed: int) -> None:
        """Take the units of the reference inputs.

        Raises:
            BadInput: When there are fewer than two.
        """
        self._seed = seed
        ranked = sorted(self._hash(unit) for unit in set(units))
        if len(ranked) < 2:
            raise BadInput(
                f"mean outputs are those of other units, so reference inputs are of at least two, but got "
                f"{len(ranked)}; give more inputs, or --by zero"
            )
        self._middle = ranked[len(ranked) // 2]

    def fold(self, unit: str) -> int:
        """Return the fold of a unit, 0 or 1."""
        return int(self._hash(unit) >= self._middle)

    def _hash(self, unit: str) -> bytes:
        return blake2b(f"{self._seed} references {unit}".encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Mean outputs of all heads, by fold and class of token.

    Attributes:
        folds: The fold of each unit.
        values: By layer (folds, classes, heads, head_dim), float64.
    """

    folds: Folds
    values: Sequence[Float[torch.Tensor, "2 3 heads _"]]

    def of(self, unit: str, classes: Int[np.ndarray, " tokens"], layer: int) -> torch.Tensor:
        """Return the mean outputs (tokens, heads, head_dim) that stand for those of an input of a unit.

        They are those of the fold that the unit is not in.
        """
        return self.values[layer][1 - self.folds.fold(unit)][torch.from_numpy(classes)]

    @property
    def digest(self) -> str:
        """Return a hash of all means."""
        hasher = blake2b(digest_size=16)
        for layer in self.values:
            hasher.update(layer.cpu().numpy().tobytes())
        return hasher.hexdigest()


def mean_outputs(
    references: References,
    seed: int,
    outputs_of: Callable[[Tokenised], Outputs],
    of_each: OfEach = map,
) -> Means:
    """Return the mean output of every head over reference inputs, by fold and class of token.

    Means are over tokens, all inputs of a fold together. A class with fewer than ``FEWEST`` tokens in a fold
    has the mean of all tokens of the fold.

    Args:
        references: The inputs.
        seed: Seed of the folds.
        outputs_of: Runs an input, and returns the outputs of its heads.
        of_each: Yields what a function returns for each of some numbers, in their order.

    Raises:
        BadInput: When the inputs are of fewer than two units.
    """
    folds = Folds(references.units, seed)
    marks = [
        torch.nn.functional.one_hot(torch.from_numpy(token_classes(tokenised)), len(CLASSES)).double()
        for tokenised in references.inputs
    ]

    def sums_of(place: int) -> list[torch.Tensor]:
        return [
            torch.einsum("tc,thd->chd", marks[place].to(output.device), output.double()).cpu()
            for output in outputs_of(references.inputs[place])
        ]

    sums: list[torch.Tensor] = []
    counts = torch.zeros(2, len(CLASSES), dtype=torch.float64)
    for place, totals in enumerate(of_each(sums_of, range(len(references.inputs)))):
        fold = folds.fold(references.units[place])
        counts[fold] += marks[place].sum(0)
        for layer, total in enumerate(totals):
            if layer == len(sums):
                sums.append(torch.zeros(2, *total.shape, dtype=torch.float64))
            sums[layer][fold] += total
    return Means(folds, [_with_fallback(layer, counts) for layer in sums])


def _with_fallback(sums: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Return means by fold and class, those of all tokens where a class has too few."""
    overall = sums.sum(1, keepdim=True) / counts.sum(1)[:, None, None, None]
    own = sums / counts.clamp(min=1)[:, :, None, None]
    return torch.where((counts >= FEWEST)[:, :, None, None], own, overall)


def draw_donors(
    references: References, key: str, unit: str, *, draws: int, seed: int
) -> Int[np.ndarray, " draws"]:
    """Return the places of reference inputs of other units, drawn by the seed and an input's key alone.

    Raises:
        BadInput: When no reference input is of another unit.
    """
    others = np.array([place for place, own in enumerate(references.units) if own != unit], dtype=np.int64)
    if not len(others):
        raise BadInput(
            f"outputs are drawn from other units, but all reference inputs are of the unit of {key!r}; give "
            f"more inputs, or leave --by resample out"
        )
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
    generator = np.random.default_rng([seed, number])
    return others[generator.choice(len(others), draws, replace=draws > len(others))]


def donor_places(
    classes: Int[np.ndarray, " tokens"], donor: Int[np.ndarray, " donor_tokens"]
) -> Int[np.ndarray, " tokens"]:
    """Return the token of a donor that stands for each token: same class, nearest relative position.

    Of two equally near ones it is the earlier. A token whose class the donor lacks gets the nearest of all.

    Example:
        >>> donor_places(np.array([0, 2, 2, 2, 1]), np.array([0, 2, 2, 1])).tolist()
        [0, 1, 2, 2, 3]
    """
    own = np.arange(len(classes)) / max(len(classes) - 1, 1)
    theirs = np.arange(len(donor)) / max(len(donor) - 1, 1)
    distance = np.abs(own[:, None] - theirs[None])
    differs = classes[:, None] != donor[None]
    lacks = differs.all(1, keepdims=True)
    nearest: np.ndarray = np.where(differs & ~lacks, np.inf, distance).argmin(1)
    return nearest
