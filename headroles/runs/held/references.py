"""Draw the reference inputs of a run, and name the units of all inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from headroles.extraction.texts.sources import draw_indices
from headroles.inputs.corpora import Corpus
from headroles.inputs.units import UnitFinder
from headroles.records.passage import Passage

Chosen = Callable[[Sequence[str], Sequence[str]], Bool[np.ndarray, " inputs"]]
"""Function of the units and keys of all inputs that says which of them may be drawn."""


@dataclass(frozen=True, slots=True)
class DrawnInputs:
    """Some inputs of a run, and the units of all.

    Attributes:
        passages: The inputs, in the order of the run.
        units: Unit of each of them, named as in the whole run.
        every_key: Keys of all inputs of the run.
        every_unit: Units of all inputs of the run.
    """

    passages: tuple[Passage, ...]
    units: tuple[str, ...]
    every_key: tuple[str, ...]
    every_unit: tuple[str, ...]


def draw_references(corpus: Corpus, count: int, seed: int, among: Chosen | None = None) -> DrawnInputs:
    """Draw inputs at random without replacement, the same in every worker.

    Args:
        corpus: All inputs of the run, which are read once.
        count: Inputs wanted; all of them where there are fewer.
        seed: Seed of the draw.
        among: Says which inputs may be drawn, from units and keys of all; None for all inputs.
    """
    passages: list[Passage] = []
    bonds = UnitFinder()
    for passage in corpus:
        passages.append(passage)
        bonds.add(passage.group, corpus.identity.unit_marks(passage), passage.key)
    names = bonds.names() if corpus.units is None else corpus.units
    keys = [passage.key for passage in passages]
    allowed = np.ones(len(passages), dtype=np.bool_) if among is None else among(names, keys)
    places = np.flatnonzero(allowed)
    chosen = places[draw_indices(len(places), min(count, len(places)), seed)].tolist()
    return DrawnInputs(
        passages=tuple(passages[place] for place in chosen),
        units=tuple(names[place] for place in chosen),
        every_key=tuple(keys),
        every_unit=tuple(names),
    )
