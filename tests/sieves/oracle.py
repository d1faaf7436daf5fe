"""The formulas of all sieves, cell by cell with plain loops, and heads over random examples."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from headroles import Example
from tests.support.annotated import annotated

Cell = Callable[[Example, int, int], bool]
Case = tuple[int, list[int], bool, str]
VIEWS = ("every", "causal", "window", "causal window")
ALIASES = {"dobj": "obj", "nsubjpass": "nsubj:pass"}
cases: st.SearchStrategy[Case] = st.tuples(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 9), min_size=1, max_size=2),
    st.booleans(),
    st.sampled_from(VIEWS),
)
"""Seed, tokens of each text, whether there are special tokens, and the keys that queries see."""


@dataclass(frozen=True)
class Role:
    """A sieve as a formula: which keys a query counts, among which, and how queries weigh."""

    counted: Cell
    room: Cell = lambda example, i, j: True
    group: Callable[[Example, int], int] = lambda example, i: i
    specials: bool = False
    by_group: bool = False


@dataclass(frozen=True)
class Beyond:
    """A contrast beyond distance as a formula; its units are words or tokens."""

    counted: Cell
    room: Cell
    words: bool = False
    group: Callable[[Example, int], int] = lambda example, i: 0


def made(case: Case) -> tuple[Example, np.ndarray, np.random.Generator]:
    """Return an example, the keys that each query sees, and the generator for whatever else is drawn."""
    seed, lengths, specials, view = case
    rng = np.random.default_rng(seed)
    example = annotated(rng, lengths, specials=specials, gaps=bool(rng.integers(2)))
    return example, seen(example.size, view), rng


def seen(size: int, view: str) -> np.ndarray:
    """Return every key, those up to the query, those within 3 tokens of it, or both."""
    every = np.ones((size, size), dtype=np.bool_)
    near = np.triu(np.tril(every, 3), -3) if "window" in view else every
    return np.tril(near) if "causal" in view else near


def random_heads(rng: np.random.Generator, visible: np.ndarray, heads: int = 3) -> np.ndarray:
    """Return rows from nearly even to nearly one-hot, 0 on keys that cannot be seen."""
    cells = rng.gamma(rng.choice([0.05, 0.5, 5.0], size=(heads, 1, 1)), size=(heads, *visible.shape)) + 1e-12
    rows: np.ndarray = cells * visible / (cells * visible).sum(axis=2, keepdims=True)
    return rows


def _same_text(example: Example, i: int, j: int) -> bool:
    return bool(example.segment[i] == example.segment[j] >= 0)


def _both_texts(example: Example, i: int, j: int) -> bool:
    return bool(example.segment[i] >= 0 and example.segment[j] >= 0)


def _text(example: Example, i: int) -> int:
    return int(example.segment[i])


def _word(example: Example, i: int) -> int:
    return int(example.word[i])


def _near(reach: int) -> Role:
    return Role(lambda example, i, j: _same_text(example, i, j) and abs(i - j) <= reach, _same_text)


def _offset(step: int) -> Role:
    return Role(lambda example, i, j: j - i == step and bool(example.stack[i] == example.stack[j]))


def _spelling(token: str) -> str:
    for mark in ("##", "Ġ", "▁"):
        token = token.removeprefix(mark)
    return token


def _mark(marks: str) -> Role:
    return Role(lambda example, i, j: _spelling(example.tokens[j]) in tuple(marks))


def _follows_arc(wanted: str | None) -> Cell:
    """Tell whether the words of two tokens are a dependent and its head."""

    def counted(example: Example, i: int, j: int) -> bool:
        names = [
            ALIASES.get(arc.relation.lower(), arc.relation.lower())
            for arc in example.arcs or ()
            if (arc.dependent, arc.head) == (_word(example, i), _word(example, j))
        ]
        kept = [name for name in names if name not in ("punct", "root")]
        return any(wanted in (None, name, name.split(":")[0]) for name in kept)

    return counted


def _syntactic(wanted: str | None) -> Role:
    return Role(_follows_arc(wanted), group=_word, by_group=True)


def _alike(example: Example, i: int, j: int) -> bool:
    return _both_texts(example, i, j) and example.tokens[i] == example.tokens[j]


def _related(example: Example, i: int, j: int) -> bool:
    """Tell whether two words of different texts share a lemma, or have vectors that point the same way."""
    one, other, known = _word(example, i), _word(example, j), example.lexical
    if min(one, other) < 0 or _same_text(example, i, j) or known is None:
        return False
    pieces = [
        "".join(_spelling(example.tokens[k]) for k in np.flatnonzero(example.word == w)) for w in (one, other)
    ]
    if not all(any(sign.isalpha() for sign in piece) for piece in pieces):
        return False
    lemmas = known.lemmas or ("",) * (max(one, other) + 1)
    names = [lemmas[w].lower() or piece.lower() for w, piece in zip((one, other), pieces, strict=True)]
    close = known.vectors is not None and float(known.vectors[one] @ known.vectors[other]) >= 0.6
    return names[0] == names[1] or close


def _rare(example: Example, i: int, j: int) -> bool:
    assert example.lexical is not None
    often = example.lexical.frequency
    assert often is not None
    return bool(example.segment[j] >= 0 and often[j] == often[example.segment >= 0].min())


def _induction(example: Example, i: int, j: int) -> bool:
    return 0 < j < i and _alike(example, i, j - 1)


def _same_word(example: Example, i: int, j: int) -> bool:
    return i != j and _word(example, i) == _word(example, j) >= 0


def _last_piece(example: Example, i: int, j: int) -> bool:
    return _same_word(example, i, j) and j == np.flatnonzero(example.word == example.word[i]).max()


def _parks(example: Example, j: int) -> bool:
    return bool(j == 0 or example.special[j] or _spelling(example.tokens[j]) in (".", ","))


def _innermost(example: Example, i: int) -> int:
    """Return the place of the shortest mention that holds the word of a token; -1 for none."""
    around = [
        (mention.stop - mention.start, place)
        for place, mention in enumerate(example.mentions or ())
        if mention.start <= _word(example, i) < mention.stop
    ]
    return min(around)[1] if around else -1


def _mentions(same: bool) -> Cell:
    """Tell whether a token is of another mention than the query's own: of its entity, or of any."""

    def counted(example: Example, i: int, j: int) -> bool:
        mentions, own = example.mentions or (), _innermost(example, i)
        if own < 0 or mentions[own].start <= _word(example, j) < mentions[own].stop:
            return False
        return any(
            other.start <= _word(example, j) < other.stop
            and (not same or other.entity == mentions[own].entity)
            for place, other in enumerate(mentions)
            if place != own
        )

    return counted


