"""Decoded trees are the best of all trees, random ones are drawn evenly, and arcs are judged as said."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree

from headroles.errors import BadInput, UnknownName
from headroles.records.documents import Document, Window
from headroles.records.probes import DecodingProbe
from headroles.sieves.probes.tree_decoding import arborescences, random_tree, spanning_trees
from headroles.sieves.probes.trees import TreeProbe
from tests.support.reference import draws

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=draws(30))


def _is_tree(heads: Sequence[int], root: int) -> bool:
    for word in range(len(heads)):
        for _ in heads:
            word = word if word == root else heads[word]
        if word != root:
            return False
    return True


def _every_tree(words: int, root: int) -> Iterator[tuple[int, ...]]:
    """All directed trees over some words with a given root."""
    choices = [[-1] if word == root else range(words) for word in range(words)]
    return (heads for heads in product(*choices) if _is_tree(heads, root))


def _total(scores: np.ndarray, heads: Sequence[int]) -> float:
    return float(sum(scores[word, head] for word, head in enumerate(heads) if head >= 0))


def _scores(seed: int, trees: int, words: int) -> np.ndarray:
    """Rows of attention, some sharp and some even, with some zeros."""
    rng = np.random.default_rng(seed)
    cells = rng.gamma(0.2, size=(trees, words, words)) + 1e-9
    rows = cells / cells.sum(axis=2, keepdims=True)
    return np.where(rows < 0.01, 0.0, rows)


@few
@given(seeds, st.integers(2, 5), st.data())
def test_directed_trees_are_the_best_of_all(seed: int, words: int, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, words - 1))
    scores = _scores(seed, 4, words)
    everything = list(_every_tree(words, root))
    assert len(everything) == words ** (words - 2)
    for own, heads in zip(scores, arborescences(scores, root).tolist(), strict=True):
        assert heads[root] == -1
        assert _is_tree(heads, root)
        assert _total(own, heads) == pytest.approx(max(_total(own, each) for each in everything))


@pytest.mark.parametrize("words", [9, 17, 26])
def test_long_directed_trees_are_those_of_another_library(words: int) -> None:
    scores = _scores(words, 12, words)
    root = words // 2
    for own, heads in zip(scores, arborescences(scores, root).tolist(), strict=True):
        graph = networkx.DiGraph()
        for dependent, head in product(range(words), repeat=2):
            if dependent not in (head, root):
                graph.add_edge(head, dependent, weight=own[dependent, head])
        best = networkx.maximum_spanning_arborescence(graph)
        assert heads[root] == -1
        assert _is_tree(heads, root)
        assert _total(own, heads) == pytest.approx(best.size(weight="weight"))


@few
@given(seeds, st.integers(2, 12))
def test_undirected_trees_are_those_of_another_library(seed: int, words: int) -> None:
    scores = _scores(seed, 3, words)
    weights = np.maximum(scores, scores.mT)
    for own, neighbours in zip(weights, spanning_trees(weights).tolist(), strict=True):
        assert neighbours[0] == -1
        assert _is_tree(neighbours, 0)
        least = minimum_spanning_tree(np.triu(2 - own, 1)).sum()
        assert _total(own, neighbours) == pytest.approx(2 * (words - 1) - least)


def test_scores_are_not_changed() -> None:
    scores = _scores(1, 2, 6)
    before = scores.copy()
    arborescences(scores, 0)
    spanning_trees(scores + scores.mT)
    np.testing.assert_array_equal(scores, before)


def test_one_word_is_a_tree() -> None:
    assert arborescences(np.zeros((2, 1, 1)), 0).tolist() == [[-1], [-1]]
    assert spanning_trees(np.zeros((2, 1, 1))).tolist() == [[-1], [-1]]


def test_random_trees_are_drawn_evenly_from_all() -> None:
    random = np.random.default_rng(0)
    draws = 8000
    seen = Counter(tuple(random_tree(4, 1, random).tolist()) for _ in range(draws))
    assert set(seen) == set(_every_tree(4, 1))
    expected = draws / 16
    assert (
        sum((count - expected) ** 2 / expected for count in seen.values()) < 37.7
    )  # chi-squared, 15: p > 0.001


def test_random_trees_have_the_known_shares_of_arcs() -> None:
    random = np.random.default_rng(1)
    words, draws = 9, 6000
    heads = np.array([random_tree(words, 0, random) for _ in range(draws)])
    assert (heads[:, 4] == 0).mean() == pytest.approx(2 / words, abs=0.02)  # from the root
    assert (heads[:, 4] == 7).mean() == pytest.approx(1 / words, abs=0.02)  # one way of any other pair
    assert random_tree(1, 0, random).tolist() == [-1]


# The probe


def _document(heads: Sequence[int], relations: str, sentences: Sequence[int] = (0,)) -> Document:
    words = len(heads)
    return Document(
        key="d",
        text="w" * words,
        spans=np.stack([np.arange(words), np.arange(words) + 1], axis=1),
        words=("w",) * words,
        sentences=np.array(sentences),
        heads=np.array(heads),
        relations=tuple(relations.split()),
    )


SENTENCE = _document([1, 2, -1, 2, 3, 2], "det nsubj root obj nmod punct")
"""0 ← 1 ← 2 → 3 → 4, and punctuation 5 on 2."""


def _whole(document: Document) -> Window:
    return Window(document, 0, len(document.words), 0)


def _looking(heads: Sequence[int]) -> np.ndarray:
    """A head by which every word looks at its head."""
    words = len(heads)
    attention = np.full((words, words), 0.01)
    for word, head in enumerate(heads):
        if head >= 0:
            attention[word, head] = 0.9
    return attention


@pytest.mark.parametrize("root", ["given", "found"])
def test_a_head_that_looks_at_head_words_has_every_arc_in_its_direction(root: str) -> None:
    assert SENTENCE.heads is not None
    looking = _looking(SENTENCE.heads.tolist())
    attention = np.stack([looking, looking.T, np.full((6, 6), 1 / 6)])
    undirected, directed = TreeProbe("uuas", root), TreeProbe("uas", root)
    assert isinstance(undirected, DecodingProbe)
    assert (undirected.name, undirected.rows, undirected.directions) == ("trees", ("uuas",), ("",))
    assert (directed.rows, directed.directions) == (("uas",), ("→", "←"))
    assert undirected.items(_whole(SENTENCE)).tolist() == directed.items(_whole(SENTENCE)).tolist() == [4]
    assert undirected.decode(attention, _whole(SENTENCE))[0, 0, :2].tolist() == [4, 4]
    found = directed.decode(attention, _whole(SENTENCE))
    assert found.shape == (1, 2, 3)
    assert found[0, 0, 0] == found[0, 1, 1] == 4
    assert found[0, 0, 2] < 4


def test_a_found_root_is_that_of_the_tree_of_greatest_total() -> None:
    turned = _looking([1, -1, 1, 2, 3, 2])  # 1 is the root, not 2
    directed = [
        TreeProbe("uas", root).decode(turned[None], _whole(SENTENCE))[0, 0, 0] for root in ("given", "found")
    ]
    assert directed == [4, 3]
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores = rng.random((4, 4))
        best = max(
            (tree for root in range(4) for tree in _every_tree(4, root)),
            key=lambda heads: _total(scores, heads),
        )
        document = _document(best, "dep dep dep dep")
        assert TreeProbe("uas", "found").decode(scores[None], _whole(document))[0, 0, 0] == 3


def test_punctuation_is_decoded_but_not_judged() -> None:
    assert SENTENCE.heads is not None
    attention = _looking([1, 2, -1, 5, 3, 2])  # 3 hangs on the punctuation
    assert TreeProbe("uas").decode(attention[None], _whole(SENTENCE))[0, 0, 0] == 3
    only = _document([1, -1, 1], "punct root punct")
    assert TreeProbe("uas").items(_whole(only)).tolist() == [0]
    assert not TreeProbe("uas").decode(np.ones((2, 3, 3)) / 3, _whole(only)).any()


def test_baselines_take_the_neighbours_as_heads() -> None:
    uas = TreeProbe("uas")
    assert uas.baselines == ("right-branching", "left-branching", "random tree")
    assert uas.rivals == 3
    right, left, random = uas.baseline_hits(_whole(SENTENCE))[0].tolist()
    assert (right, left) == (2, 2)
    assert 0 <= random <= 4
    assert TreeProbe("uuas").baseline_hits(_whole(SENTENCE))[0, :2].tolist() == [4, 4]
    assert uas.baseline_hits(_whole(SENTENCE)).tolist() == uas.baseline_hits(_whole(SENTENCE)).tolist()


@pytest.mark.parametrize(
    ("measure", "root", "share"), [("uuas", "given", 1 / 4), ("uas", "given", 1 / 4), ("uas", "found", 1 / 8)]
)
def test_random_trees_are_right_as_often_as_they_should(measure: str, root: str, share: float) -> None:
    sentences = 400
    heads = [word - word % 8 if word % 8 else -1 for word in range(8 * sentences)]
    document = _document(heads, " ".join(["root", *["obj"] * 7] * sentences), range(0, 8 * sentences, 8))
    found = TreeProbe(measure, root).baseline_hits(_whole(document))[0, 2]
    assert found / (7 * sentences) == pytest.approx(share, abs=0.03)


def test_sentences_are_decoded_once_and_only_where_they_are_whole() -> None:
    document = _document([1, -1, 3, -1, 3, 6, -1], "det root det root obj det root", (0, 2, 5))
    probe = TreeProbe("uas")
    windows = [Window(document, 0, 4, 0), Window(document, 0, 6, 4), Window(document, 2, 7, 6)]
    assert [probe.items(each).tolist() for each in windows] == [[1], [2], [1]]
    assert document.heads is not None
    attention = _looking(document.heads.tolist())
    found = [probe.decode(attention[None, w.start : w.stop, w.start : w.stop], w)[0, 0, 0] for w in windows]
    assert found == [1, 2, 1]


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(BadInput, match="sentence 2 of document 'd' has 2"):
        TreeProbe().items(_whole(_document([-1, -1, -1], "root root root", (0, 1))))
    plain = Document("plain", "a", np.array([[0, 1]]), ("a",), np.array([0]))
    with pytest.raises(BadInput, match="'plain' has none"):
        TreeProbe().items(_whole(plain))
    with pytest.raises(UnknownName, match="uuas"):
        TreeProbe("uua")
    with pytest.raises(UnknownName, match="given"):
        TreeProbe("uas", "giveen")
