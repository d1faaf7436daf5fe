"""Examples drawn at random for property tests of sieves: texts, words of several pieces, and trees."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from headroles import Example
from headroles.records.example import Arc


@dataclass(frozen=True)
class Recipe:
    """What hypothesis draws; the example is made in the test, where randomness is allowed."""

    seed: int
    lengths: tuple[int, ...]
    specials: bool
    relations: tuple[str, ...]

    def made(self) -> tuple[Example, np.random.Generator]:
        """Return the example, and the generator for whatever else the test draws."""
        rng = np.random.default_rng(self.seed)
        return layout(rng, self.lengths, self.relations, self.specials), rng


def recipes_of(relations: tuple[str, ...], longest: int) -> st.SearchStrategy[Recipe]:
    """Recipes of one text or two, of at most ``longest`` tokens each, with trees of some relations."""
    lengths = st.lists(st.integers(1, longest), min_size=1, max_size=2).map(tuple)
    return st.builds(Recipe, st.integers(0, 2**32 - 1), lengths, st.booleans(), st.just(relations))


def layout(
    rng: np.random.Generator, lengths: Sequence[int], relations: Sequence[str], specials: bool = True
) -> Example:
    """Texts of given lengths in tokens; words of one or more pieces, and a random head for most words."""
    segment: list[int] = [-1] if specials else []
    word: list[int] = [-1] if specials else []
    arcs: list[Arc] = []
    base = 0
    for text, length in enumerate(lengths):
        opens = rng.random(length) < 0.7
        opens[0] = True
        own = np.cumsum(opens) - 1
        words = int(own[-1]) + 1
        for dependent in range(words):
            head = int(rng.integers(words))
            if head != dependent and rng.random() < 0.9:
                arcs.append(Arc(base + dependent, base + head, str(rng.choice(relations))))
        segment += [text] * length
        word += [base + int(index) for index in own]
        if specials:
            segment, word = [*segment, -1], [*word, -1]
        base += words
    tokens = tuple(f"t{k}" for k in range(len(segment)))
    return Example(f"{lengths}", tokens, segment=np.array(segment), word=np.array(word), arcs=tuple(arcs))
