"""Baselines of the coreference probe: nearest mention, head match, four-step rules, first mention."""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int

from headroles.records.documents import Document
from headroles.sieves.language.mentions import (
    GENDERS,
    PRONOUNS,
    TITLES,
    Agreement,
    MentionArrays,
    describe_mentions,
)

BASELINES = ("nearest", "head match", "rules", "first")
"""Names of the baselines, in the order of ``choose_antecedents``."""

NOBODY = -1
"""What a baseline says that finds no antecedent."""

Pairs = Bool[np.ndarray, "items mentions"]

_NUMBER = {"NNS": "Plur", "NNPS": "Plur", "NN": "Sing", "NNP": "Sing"}


def choose_antecedents(
    document: Document, asking: Int[np.ndarray, " items"], candidates: Pairs
) -> Int[np.ndarray, "baselines items"]:
    """Return the mention that each baseline chooses for each item.

    - nearest: the candidate whose head word is the fewest words away (the earlier of two).
    - head match: the nearest candidate with the same head word in lower case; nobody without one.
    - rules: the nearest candidate with the same words; else with the same head word; else that agrees
      in number, gender and person; else the nearest.
    - first: the candidate whose head word comes first in the document.

    Number, gender and person come from the morphological features of the head word, from Penn tags,
    and from short lists of English pronouns, titles and nouns; nouns are third person, what has words
    joined to its head (``conj``) is plural, and what is unknown agrees with everything. Source: Clark
    et al. (2019), section 4.2 and Table 2 (four sieves after Lee et al. 2011), which leave details open.

    Args:
        document: With mentions.
        asking: The asking mention of each item, as its place among the document's mentions.
        candidates: Mentions that each item chooses among.

    Returns:
        Places among the document's mentions, in the order of ``BASELINES``; −1 for nobody.
    """
    mentions = describe_mentions(document)
    text, form = _forms(document)
    head = mentions.head
    away = np.abs(head[None, :] - head[asking, None])
    same_form = form[asking, None] == form[None, :]
    nearest = _nearest(candidates, away)
    matched = _nearest(candidates & same_form, away)
    rules = nearest
    steps = (_agree(document, asking), same_form, text[asking, None] == text[None, :])
    for step in steps:
        fired = _nearest(candidates & step, away)
        rules = np.where(fired == NOBODY, rules, fired)
    first = _nearest(candidates, np.broadcast_to(head[None, :], candidates.shape))
    return np.stack([nearest, matched, rules, first])


def _nearest(allowed: Pairs, away: Int[np.ndarray, "items mentions"]) -> Int[np.ndarray, " items"]:
    """Return the allowed mention at the smallest distance, the first in a tie; −1 where none is allowed."""
    if not allowed.shape[1]:
        return np.full(len(allowed), NOBODY)
    distance = np.where(allowed, away, np.iinfo(np.int64).max)
    return np.where(allowed.any(axis=1), distance.argmin(axis=1), NOBODY)


def _agree(document: Document, asking: Int[np.ndarray, " items"]) -> Pairs:
    """Return whether number, gender and person of an asking mention and of any mention can be the same."""
    agreed = np.ones((len(asking), len(describe_mentions(document).head)), dtype=np.bool_)
    for values in _agreements(document):
        one, other = values[asking, None], values[None, :]
        agreed &= (one == other) | (one == "") | (other == "")
    return agreed


@lru_cache(maxsize=4)
def _forms(document: Document) -> tuple[np.ndarray, np.ndarray]:
    """Return all words of each mention, and its head word, both in lower case."""
    mentions = describe_mentions(document)
    small = [word.lower() for word in document.words]
    spans = zip(mentions.start, mentions.stop, strict=True)
    text = np.array([" ".join(small[start:stop]) for start, stop in spans], dtype=np.str_)
    return text, np.array([small[head] for head in mentions.head], dtype=np.str_)


@lru_cache(maxsize=4)
def _agreements(document: Document) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return number, gender and person of each mention, "" where unknown."""
    mentions = describe_mentions(document)
    rows = [agreement_of(document, mentions, which) for which in range(len(mentions.head))]
    columns = np.array(rows, dtype=np.str_).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def agreement_of(document: Document, mentions: MentionArrays, which: int) -> Agreement:
    """Return number ("Sing", "Plur"), gender ("Masc", "Fem", "Neut") and person ("1" to "3") of a mention.

    Args:
        document: Its document.
        mentions: The document's mentions.
        which: Its place among them.

    Returns:
        The three; "" where unknown.
    """
    head, start, stop = (int(places[which]) for places in (mentions.head, mentions.start, mentions.stop))
    word = document.words[head].lower()
    features, listed = _features(document, head), PRONOUNS.get(word, ("", "", ""))
    names = ("Number", "Gender", "Person")
    number, gender, person = (features.get(name, known) for name, known in zip(names, listed, strict=True))
    if mentions.kinds[which] == "pronoun":
        return number, gender, person
    if not number and document.tags is not None:
        number = _NUMBER.get(document.tags[head], "")
    if _is_conjoined(document, head, stop):
        return "Plur", "", "3"
    titles = [TITLES[word.lower()] for word in document.words[start:head] if word.lower() in TITLES]
    return number, gender or GENDERS.get(word, "") or (titles[-1] if titles else ""), "3"


def _features(document: Document, word: int) -> dict[str, str]:
    """Return the morphological features of a word by their names."""
    if document.features is None:
        return {}
    pairs = (feature.partition("=") for feature in document.features[word].split("|"))
    return {name: value for name, _, value in pairs if value}


def _is_conjoined(document: Document, head: int, stop: int) -> bool:
    """Return whether another word is joined to the head within its mention, as in "Ann and Bob"."""
    if document.heads is None or document.relations is None:
        return False
    later = range(head + 1, stop)
    return any(document.heads[other] == head and document.relations[other] == "conj" for other in later)