ROLES: dict[str, Role] = {
    "local": _near(2),
    "local:1": _near(1),
    "delimiter": Role(lambda example, i, j: bool(example.special[j]), specials=True),
    "delimiter:cls": Role(lambda example, i, j: bool(example.first[j]), specials=True),
    "delimiter:sep": Role(
        lambda example, i, j: bool(example.special[j] and not example.first[j]), specials=True
    ),
    "block": Role(_same_text, _both_texts, _text),
    "syntactic": _syntactic(None),
    "syntactic:nsubj": _syntactic("nsubj"),
    "syntactic:nsubj:pass": _syntactic("nsubj:pass"),
    "syntactic:obj": _syntactic("obj"),
    "syntactic:amod": _syntactic("amod"),
    "syntactic:advmod": _syntactic("advmod"),
    "next": _offset(1),
    "previous": _offset(-1),
    "self": _offset(0),
    "offset:-3": _offset(-3),
    "offset:2": _offset(2),
    "first": Role(lambda example, i, j: j == 0, specials=True),
    "punctuation": _mark(".,"),
    "punctuation:?": _mark("?"),
    "punctuation:all": _mark(".,?"),
    "identical": Role(lambda example, i, j: i != j and _alike(example, i, j) and _same_text(example, i, j)),
    "identical:other": Role(lambda example, i, j: _alike(example, i, j) and not _same_text(example, i, j)),
    "related:other": Role(_related),
    "subword": Role(_same_word),
    "subword:completing": Role(_last_piece),
    "rare": Role(_rare),
    "duplicate": Role(lambda example, i, j: j < i and _alike(example, i, j)),
    "induction": Role(_induction),
    "coreference": Role(_mentions(True), _mentions(False), _innermost, by_group=True),
    "parked": Role(
        lambda example, i, j: _parks(example, j),
        group=lambda example, i: -1 if _parks(example, i) else i,
        specials=True,
    ),
}
"""Every mask sieve of headroles and some of each family, as a formula."""

