"""The formulas of scores, of their bounds and of contrasts, and heads over random examples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headroles import Example, MaskSieve
from headroles.catalogue import sieve_of
from tests.support.annotated import annotated

Case = tuple[int, list[int], bool, str]
PAIRED = (
    "identical", "identical:other", "related:other", "subword", "subword:completing", "duplicate",
    "induction",
)  # fmt: skip
"""Sieves of tokens with a contrast beyond distance."""
TREES = ("syntactic", "syntactic:nsubj", "syntactic:obj", "syntactic:amod", "syntactic:advmod")
MASKS = (
    "local", "local:1", "delimiter", "delimiter:cls", "delimiter:sep", "block", *TREES, "next", "previous",
    "self", "offset:-3", "offset:2", "first", "punctuation", "punctuation:?", "punctuation:all", "rare",
    *PAIRED, "coreference", "parked",
)  # fmt: skip
"""Every mask sieve of headroles and some of each family."""
BEYOND = ("block", "bag-of-words", "coreference", *PAIRED, *TREES)
"""Sieves with a contrast beyond distance."""
VIEWS = ("every", "causal", "window", "causal window")
cases: st.SearchStrategy[Case] = st.tuples(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 9), min_size=1, max_size=2),
    st.booleans(),
    st.sampled_from(VIEWS),
)
"""Seed, tokens of each text, whether there are special tokens, and the keys that queries see."""


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


# What sieves count, compare and group is drawn by hand in ``test_cells`` and ``test_formulas``.


def whole(mask: Any, size: int) -> np.ndarray:
    """Return all cells of a mask, however it is stated."""
    if not isinstance(mask, np.ndarray):
        halves = mask.rows(0, size // 2), mask.rows(size // 2, size)
        np.testing.assert_array_equal(np.concatenate(halves), mask.rows(0, size))
        return np.concatenate(halves)
    return np.broadcast_to(mask, (size, size))


def mask_of(name: str, example: Example) -> np.ndarray:
    """Return the cells of a mask sieve, before special tokens are taken out."""
    found = sieve_of(name)
    assert isinstance(found, MaskSieve)
    return whole(found.mask(example), example.size)


def scope_of(name: str, example: Example) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that a mask sieve compares, and the group of each query."""
    found, size = sieve_of(name), example.size
    assert isinstance(found, MaskSieve)
    room = np.ones((size, size), dtype=np.bool_) if found.scope is None else whole(found.scope(example), size)
    return room, np.arange(size) if found.groups is None else found.groups(example)


