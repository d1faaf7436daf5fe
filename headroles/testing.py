"""Tools for authors of sieves: heads with planted roles, random examples, and a check of the contract."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from headroles.arrays import score
from headroles.catalogue import check_usable
from headroles.errors import BadSieve, shorten
from headroles.plans.scorers import RowScorer, score_block, score_layer
from headroles.records.example import Arc, Example
from headroles.sieves.base import MaskSieve, Scorer, Sieve
from headroles.sieves.families import SieveFamily

Attention = Float[np.ndarray, "tokens tokens"]
ROUNDING = 1e-6
"""Rounding that bounds and blocks of rows are allowed."""


def made_example(rng: np.random.Generator, *, texts: int = 2, words: int = 12, key: str = "made") -> Example:
    """Make a random example: class token, texts of about ``words`` words, separators, near-projective trees.

    Example:
        >>> example = made_example(np.random.default_rng(0), texts=1, words=5)
        >>> example.tokens[0], example.tokens[-1], example.texts
        ('[CLS]', '[SEP]', 1)
    """
    tokens, segment, word, arcs = ["[CLS]"], [-1], [-1], []
    relations = ("nsubj", "obj", "amod", "advmod", "det", "case", "nmod", "punct")
    base = 0
    for text in range(texts):
        count = int(rng.integers(max(3, words // 2), words * 3 // 2 + 1))
        for index in range(count):
            pieces = 1 + int(rng.random() < 0.2)
            tokens += [f"{'##' * (piece > 0)}w{base + index}" for piece in range(pieces)]
            segment += [text] * pieces
            word += [base + index] * pieces
        root = int(rng.integers(count))
        for index in range(count):
            if index == root:
                continue
            reach = int(rng.integers(1, 6)) * (1 if index < root else -1)
            head = min(max(index + reach, 0), count - 1)
            if head != index:
                arcs.append(Arc(base + index, base + head, str(rng.choice(relations))))
        tokens, segment, word = [*tokens, "[SEP]"], [*segment, -1], [*word, -1]
        base += count
    return Example(key, tuple(tokens), segment=np.array(segment), word=np.array(word), arcs=tuple(arcs))


def _even(example: Example) -> Attention:
    return np.ones((example.size, example.size))


def _next(example: Example) -> Attention:
    return np.eye(example.size, k=1) + np.eye(example.size) * 1e-9


def _previous(example: Example) -> Attention:
    return np.eye(example.size, k=-1) + np.eye(example.size) * 1e-9


def _separator(example: Example) -> Attention:
    return np.tile((example.special & ~example.first).astype(float), (example.size, 1)) + 1e-9


def _own_text(example: Example) -> Attention:
    text = example.segment
    own = (text[:, None] == text[None, :]) & (text[:, None] >= 0)
    cells: np.ndarray = own + np.eye(example.size) * 1e-9
    return cells


def _arcs(example: Example) -> Attention:
    cells = np.eye(example.size) * 1e-9
    for arc in example.arcs or ():
        if arc.relation != "punct":
            cells[np.ix_(example.word == arc.dependent, example.word == arc.head)] = 1
    return cells


def _decaying(example: Example) -> Attention:
    place = np.arange(example.size)
    cells: np.ndarray = np.exp(-np.abs(place[:, None] - place[None, :]) / 4)
    return cells


def _separator_pulled(example: Example) -> Attention:
    place = np.arange(example.size)
    near = np.exp(-np.abs(place[:, None] - place[None, :]) / 8)
    cells: np.ndarray = near * np.where(example.special, np.exp(2.0), 1.0)
    return cells


def _late(example: Example) -> Attention:
    place = np.arange(example.size)
    return np.tile(np.where(place >= 2 * example.size // 3, 1.0, 0.02), (example.size, 1))


PLANTED: Mapping[str, Callable[[Example], Attention]] = MappingProxyType(
    {
        "even": _even,
        "next": _next,
        "previous": _previous,
        "separator": _separator,
        "own text": _own_text,
        "arcs": _arcs,
        "decaying": _decaying,
        "separator-pulled": _separator_pulled,
        "late positions": _late,
    }
)
"""Heads whose behaviour is known: rows before noise and normalisation."""


def planted(
    example: Example, kind: str, rng: np.random.Generator | None = None
) -> Float[np.ndarray, "tokens tokens"]:
    """Return attention of a head with a known behaviour.

    Args:
        example: The input.
        kind: A name in ``PLANTED``.
        rng: Random numbers that multiply each cell by gamma noise of shape 2 and mean 1; None for no noise.

    Returns:
        Rows that sum to 1.

    Example:
        >>> rows = planted(Example("x", ("a", "b", "c")), "next")
        >>> rows.argmax(axis=1).tolist()
        [1, 2, 2]
    """
    cells = PLANTED[kind](example)
    if rng is not None:
        cells = cells * rng.gamma(2.0, 0.5, cells.shape)
    rows: np.ndarray = cells / cells.sum(axis=1, keepdims=True)
    return rows


def check_sieve(sieve: Sieve | SieveFamily, examples: Sequence[Example] | None = None) -> None:
    """Check the contract of a sieve on random examples, or on given ones.

    A sieve must score without changing its input or remembering anything, give one finite number or NaN
    per head, and follow heads that change places. A mask sieve must score even attention 0, and so must its
    contrast. A scorer must state a finite chance value, stay within its bounds, and give the same number in
    blocks of rows, where it reads those.

    Args:
        sieve: A sieve, or a family, which is checked by the sieve of its example.
        examples: With the annotation that the sieve needs; None for random ones, with words and arcs.

    Raises:
        BadSieve: Naming the broken rule and the example.
        BadInput: When examples lack annotation that the sieve needs.
    """
    sieve = check_usable(sieve.sieve(sieve.example) if isinstance(sieve, SieveFamily) else sieve)
    rng = np.random.default_rng(20210202)
    given = examples or [made_example(rng, texts=1 + k % 2, words=6 + k, key=f"made/{k}") for k in range(8)]
    for example in given:
        heads = np.stack([rng.dirichlet(np.ones(example.size), size=example.size) for _ in range(3)])
        heads.flags.writeable = False
        try:
            first = _scores(sieve, heads, example)
        except (ValueError, BadSieve) as error:
            if "read-only" not in str(error):
                raise
            raise BadSieve(f"sieve {sieve.name!r} writes into the attention of {example.key!r}") from error
        if first.shape[-1:] != (3,) or np.isinf(first).any():
            raise BadSieve(
                f"sieve {sieve.name!r} must give one finite number or NaN per head, shape (3,), but gave "
                f"{first.tolist()} of shape {first.shape} on {example.key!r}"
            )
        if not np.array_equal(first, _scores(sieve, heads, example), equal_nan=True):
            raise BadSieve(f"sieve {sieve.name!r} must be pure, but scored {example.key!r} differently twice")
        turned = _scores(sieve, heads[[2, 0, 1]], example)
        if not np.allclose(turned, first[..., [2, 0, 1]], rtol=0, atol=1e-9, equal_nan=True):
            raise BadSieve(
                f"sieve {sieve.name!r} must follow heads that change places, as on {example.key!r}"
            )
        if isinstance(sieve, MaskSieve):
            even = _scores(sieve, np.full((3, example.size, example.size), 1 / example.size), example)
            if np.nanmax(np.abs(even), initial=0.0) > 1e-9:
                raise BadSieve(
                    f"sieve {sieve.name!r} must score even attention 0, but not on {example.key!r}"
                )
        else:
            _check_scorer(sieve, heads, first, example)


def _check_scorer(
    scorer: Scorer, heads: Float[np.ndarray, "heads tokens tokens"], scores: np.ndarray, example: Example
) -> None:
    """Check chance value, bounds and blocks of rows of a scorer on one example.

    Raises:
        BadSieve: Naming the broken rule and the example.
    """
    name = scorer.name
    null = scorer.null(example)
    if not isinstance(null, int | float | np.floating) or not np.isfinite(null):
        raise BadSieve(f"the null of {name!r} is a finite number, but got {shorten(null)} on {example.key!r}")
    low, high = (getattr(scorer, bound, float("nan")) for bound in ("low", "high"))
    outside = (scores < low - ROUNDING) | (scores > high + ROUNDING)
    if outside.any():
        raise BadSieve(
            f"scores of {name!r} lie between its bounds {low} and {high}, but one is "
            f"{scores[outside][0]:.6g} on {example.key!r}; mend the bounds"
        )
    if isinstance(scorer, RowScorer):
        half = example.size // 2
        parts = [
            score_block(scorer, heads[:, start:stop], start, example, None)
            for start, stop in ((0, half), (half, example.size))
        ]
        if not np.allclose(sum(parts), scores, rtol=0, atol=ROUNDING, equal_nan=True):
            raise BadSieve(
                f"score_rows of {name!r} adds up to the score of the whole layer, but not on {example.key!r}"
            )


def _scores(sieve: Sieve, heads: Float[np.ndarray, "heads tokens tokens"], example: Example) -> np.ndarray:
    """Return the scores of three heads, those of a mask's contrast in a second row."""
    if isinstance(sieve, MaskSieve):
        return np.stack([column[0] for column in score(heads[None], example, [sieve]).values()])
    return score_layer(sieve, heads, example, None)
