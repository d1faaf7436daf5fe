"""The dependent's head word, for all relations or for one."""

import re

import numpy as np

from headroles.errors import BadInput, BadSieve
from headroles.records import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.masks import Cells
from headroles.sieves.relations import LEFT_OUT, canonical, matches

CONTRAST_MARGIN = 0.05
SOURCE = "Pande et al. 2021, syntactic sieve; Clark et al. 2019, section 4"


def relation(name: str) -> MaskSieve:
    """The syntactic sieve of one relation, such as ``syntactic:det``.

    Both Universal Dependencies and ClearNLP names are understood (obj and dobj are one); a plain
    name covers its subtypes (nsubj covers nsubj:pass).

    Raises:
        BadSieve: When the name cannot be that of a relation, or is one that is left out.
    """
    if not re.fullmatch(r"[A-Za-z]+(:[A-Za-z]+)?", name) or canonical(name) in LEFT_OUT:
        raise BadSieve(
            f"'syntactic:{name}' does not name a dependency relation; a relation is letters with an "
            f"optional subtype, other than punct and root, as in syntactic:nsubj or syntactic:nsubj:pass"
        )
    return _syntactic(f"syntactic:{name}", name)


def arc_cells(example: Example, wanted: str | None) -> np.ndarray:
    """Arcs as bool over (dependent word, head word), punct and root left out.

    Args:
        example: An annotated example.
        wanted: One relation, or None for all.

    Raises:
        BadInput: When the example carries no arcs.
    """
    if example.arcs is None:
        raise BadInput(
            f"syntactic sieves need dependency arcs, but example {example.key!r} has none; "
            f"give the example arcs, or leave the syntactic sieves out"
        )
    words = max(int(example.word.max(initial=-1)) + 1, 0)
    cells = np.zeros((words, words), dtype=np.bool_)
    for arc in example.arcs:
        if arc.dependent >= words or arc.head >= words or canonical(arc.relation) in LEFT_OUT:
            continue
        if wanted is None or matches(arc.relation, wanted):
            cells[arc.dependent, arc.head] = True
    return cells


def _syntactic(name: str, wanted: str | None) -> MaskSieve:
    def words(example: Example) -> np.ndarray:
        return arc_cells(example, wanted)

    def mask(example: Example) -> Cells:
        by_word = np.pad(words(example), (0, 1))
        return Cells(by_word[example.word[:, None], example.word[None, :]])

    what = (
        "the head word of each dependent" if wanted is None else f"the head word of each {wanted} dependent"
    )
    return MaskSieve(
        name=name,
        mask=mask,
        question=f"Does the head look from a word at {what}, beyond what distance gives?",
        source=SOURCE,
        needs=frozenset({"arcs"}),
        groups=_word,
        arcs=True,
        contrast=Contrast(margin=CONTRAST_MARGIN, cells=words, scope=_others, words=True),
    )


def _word(example: Example) -> np.ndarray:
    return example.word


def _others(example: Example) -> np.ndarray:
    words = max(int(example.word.max(initial=-1)) + 1, 0)
    return ~np.eye(words, dtype=np.bool_)


syntactic = _syntactic("syntactic", None)
syntactic_nsubj = relation("nsubj")
syntactic_obj = relation("obj")
syntactic_amod = relation("amod")
syntactic_advmod = relation("advmod")