def cells_of(name: str, example: Example, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counted cells of a sieve, those it compares them with, and the queries that ask."""
    room, groups = scope_of(name, example)
    room = room & visible
    specials = name.startswith(("delimiter", "first", "parked"))
    counted = room & mask_of(name, example) & (specials | ~example.special)
    some = counted.any(axis=1) & (counted != room).any(axis=1)
    return counted, room, some & ~example.special & (groups >= 0)


@dataclass(frozen=True)
class Outcome:
    """Scores of heads by a formula, what the input allows at most and at least, and how much was counted."""

    scores: np.ndarray
    low: float = np.nan
    high: float = np.nan
    cells: float = np.nan


def _shares(groups: np.ndarray, asking: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the weight of each query, the same for every group and within a group, and count groups."""
    names, place, size = np.unique(groups[asking], return_inverse=True, return_counts=True)
    share = np.zeros(len(groups))
    share[asking] = 1 / (len(names) * size[place])
    return share, len(names)


def role_scores(
    name: str, example: Example, rows: np.ndarray, visible: np.ndarray, bias: bool = False
) -> Outcome:
    """Return the selectivity of heads, or the bias, by the formula of ``headroles.sieves.weights.plan``."""
    counted, room, asking = cells_of(name, example, visible)
    nothing = np.full(len(rows), np.nan)
    if not asking.any():
        return Outcome(nothing)
    share, groups = _shares(scope_of(name, example)[1], asking)
    chance = counted.sum(axis=1) / np.maximum(room.sum(axis=1), 1)
    inside, expected = (rows * counted).sum(axis=2) @ share, (rows * room).sum(axis=2) @ (share * chance)
    cells = float(groups if name == "coreference" or name in TREES else asking.sum())
    if bias:
        ratio = np.divide(inside, expected, out=nothing, where=expected > 0)
        return Outcome(ratio, 0.0, (1 / chance[asking]).max(), cells)
    even = share @ chance
    return Outcome((inside - expected) / (1 - even), -even / (1 - even), 1.0, cells)


def joined(example: Example, cells: np.ndarray, words: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the first token of each unit, and attention between units: a sum of keys, a mean of queries."""
    if not words:
        return np.arange(example.size), cells
    names, lead = np.unique(example.word, return_index=True)
    member = np.equal.outer(names[names >= 0], example.word).astype(np.float64)
    return lead[names >= 0], member / member.sum(axis=1, keepdims=True) @ cells @ member.T


def beyond_scores(name: str, example: Example, rows: np.ndarray, visible: np.ndarray) -> Outcome:
    """Return the contrast of heads against their own distance profile, pair by pair of tokens or words."""
    own, words = "block" if name == "bag-of-words" else name, name == "coreference" or name in TREES
    (room, groups), text = scope_of(own, example), example.segment >= 0
    if name in PAIRED:
        room = np.logical_and.outer(text, text)
    elif name in TREES:
        room = ~np.equal.outer(example.word, example.word)
    lead, attention = joined(example, rows, words)
    even = joined(example, visible / visible.sum(axis=1, keepdims=True), words)[1]
    room = (even > 0) & room[np.ix_(lead, lead)]
    counted = room & mask_of(own, example)[np.ix_(lead, lead)]
    if name in KEYED:
        rest = KEYED[name](example) & room & ~counted & ~np.eye(len(room), dtype=np.bool_)
        counted = counted & rest.any(axis=0)
    asking = counted.any(axis=1) & (counted != room).any(axis=1)
    if not asking.any():
        return Outcome(np.full(len(rows), np.nan))
    offset, curve = np.subtract.outer(np.arange(len(lead)), np.arange(len(lead))), np.zeros(attention.shape)
    for step in np.unique(offset[room]):
        pairs = room & (offset == step)
        curve[:, pairs] = np.outer(attention[:, pairs].sum(axis=1) / even[pairs].sum(), even[pairs])
    mass, level = ((each * room).sum(axis=2, keepdims=True) for each in (attention, curve))
    expected = np.divide(mass * curve, level, out=np.zeros(curve.shape), where=level > 0)
    share, reach = _shares(groups if own == "block" else np.zeros(len(lead), dtype=int), asking)
    beyond, width = attention - expected, float(reach)
    total = (beyond * counted).sum(axis=2) @ share * reach
    if name in KEYED:
        levels = np.zeros(len(lead))
        for key in np.flatnonzero(counted.any(axis=0)):
            levels[key] = share[counted[:, key]] @ even[counted[:, key], key] / even[rest[:, key], key].sum()
            total -= levels[key] * beyond[:, rest[:, key], key].sum(axis=1)
        width += (rest * levels).max(axis=1).sum()
    return Outcome(total, -width, width, float(asking.sum()))


KEYED = {
    "identical": lambda each: np.equal.outer(each.segment, each.segment) & (each.segment >= 0),
    "identical:other": lambda each: np.equal.outer(1 - each.segment, each.segment) & (each.segment >= 0),
    "related:other": lambda each: np.equal.outer(1 - each.segment, each.segment) & (each.segment >= 0),
    "duplicate": lambda each: np.tril(np.logical_and.outer(each.segment >= 0, each.segment >= 0), -1),
}
"""Sieves whose keys are compared with what they get from other queries: the cells of these queries."""


def bag_scores(example: Example, rows: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Return attention on the own text beyond chance, times how evenly it is spread there."""
    own, room, asking = cells_of("block", example, visible)
    if not asking.any():
        return np.full(len(rows), np.nan)
    share, _ = _shares(example.segment, asking)
    chance = own.sum(axis=1) / np.maximum(room.sum(axis=1), 1)
    total: np.ndarray = np.zeros(len(rows))
    for i in np.flatnonzero(asking):
        inside, count = rows[:, i, own[i]].sum(axis=1), own[i].sum()
        parts = rows[:, i, own[i]] / np.where(inside > 0, inside, 1)[:, None]
        logs = np.log(np.where(parts > 0, parts, 1))
        spread = -(parts * logs).sum(axis=1) / np.log(count) if count > 1 else np.ones(len(rows))
        total += share[i] * (inside * spread - chance[i] * rows[:, i, room[i]].sum(axis=1))
    return total / float(1 - share @ chance)


def swap_scores(example: Example, rows: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Return the block score of an input by its own layout, minus that by the layout of its partner."""
    assert example.partner is not None
    both, marks = (example, example.partner), [*".,?!;:"]
    spoken = [(own.segment >= 0) & ~np.isin(own.tokens, marks) for own in both]
    shared = spoken[0] & spoken[1]
    keys = shared.copy()
    for own, words in zip(both, spoken, strict=True):
        for text in (0, 1):
            here = words & (own.segment == text)
            keys &= ~here | (np.cumsum(here) > 2)
    room, parts = np.outer(shared, keys) & visible, []
    for own in both:
        counted = room & np.equal.outer(own.segment, own.segment)
        asking = counted.any(axis=1) & (counted != room).any(axis=1)
        if not asking.any():
            return np.full(len(rows), np.nan)
        share, _ = _shares(own.segment, asking)
        chance = counted.sum(axis=1) / np.maximum(room.sum(axis=1), 1)
        inside = (rows * counted).sum(axis=2) @ share - (rows * room).sum(axis=2) @ (share * chance)
        parts.append(inside / (1 - share @ chance))
    difference: np.ndarray = parts[0] - parts[1]
    return difference
