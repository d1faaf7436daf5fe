"""The dependent's head word, for all relations or for one."""

import re

import numpy as np

from headroles.errors import BadSieve
from headroles.records.example import Example
from headroles.sieves.arcs import arcs_of
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.masks import Pairs, Without, apart
from headroles.sieves.relations import LEFT_OUT, canonical

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


def arc_pairs(example: Example, wanted: str | None) -> Pairs:
    """Arcs as pairs of words, the dependent and its head, punct and root left out.

    Args:
        example: An annotated example.
        wanted: One relation, or None for all.

    Raises:
        BadInput: When the example carries no arcs.
    """
    arcs = arcs_of(example)
    kept = arcs.of(wanted)
    return Pairs(arcs.dependent[kept], arcs.head[kept], word_count(example))


def word_count(example: Example) -> int:
    """Number of words up to the last one that has a token."""
    return int(example.word.max(initial=-1)) + 1


def _syntactic(name: str, wanted: str | None) -> MaskSieve:
    def words(example: Example) -> Pairs:
        return arc_pairs(example, wanted)

    def mask(example: Example) -> Pairs:
        arcs = arcs_of(example)
        kept = arcs.of(wanted)[arcs.arc]
        return Pairs(arcs.query[kept], arcs.key[kept], example.size)

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


def _others(example: Example) -> Without:
    return apart(word_count(example))


syntactic = _syntactic("syntactic", None)
syntactic_nsubj = relation("nsubj")
syntactic_obj = relation("obj")
syntactic_amod = relation("amod")
syntactic_advmod = relation("advmod")
