"""Other mentions of the entity that a mention names.

S_i are the tokens of the other mentions of the entity of the query's innermost mention, R_i those of all
other mentions, both outside that mention, so that looking at just any noun phrase is no coreference. Tokens
outside mentions are no queries.

Measured on windows of 100 and 250 words of GUM and LitBank, mean contrasts of planted heads: fixed offsets
and decay within 0.006, absolute positions 0.011, decay over the tokens of mentions 0.005 and over their first
words 0.033; a head that looks at coreferent tokens and evenly at everything, half and half, has 0.17 to
0.47. Not controlled: word class. Most pronouns of a text name few entities, and a head that looks at near
pronouns from anywhere has a selectivity of up to 0.18 and a contrast of up to 0.07, which is why the margin
of the contrast is 0.1.
"""

import numpy as np
from jaxtyping import Bool, Int

from headroles.errors import BadInput
from headroles.plans.masks import Cells
from headroles.records.example import Example
from headroles.records.roles import RoleWords
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.built_in.syntactic import word_count

CONTRAST_MARGIN = 0.1
"""Twice that of the syntactic sieves, because of heads that look at pronouns from anywhere."""


def own_mention(example: Example) -> Int[np.ndarray, " words"]:
    """Return the innermost mention of each word (the shortest, the first of several); −1 outside mentions.

    Raises:
        BadInput: When the example has no mentions.

    Example:
        >>> from headroles.records.example import Mention
        >>> mentions = (Mention(0, 2, "aunt"), Mention(0, 1, "Ann"))  # Ann 's aunt, without the clitic
        >>> words = {"word": np.arange(3), "mentions": mentions}
        >>> own_mention(Example("note", ("Ann", "aunt", "left"), **words)).tolist()
        [1, 0, -1]
    """
    own = np.full(word_count(example), -1, dtype=np.int64)
    mentions = _mentions(example)
    whole = [mention.stop - mention.start for mention in example.mentions or ()]
    for number in sorted(range(len(mentions)), key=lambda place: (-whole[place], -place)):
        start, stop = mentions[number]
        own[start:stop] = number
    return own


def same_entity(example: Example) -> Bool[np.ndarray, "words words"]:
    """Return for each word of a mention the words of its entity's other mentions, outside its own."""
    _mentions(example)
    names = np.array([mention.entity for mention in example.mentions or ()], dtype=np.str_)
    pairs = (names[:, None] == names[None, :]) & ~np.eye(len(names), dtype=np.bool_)
    return _paired_words(example, pairs)


def other_mentions(example: Example) -> Bool[np.ndarray, "words words"]:
    """Return for each word of a mention the words of all other mentions, outside its own mention."""
    count = len(_mentions(example))
    return _paired_words(example, np.ones((count, count), dtype=np.bool_))


def _paired_words(
    example: Example, pairs: Bool[np.ndarray, "mentions mentions"]
) -> Bool[np.ndarray, "words words"]:
    """Return the words of mentions that are paired with each word's own one, without its own words."""
    own = own_mention(example)
    members = np.zeros((len(pairs), len(own)), dtype=np.bool_)
    for number, (start, stop) in enumerate(_mentions(example)):
        members[number, start:stop] = True
    cells = np.zeros((len(own), len(own)), dtype=np.bool_)
    inside = np.flatnonzero(own >= 0)
    if inside.size:
        mine = own[inside]
        reached = (pairs.astype(np.int64) @ members > 0) & ~members
        cells[inside] = reached[mine]
    return cells


def _mentions(example: Example) -> tuple[tuple[int, int], ...]:
    """Return the first word and one past the last of each mention, within the words that have tokens.

    Raises:
        BadInput: When the example has no mentions.
    """
    if example.mentions is None:
        raise BadInput(
            f"the coreference sieve needs mentions of entities, but example {example.key!r} has none "
            f"annotated; give data with mentions, or leave the sieve out"
        )
    words = word_count(example)
    return tuple((min(mention.start, words), min(mention.stop, words)) for mention in example.mentions)


def _tokens(example: Example, words: Bool[np.ndarray, "words words"]) -> Cells:
    """Turn cells of words into cells of their tokens; special tokens are in none."""
    cells = np.zeros((example.size, example.size), dtype=np.bool_)
    inside = np.flatnonzero(example.word >= 0)
    own = example.word[inside]
    cells[np.ix_(inside, inside)] = words[np.ix_(own, own)]
    return Cells(cells)


def _mask(example: Example) -> Cells:
    return _tokens(example, same_entity(example))


def _scope(example: Example) -> Cells:
    return _tokens(example, other_mentions(example))


def _groups(example: Example) -> Int[np.ndarray, " tokens"]:
    """Return the innermost mention of each token; −1 outside mentions, on special tokens too."""
    labels = np.append(own_mention(example), -1)[example.word]
    return np.where(example.word >= 0, labels, -1)


coreference = MaskSieve(
    name="coreference",
    mask=_mask,
    question="Does the head look from a mention at others of its entity, beyond what distance gives?",
    source="Clark et al. 2019, section 4.2, as a mask; compared among all other mentions",
    needs=frozenset({"mentions"}),
    words=RoleWords(
        "other mentions of the entity",
        "looks from mentions to others of their entity",
        mark="C",
        works=("clark2019what",),
    ),
    scope=_scope,
    groups=_groups,
    arcs=True,
    contrast=Contrast(margin=CONTRAST_MARGIN, cells=same_entity, scope=other_mentions, words=True),
)
"""Each mention weighs the same; in the contrast each word of a mention does."""