_OTHER_WORDS: Cell = lambda example, i, j: _word(example, i) != _word(example, j)  # noqa: E731
_PAIRED = (
    "identical",
    "identical:other",
    "related:other",
    "subword",
    "subword:completing",
    "duplicate",
    "induction",
)
BEYOND: dict[str, Beyond] = {
    "block": Beyond(_same_text, _both_texts, group=_text),
    "bag-of-words": Beyond(_same_text, _both_texts, group=_text),
    "coreference": Beyond(_mentions(True), _mentions(False), words=True),
    **{name: Beyond(ROLES[name].counted, _both_texts) for name in _PAIRED},
    **{
        name: Beyond(role.counted, _OTHER_WORDS, words=True)
        for name, role in ROLES.items()
        if name.startswith("syntactic")
    },
}
"""The contrasts beyond distance, by their sieves."""


@dataclass(frozen=True)
class Outcome:
    """Scores of heads by a formula, what the input allows at most and at least, and how much was counted."""

    scores: np.ndarray
    low: float
    high: float
    cells: float


def _shares(labels: dict[int, int]) -> dict[int, float]:
    """Return the weight of each query: every group weighs the same, and so do the queries of a group."""
    groups = list(labels.values())
    return {i: 1 / (len(set(groups)) * groups.count(group)) for i, group in labels.items()}


def role_scores(
    role: Role, example: Example, rows: np.ndarray, visible: np.ndarray, bias: bool = False
) -> Outcome:
    """Return the selectivity of heads, or the bias, by the formula of ``headroles.sieves.weights.plan``."""
    tokens, kept = range(example.size), {}
    for i in tokens:
        room = [j for j in tokens if visible[i, j] and role.room(example, i, j)]
        counted = [
            j for j in room if role.counted(example, i, j) and (role.specials or not example.special[j])
        ]
        if not example.special[i] and 0 < len(counted) < len(room) and role.group(example, i) >= 0:
            kept[i] = counted, room
    if not kept:
        return Outcome(np.full(len(rows), np.nan), np.nan, np.nan, np.nan)
    labels = {i: role.group(example, i) for i in kept}
    share = _shares(labels)
    chance = {i: len(counted) / len(room) for i, (counted, room) in kept.items()}
    inside = sum(share[i] * rows[:, i, counted].sum(axis=1) for i, (counted, _) in kept.items())
    expected = sum(share[i] * chance[i] * rows[:, i, room].sum(axis=1) for i, (_, room) in kept.items())
    cells = float(len(set(labels.values())) if role.by_group else len(kept))
    if bias:
        ratio = np.divide(inside, expected, out=np.full(len(rows), np.nan), where=expected > 0)
        return Outcome(ratio, 0.0, max(1 / given for given in chance.values()), cells)
    even = sum(share[i] * chance[i] for i in kept)
    return Outcome((inside - expected) / (1 - even), -even / (1 - even), 1.0, cells)


