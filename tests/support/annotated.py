"""Random examples with every annotation, what their queries see, and attention over that."""

import numpy as np

from headroles import Arc, Example, Lexical, Mention

RELATIONS = ("nsubj", "obj", "amod", "advmod", "det", "punct")
MASKS = (
    "dense", "causal", "window", "causal window", "chunks", "prefix", "padding left", "padding right",
    "random",
)  # fmt: skip
EVERY = (
    "local", "delimiter", "delimiter:cls", "delimiter:sep", "block", "syntactic", "syntactic:nsubj",
    "syntactic:obj", "syntactic:amod", "syntactic:advmod", "patterns", "coreference", "local:1", "local:9",
    "offset:-3", "offset:2", "punctuation:all", "syntactic:det",
)  # fmt: skip
"""Every sieve that reads an example, families included."""


def annotated(
    rng: np.random.Generator, lengths: list[int], *, specials: bool = True, gaps: bool = False
) -> Example:
    """An example on which every built-in sieve has something to read: repeats, words, trees, mentions.

    Special tokens open, part and close the texts; with gaps, some words have lost all of their tokens.
    """
    segment, word = [-1] * specials, [-1] * specials
    base = 0
    for text, length in enumerate(lengths):
        opens = rng.random(length) < 0.6
        own = base + np.cumsum(np.where(opens, 1 + (gaps & (rng.random(length) < 0.2)), 0))
        own -= own[0] - base
        segment += [text] * length + [-1] * specials
        word += [*own.tolist()] + [-1] * specials
        base = int(own[-1]) + 1
    heads = (np.arange(base) + rng.choice([-3, -2, -1, 1, 2, 5], base)) % base
    arcs = [Arc(k, int(head), str(rng.choice(RELATIONS))) for k, head in enumerate(heads) if head != k]
    starts = sorted(set(rng.integers(0, base, 6).tolist()))
    stops = [min(base, start + int(rng.integers(1, 4))) for start in starts]
    vectors = rng.normal(size=(base, 2))
    tokens = tuple(str(rng.choice(list("abc.,"))) if each >= 0 else "[SEP]" for each in segment)
    return Example(
        "made",
        tokens,
        segment=np.array(segment),
        word=np.array(word),
        arcs=tuple(arcs),
        mentions=tuple(
            Mention(*span, str(rng.choice(["x", "y"]))) for span in zip(starts, stops, strict=True)
        ),
        lexical=Lexical(
            lemmas=tuple(rng.choice(["", "m", "n"], base).tolist()),
            vectors=(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
            frequency=rng.integers(1, 4, len(tokens)),
        ),
    )


def visible(rng: np.random.Generator, size: int, mask: str) -> np.ndarray:
    """What each query sees; every query sees some key, also where its own place is padding."""
    place = np.arange(size)
    offset = place[None, :] - place[:, None]
    reach = int(rng.integers(1, 6))
    cut = int(rng.integers(0, size))
    seen: np.ndarray = {
        "dense": np.ones((size, size), dtype=np.bool_),
        "causal": offset <= 0,
        "window": np.abs(offset) <= reach,
        "causal window": (offset <= 0) & (offset > -reach),
        "chunks": (offset <= 0) & (place[None, :] // 9 == place[:, None] // 9),
        "prefix": (offset <= 0) | (place <= cut)[None, :],
        "padding left": (offset <= 0) & (place >= cut)[None, :],
        "padding right": np.ones((size, 1), dtype=np.bool_) & (place <= cut)[None, :],
        "random": rng.random((size, size)) < rng.uniform(0.1, 0.9),
    }[mask]
    lonely = ~seen.any(axis=1)
    seen[lonely, place[lonely]] = True
    return seen


def attention(rng: np.random.Generator, heads: int, seen: np.ndarray) -> np.ndarray:
    """Uneven attention (heads, tokens, tokens) over what is seen; rows of queries that see nothing are 0."""
    weights = np.exp(rng.normal(0, 2, (heads, *seen.shape))) * seen
    total = weights.sum(axis=2, keepdims=True)
    made: np.ndarray = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return made
