"""Surface statistics of attention, whatever role a head plays: kinds of tokens, neighbours, entropy."""

import numpy as np
from jaxtyping import Bool, Int

from headroles.plans.plan import Plan, SurfacePlan
from headroles.records.example import Example
from headroles.sieves.built_in.punctuation import mark_keys
from headroles.sieves.settings import USUAL, check_marks
from headroles.sieves.spread import even_entropy
from headroles.sieves.statistics import COLUMNS, MASSES


def kinds(example: Example, marks: str = USUAL) -> dict[str, Bool[np.ndarray, " tokens"]]:
    """Return the tokens of each kind in an input; every token is of one kind.

    Args:
        example: The input.
        marks: The punctuation marks, or "all" for every token that is only punctuation.

    Returns:
        By kind, whether each token is of it: "first" (the class token, else position 0), "separator"
        (special tokens that are not first), "punctuation" (one of the marks, by itself), "other" (the
        remaining tokens of the texts).

    Raises:
        BadInput: When a mark is no punctuation.

    Source:
        Clark et al. 2019, section 3.2.

    Example:
        >>> tokens = ("[CLS]", "it", "rains", ".", "[SEP]")
        >>> example = Example("it", tokens, segment=np.array([-1, 0, 0, 0, -1]))
        >>> {kind: np.flatnonzero(tokens).tolist() for kind, tokens in kinds(example).items()}
        {'first': [0], 'separator': [4], 'punctuation': [3], 'other': [1, 2]}
    """
    check_marks(marks)
    first = np.array(example.first)
    if example.size and not first.any():
        first[0] = True
    separator = example.special & ~first
    text = ~first & ~separator
    marked = mark_keys(example, marks)
    return {"first": first, "separator": separator, "punctuation": text & marked, "other": text & ~marked}


def lay_surface(
    example: Example,
    visible: Bool[np.ndarray, "tokens tokens"] | None,
    *,
    marks: str = USUAL,
    smoothing: float = 0.0,
    dtype: type[np.floating] = np.float64,
) -> SurfacePlan:
    """Lay the surface statistics over one example.

    Masses are means over queries of the attention on the keys counted: over all n queries of the input,
    special tokens included (so that the first token, which has no previous one, counts with 0), and for
    the columns with an arrow over the queries named. The rows of the first token are divided among itself,
    separators and texts; those of separators among the first token, separators, the text that each ends
    (``own_text``) and the other texts. A column is not applicable where the visible
    keys leave no choice: nothing of the kind is there, or, in causal models, the next token and the row
    of the token at position 0. In cross attention the decoder's tokens are the queries and those of the
    encoder the keys; offsets exist within one stack, so no token is previous, next or the same.

    Args:
        example: The input.
        visible: Whether query i can see key j; None when every key is visible.
        marks: Characters that count as punctuation.
        smoothing: Share of each row that is spread evenly over all keys before entropies are taken.
        dtype: Precision of the weights.

    Raises:
        BadInput: When a mark is no punctuation.

    Source:
        Clark et al. 2019, sections 3.1 to 3.3; definitions of the released code.
    """
    n, asking = example.size, example.stack == 0
    queries = int(asking.sum())
    keys_from = queries % n
    seen = np.ones((n, n), dtype=np.bool_) if visible is None else visible
    room = np.maximum(seen.sum(axis=1), 1)
    of = kinds(example, marks)
    weight = np.zeros((len(MASSES), n, n), dtype=dtype)
    cells, even, low, high = (np.full(len(COLUMNS), np.nan) for _ in range(4))
    linear: list[int] = []
    for column, (query, keys) in enumerate(_mass_cells(of, example.stack, example.segment)):
        counted = keys & seen
        hits, share = counted.sum(axis=1), query / max(int(query.sum()), 1)
        least, most = float(share @ (hits == room)), float(share @ (hits > 0))
        if most > least:
            weight[len(linear)] = counted * share[:, None]
            linear.append(column)
            cells[column], even[column] = int(query.sum()), float(share @ (hits / room))
            low[column], high[column] = least, most
    spread = even_entropy(room, n - keys_from, smoothing)
    for column, query in enumerate((asking, asking & of["first"]), start=len(MASSES)):
        if room[query].max(initial=1) > 1:
            cells[column], even[column] = int(query.sum()), float(spread[query].mean())
            low[column], high[column] = (
                0.0,
                float(np.log(room[query] if smoothing == 0 else n - keys_from).mean()),
            )
    plan = Plan(
        columns=len(COLUMNS),
        linear=np.array(linear, dtype=np.int64),
        weight=weight[: len(linear)].reshape(-1, n * n),
        divisor=None,
        profiles=(),
        cells=cells,
        low=low,
        high=high,
    )
    return SurfacePlan(plan, even, np.flatnonzero(asking & of["first"]), queries, keys_from)


def _mass_cells(
    of: dict[str, Bool[np.ndarray, " tokens"]],
    stack: Int[np.ndarray, " tokens"],
    segment: Int[np.ndarray, " tokens"],
) -> list[tuple[Bool[np.ndarray, " tokens"], Bool[np.ndarray, "#tokens tokens"]]]:
    """Return the queries and keys of each mass, in the order of ``MASSES``."""
    every, first, separator = stack == 0, of["first"], of["separator"]
    same = stack[:, None] == stack[None, :]
    text = of["punctuation"] | of["other"]
    own = text & (own_text(segment, separator, text)[:, None] == segment)
    return [
        (every, of["first"][None]),
        (every, separator[None]),
        (every & separator, separator[None]),
        (every & ~separator, separator[None]),
        (every, of["punctuation"][None]),
        *((every, same & np.eye(len(stack), k=offset, dtype=np.bool_)) for offset in (-1, 1, 0)),
        *((every & first, keys[None]) for keys in (first, separator, text)),
        (every & separator, first[None]),
        (every & separator, same & np.eye(len(stack), dtype=np.bool_)),
        (every & separator, own),
        (every & separator, text & ~own),
    ]


def own_text(
    segment: Int[np.ndarray, " tokens"],
    separator: Bool[np.ndarray, " tokens"],
    text: Bool[np.ndarray, " tokens"],
) -> Int[np.ndarray, " tokens"]:
    """Return the text that each separator ends: that of the last token of a text before it.

    Args:
        segment: Number of the text of each token.
        separator: Whether each token is a separator.
        text: Whether each token is of a text.

    Returns:
        The number of the text; of separators before all texts that of the first; −1 of tokens that are no
        separators, and where there is no text.

    Example:
        >>> segment = np.array([-1, 0, 0, -1, 1, -1])  # [CLS] it rains [SEP] yes [SEP]
        >>> own_text(segment, np.array([0, 0, 0, 1, 0, 1]) > 0, segment >= 0).tolist()
        [-1, -1, -1, 0, -1, 1]
    """
    places = np.flatnonzero(text)
    if not places.size:
        return np.full(len(segment), -1)
    before = np.maximum(np.searchsorted(places, np.arange(len(segment))) - 1, 0)
    own: np.ndarray = np.where(separator, segment[places[before]], -1)
    return own
