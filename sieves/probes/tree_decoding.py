"""Spanning trees of greatest total weight, for many matrices of one size at a time, and random trees."""

import numpy as np
from jaxtyping import Bool, Float, Int


def spanning_trees(weights: Float[np.ndarray, "trees words words"]) -> Int[np.ndarray, "trees words"]:
    """Find undirected trees of greatest total weight (Prim 1957).

    Args:
        weights: Symmetric, finite; the diagonal is not read.

    Returns:
        The neighbour of each word on the way to word 0, which has −1.

    Example:
        >>> spanning_trees(np.array([[[0.0, 0.1, 0.9], [0.1, 0.0, 0.2], [0.9, 0.2, 0.0]]])).tolist()
        [[-1, 2, 0]]
    """
    trees, words = weights.shape[:2]
    every = np.arange(trees)
    neighbour = np.zeros((trees, words), dtype=np.int64)
    neighbour[:, 0] = -1
    best = weights[:, 0].copy()
    best[:, 0] = -np.inf
    outside = np.ones((trees, words), dtype=np.bool_)
    outside[:, 0] = False
    for _ in range(words - 1):
        newest = best.argmax(axis=1)
        outside[every, newest] = False
        best[every, newest] = -np.inf
        row = weights[every, newest]
        closer = (row > best) & outside
        best[closer] = row[closer]
        neighbour = np.where(closer, newest[:, None], neighbour)
    return neighbour


def arborescences(
    scores: Float[np.ndarray, "trees words words"], root: int
) -> Int[np.ndarray, "trees words"]:
    """Find directed trees of greatest total score with a given root (Chu & Liu 1965; Edmonds 1967).

    Every word takes its best head. Words in a circle are joined into one, whose arcs count by their gain
    over the arc they replace. This is repeated until there is no circle. All circles of all
    matrices are joined at once.

    Args:
        scores: Finite; ``scores[t, d, h]`` is that of head h for dependent d. The diagonal and the
            row of the root are not read.
        root: The word without a head.

    Returns:
        The head of each word; −1 for the root.

    Example:
        >>> arborescences(np.array([[[0.0, 0.0, 0.0], [0.1, 0.0, 0.9], [0.3, 0.8, 0.0]]]), 0).tolist()
        [[-1, 2, 0]]
    """
    trees, words = scores.shape[:2]
    scores = scores.copy()
    group = np.broadcast_to(np.arange(words), (trees, words)).copy()
    active = np.arange(trees)
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    while active.size:
        entry, head, gain = _best_entries(scores, group)
        steps.append((active, group, entry, head))
        joined, circles = _join_circles(group, group[_matrix_index(group), head], root)
        more = circles.any(axis=1)
        gain[:, root] = 0  # nothing enters it, whatever its row holds
        scores -= gain[:, :, None]
        if not more.all():
            active, joined, scores = active[more], joined[more], scores[more]
        group = joined
    return _undo_joins(steps, trees, words, root)


def _matrix_index(group: Int[np.ndarray, "trees words"]) -> Int[np.ndarray, "trees 1"]:
    """Return the number of each matrix, to index its words."""
    return np.arange(len(group))[:, None]


def _best_entries(
    scores: Float[np.ndarray, "trees words words"], group: Int[np.ndarray, "trees words"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best arc into the group of each word: the word it enters, its head, and its score.

    Scores within groups become −inf.
    """
    same = group[:, :, None] == group[:, None, :]
    np.copyto(scores, -np.inf, where=same)
    head = scores.argmax(axis=2)
    tree = _matrix_index(group)
    value = scores[tree, np.arange(group.shape[1]), head]
    entry = np.where(same, value[:, None, :], -np.inf).argmax(axis=2)
    return entry, head[tree, entry], value[tree, entry]


def _join_circles(
    group: Int[np.ndarray, "trees words"], above: Int[np.ndarray, "trees words"], root: int
) -> tuple[Int[np.ndarray, "trees words"], Bool[np.ndarray, "trees words"]]:
    """Join the groups of each circle; return the new groups, and which groups were in a circle.

    Args:
        group: The least word of each word's group.
        above: The group that the head of each word's group is in.
        root: Its group has no head.
    """
    words = group.shape[1]
    tree = _matrix_index(group)
    above[:, root] = root
    least = np.broadcast_to(np.arange(words), above.shape)
    for _ in range(words.bit_length()):
        least = np.minimum(least, least[tree, above])
        above = above[tree, above]
    circles = np.zeros(group.shape, dtype=np.bool_)
    circles[tree, above] = True  # following heads long enough ends in a circle
    circles[:, root] = False
    return np.where(circles, least, np.arange(words))[tree, group], circles


def _undo_joins(
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]], trees: int, words: int, root: int
) -> Int[np.ndarray, "trees words"]:
    """Return the heads of the words, undoing the joinings from the last to the first.

    The group that an arc enters takes it; the others of its circle keep their own.
    """
    entered = np.full((trees, words), -1)
    heads = np.full((trees, words), -1)
    for active, group, entry, head in reversed(steps):
        outer = entered[active]
        inside = group[_matrix_index(group), outer] == group
        kept = (outer >= 0) & inside
        entered[active] = np.where(kept, outer, entry)
        heads[active] = np.where(kept, heads[active], head)
    heads[:, root] = -1
    return heads


def random_tree(words: int, root: int, random: np.random.Generator) -> Int[np.ndarray, " words"]:
    """Draw a tree uniformly from all trees over some words, by a random walk (Aldous 1990; Broder 1989).

    Args:
        words: Number of words, at least 1.
        root: The word without a head, where the walk begins.
        random: The random numbers.

    Returns:
        The head of each word, from which the walk first reached it; −1 for the root.
    """
    heads = np.full(words, -1)
    missing, here = words - 1, root
    while missing:
        for there in random.integers(words, size=4 * words).tolist():
            if there != root and heads[there] < 0:
                heads[there] = here
                missing -= 1
            here = there
    return heads