def joined(example: Example, cells: np.ndarray, words: bool) -> tuple[list[int], np.ndarray]:
    """Return the first token of each unit, and attention between units: a sum of keys, a mean of queries."""
    if not words:
        return list(range(example.size)), cells
    names = sorted({int(word) for word in example.word if word >= 0})
    places = [np.flatnonzero(example.word == name) for name in names]
    between = np.zeros((len(cells), len(names), len(names)))
    for i, own in enumerate(places):
        for j, other in enumerate(places):
            between[:, i, j] = cells[:, own][:, :, other].sum(axis=2).mean(axis=1)
    return [int(own[0]) for own in places], between


def beyond_scores(beyond: Beyond, example: Example, rows: np.ndarray, visible: np.ndarray) -> Outcome:
    """Return the contrast of heads against their own distance profile, pair by pair."""
    lead, attention = joined(example, rows, beyond.words)
    even = joined(example, (visible / visible.sum(axis=1, keepdims=True))[None], beyond.words)[1][0]
    units = range(len(lead))
    room = {i: [j for j in units if even[i, j] > 0 and beyond.room(example, lead[i], lead[j])] for i in units}
    counted = {i: [j for j in room[i] if beyond.counted(example, lead[i], lead[j])] for i in units}
    mass: dict[int, np.ndarray] = {}
    base: dict[int, float] = {}
    for i in units:
        for j in room[i]:
            mass[j - i] = mass.get(j - i, 0) + attention[:, i, j]
            base[j - i] = base.get(j - i, 0) + even[i, j]
    labels = {i: beyond.group(example, lead[i]) for i in units if 0 < len(counted[i]) < len(room[i])}
    if not labels:
        return Outcome(np.full(len(rows), np.nan), np.nan, np.nan, np.nan)
    groups, total = list(labels.values()), np.zeros(len(rows))
    for i, group in labels.items():
        level = sum(mass[k - i] / base[k - i] * even[i, k] for k in room[i])
        whole = attention[:, i, room[i]].sum(axis=1)
        for j in counted[i]:
            spread = mass[j - i] / base[j - i] * even[i, j]
            expected = np.divide(whole * spread, level, out=np.zeros(len(rows)), where=level > 0)
            total += (attention[:, i, j] - expected) / groups.count(group)
    reach = float(len(set(groups)))
    return Outcome(total, -reach, reach, float(len(labels)))


def bag_scores(example: Example, rows: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Return attention on the own text beyond chance, times how evenly it is spread there."""
    tokens, kept = range(example.size), {}
    for i in tokens:
        room = [j for j in tokens if visible[i, j] and _both_texts(example, i, j)]
        own = [j for j in room if _same_text(example, i, j)]
        if 0 < len(own) < len(room):
            kept[i] = own, room
    if not kept:
        return np.full(len(rows), np.nan)
    share = _shares({i: _text(example, i) for i in kept})
    total, even = np.zeros(len(rows)), 0.0
    for i, (own, room) in kept.items():
        inside, chance = rows[:, i, own].sum(axis=1), len(own) / len(room)
        parts = rows[:, i, own] / np.where(inside > 0, inside, 1)[:, None]
        logs = np.log(np.where(parts > 0, parts, 1))
        spread = -(parts * logs).sum(axis=1) / np.log(len(own)) if len(own) > 1 else np.ones(len(rows))
        total += share[i] * (inside * spread - chance * rows[:, i, room].sum(axis=1))
        even += share[i] * chance
    return total / (1 - even)


def swap_scores(example: Example, rows: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Return the block score of an input by its own layout, minus that by the layout of its partner."""
    other = example.partner
    assert other is not None
    shared = [
        place
        for place in range(example.size)
        if all(
            given.segment[place] >= 0 and _spelling(given.tokens[place]) not in tuple(".,?!;:")
            for given in (example, other)
        )
    ]
    both = []
    for layout in (example.segment, other.segment):
        alone = np.array([layout[place] if place in shared else -1 for place in range(example.size)])
        own = replace(example, segment=alone, partner=None)
        both.append(role_scores(ROLES["block"], own, rows, visible).scores)
    difference: np.ndarray = both[0] - both[1]
    return difference
