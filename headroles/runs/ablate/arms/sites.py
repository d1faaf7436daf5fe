"""Compare the damage at the sites of a role with that at other tokens like them, input by input."""

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.extraction.texts.tokens import Tokenised

GROUPS, FEWEST = 5, 5
"""Most groups of equal size that the tokens of an input are sorted into, and fewest tokens in half of one."""


def opening_pieces(tokenised: Tokenised) -> Bool[np.ndarray, " tokens"]:
    """Return whether each piece opens a word: no letter or digit goes on from the character before it.

    Special tokens open none.
    """
    opens = np.zeros(tokenised.size, dtype=np.bool_)
    for place in np.flatnonzero(tokenised.texts >= 0):
        text = tokenised.passage.texts[int(tokenised.texts[place])]
        start, end = map(int, tokenised.spans[place])
        while start < end and text[start].isspace():
            start += 1
        goes_on = start > 0 and start < len(text) and text[start - 1].isalnum() and text[start].isalnum()
        opens[place] = not goes_on
    return opens


def strata_of(
    counted: Bool[np.ndarray, " tokens"],
    order: Float[np.ndarray, " tokens"],
    opens: Bool[np.ndarray, " tokens"],
) -> Int[np.ndarray, " tokens"]:
    """Return the stratum of each token: fifths by a value, times position and kind of piece.

    A group is split into its earlier and its later tokens. There are fewer groups than five where half a
    group would have fewer than five tokens, and one whole group below ten tokens.

    Args:
        counted: Tokens that count.
        order: The value, such as the loss without intervention, on which damage is known to depend.
        opens: Whether each token opens a word.

    Returns:
        Number of the stratum, and −1 for tokens that do not count.

    Example:
        >>> counted = np.array([True] * 10 + [False])
        >>> strata_of(counted, np.arange(11.0), np.arange(11) % 2 == 0).tolist()
        [1, 0, 1, 0, 1, 2, 3, 2, 3, 2, -1]
    """
    places = np.flatnonzero(counted)
    strata = np.full(len(counted), -1, dtype=np.int64)
    groups = min(GROUPS, max(1, len(places) // (2 * FEWEST)))
    sorted_places = places[np.argsort(order[places], kind="stable")]
    for group in range(groups):
        first, last = (-(-len(places) * end // groups) for end in (group, group + 1))
        own = np.sort(sorted_places[first:last])
        late = (np.arange(len(own)) * 2 >= len(own)) & (len(own) >= 2 * FEWEST)
        strata[own] = 4 * group + 2 * late
    strata[places] += opens[places]
    return strata


def site_weights(
    sites: Bool[np.ndarray, " tokens"], strata: Int[np.ndarray, " tokens"]
) -> Float[np.ndarray, " tokens"]:
    """Return the weight of every token in the difference between sites and other tokens.

    The difference is D = Σ_k (n_k / n) (mean damage at sites of stratum k − mean damage at its other tokens);
    n_k counts the sites of a stratum, and n all of them. A stratum of sites alone is compared with the other
    tokens of the nearest stratum: of the same group, or else of the nearest group, the higher of two, and
    there rather of the same kind of piece than of the same half. Without this, sites where a head takes
    nearly all of the loss away would not count, because no other token has as little. D is the sum of
    weight × damage over tokens.

    Args:
        sites: Sites of the role.
        strata: From ``strata_of``; tokens of stratum −1 do not count.

    Returns:
        Weights, 0 for tokens that do not count; all NaN where there is no site, or no other token.

    Example:
        >>> site_weights(np.array([True, False, False, True]), np.array([0, 0, 0, 4])).tolist()
        [0.5, -0.5, -0.5, 0.5]
    """
    size = max(int(strata.max(initial=-1)) + 1, 1)
    known = strata >= 0
    place = np.where(known, strata, 0)
    inside, outside = (np.bincount(place[which & known], minlength=size) for which in (sites, ~sites))
    if not inside.any() or not outside.any():
        return np.full(len(strata), np.nan)
    compared = np.zeros(size)
    for stratum in np.flatnonzero(inside):
        compared[_nearest(int(stratum), np.flatnonzero(outside))] += inside[stratum]
    share = np.where(sites, 1.0, -(compared / np.maximum(outside, 1))[place]) / inside.sum()
    weights: np.ndarray = np.where(known, share, 0.0)
    return weights


def _nearest(stratum: int, others: Int[np.ndarray, " strata"]) -> int:
    """Return the stratum that one is compared with: itself, another of its group, or of a near group."""
    away, differs = others // 4 - stratum // 4, others ^ stratum
    order = np.lexsort((-away, differs & 2, differs & 1, np.abs(away)))
    return int(others[order[0]])
