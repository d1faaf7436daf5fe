"""Distances and answers of plain arrays are those of the released code, and of the runs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles import Example, head_distances, probe_of, surface_of
from headroles.errors import BadInput, UnknownName
from headroles.extraction.jobs import divergence
from tests.support.word_attention import word_attention


def _attention(seed: int, tokens: int, layers: int = 2, heads: int = 3) -> np.ndarray:
    weights = np.random.default_rng(seed).random((layers, heads, tokens, tokens))
    rows: np.ndarray = weights / weights.sum(axis=-1, keepdims=True)
    return rows


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, np.ndarray]:
    with np.load(shared / "golden" / "published.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def about(shared: Path) -> Any:
    return json.loads((shared / "golden" / "published.json").read_text())


def test_the_released_matrix_of_distances_comes_out(golden: dict[str, np.ndarray]) -> None:
    inputs = [golden["js_attention_0"], golden["js_attention_1"]]
    found = head_distances(inputs, smoothing=0.001, way="sum")
    np.testing.assert_allclose(found, golden["js_sum"], rtol=1e-6, atol=1e-6)  # released in single precision
    np.testing.assert_array_equal(found, found.T)
    assert not found.diagonal().any()
    rooted = head_distances(inputs, smoothing=0.001, way="sum", root=True)
    np.testing.assert_allclose(rooted**2, found, atol=1e-12)


def test_a_mean_is_over_rows_then_inputs_of_a_unit_then_units() -> None:
    inputs = [_attention(seed, tokens) for seed, tokens in enumerate((4, 7, 5))]
    single = [head_distances(each, way="sum") / each.shape[-1] for each in inputs]
    np.testing.assert_allclose(head_distances(inputs), np.mean(single, axis=0), rtol=1e-12)
    by_unit = head_distances(inputs, units=["a", "b", "a"])
    np.testing.assert_allclose(by_unit, (np.mean([single[0], single[2]], axis=0) + single[1]) / 2, rtol=1e-12)


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_distances_of_a_reversed_view_are_those_of_its_copy(kind: type[Any], axis: int) -> None:
    view = np.flip(_attention(1, 6).astype(kind), axis)
    np.testing.assert_array_equal(head_distances(view), head_distances(view.copy()))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_distances_of_a_read_only_array_are_those_of_its_copy(kind: type[Any]) -> None:
    kept = _attention(1, 6).astype(kind)
    kept.flags.writeable = False
    np.testing.assert_array_equal(head_distances(kept), head_distances(kept.copy()))
    assert not kept.flags.writeable


def test_distances_copy_no_array_that_can_be_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[torch.Tensor] = []
    real = divergence.pair_divergences

    def noted(attention: torch.Tensor, *, smoothing: float) -> np.ndarray:
        taken.append(attention)
        return real(attention, smoothing=smoothing)

    monkeypatch.setattr(divergence, "pair_divergences", noted)
    weights = _attention(1, 6).reshape(6, 6, 6)
    divergence.array_divergences(weights)
    assert np.shares_memory(taken[0].numpy(), weights)


def test_statistics_of_several_examples_are_means_over_those_that_have_a_value() -> None:
    texts = [("[CLS]", "it", "rains", "[SEP]"), ("it", "rains", "now"), ("[CLS]", "no", "[SEP]")]
    special = [np.array([-1 if token[0] == "[" else 0 for token in tokens]) for tokens in texts]
    examples = [Example(str(k), *given) for k, given in enumerate(zip(texts, special, strict=True))]
    arrays = [_attention(seed, len(tokens)) for seed, tokens in enumerate(texts)]
    found = surface_of(arrays, examples)
    single = [surface_of(*pair) for pair in zip(arrays, examples, strict=True)]
    separator, itself = "surface:separator", "surface:self"
    np.testing.assert_allclose(found[itself], np.mean([each[itself] for each in single], axis=0))
    assert np.isnan(single[1][separator]).all()
    wanted = (single[0][separator] + single[2][separator]) / 2
    np.testing.assert_allclose(found[separator], wanted)
    with pytest.raises(BadInput, match="several examples need one array each, all with the same layers"):
        surface_of(arrays[:2], examples)


@pytest.mark.parametrize(("direction", "arrow"), [("normal", "→"), ("transpose", "←")])
def test_released_accuracies_of_the_dependency_probe_come_out(
    direction: str, arrow: str, golden: dict[str, np.ndarray], about: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the golden sentences have random heads, which form no trees
    monkeypatch.setattr("headroles.extraction.gold.jsonlines.check_tree", lambda *given: None)
    sentences = about["dependency"]["sentences"]
    rows, inputs = [], []
    for sentence in sentences:
        size = len(sentence["heads"])
        heads = [int(head) for head in sentence["heads"]]
        rows.append({"words": ["w"] * size, "heads": heads, "relations": sentence["relations"]})
        inputs.append(golden[f"dep_attention_{size}"][:, :, 1:-1, 1:-1].astype(np.float64))
    shares = probe_of(inputs, rows, relations=["det", "nsubj", "obj"], published=True)
    for name, accuracy in about["dependency"]["accuracy"][direction].items():
        layer, head = map(int, name.split("-"))
        own = {row: shares[f"dependency:{row}:{arrow}"][layer, head] for row in accuracy}
        assert own == accuracy


def test_attention_of_tokens_is_joined_to_words_first() -> None:
    word, sentence = np.array([-1, 0, 1, 1, 2, -1]), {"words": ["Ann", "rejoined", "us"], "heads": [2, 0, 2]}
    tokens = _attention(5, 6)
    kept = np.flatnonzero(word >= 0)
    words = word_attention(tokens[..., kept, :][..., kept], word[kept])
    row = sentence | {"relations": ["nsubj", "root", "obj"]}
    for probe in ("dependency", "trees"):
        found, wanted = probe_of(tokens, row, probe, word=word), probe_of(words, row, probe)
        assert list(found) == list(wanted)
        for name, share in wanted.items():
            np.testing.assert_array_equal(found[name], share)


def test_trees_and_antecedents_are_found_by_heads_that_attend_to_them() -> None:
    to_head = np.eye(4)[[1, 1, 3, 1]][None, None]
    row = {
        "words": ["Ann", "likes", "old", "Bob"],
        "heads": [2, 0, 4, 2],
        "relations": ["a", "root", "b", "c"],
    }
    shares = probe_of(to_head, row, "trees")
    assert (shares["trees:uas:→"].item(), shares["trees:uuas"].item()) == (1, 1)
    mentions = {"words": ["Ann", "saw", "Bob", "she"], "clusters": [[[0, 1], [3, 4]], [[2, 3]]]}
    back = np.eye(4)[[0, 0, 0, 0]][None, None]
    assert probe_of(back, mentions, "coreference")["coreference:all"].tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"attention": _attention(1, 4)}, "has one row for each, 3 for input 0, but got 4"),
        ({"word": np.array([0, 1, 3])}, "from 0 to 2 and -1 for none, but got int64"),
        ({"annotation": [{"words": ["a"]}] * 2}, "got 1 arrays, 2 annotations and 1 lists"),
        ({"annotation": {"words": ["a", "b", "c"]}}, "the dependency probe needs 'heads' and 'relations' of"),
        ({"probe": "coreference"}, "needs 'mentions' or 'clusters' of every input"),
        (
            {"attention": [_attention(1, 3), _attention(1, 3, 4)]},
            "all attention must be from one model, but that of",
        ),
        ({"attention": []}, "at least one input needs attention"),
        ({"attention": 2 * _attention(1, 3)}, "sums to 1 or less"),
    ],
)
def test_arrays_that_do_not_fit_are_one_sentence(given: dict[str, Any], sentence: str) -> None:
    row = {"words": ["a", "b", "c"], "heads": [2, 0, 2], "relations": ["x", "root", "y"]}
    usual: dict[str, Any] = {"attention": _attention(0, 3), "annotation": row}
    with pytest.raises(BadInput, match=sentence):
        probe_of(**(usual | given))


def test_names_and_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(UnknownName, match="no way of summing divergences is called 'median'"):
        head_distances(_attention(0, 3), way="median")
    with pytest.raises(BadInput, match="smoothing must be at least 0 and below 1"):
        head_distances(_attention(0, 3), smoothing=1)
    with pytest.raises(BadInput, match="every input has one unit, but got 2 units for 1 inputs"):
        head_distances(_attention(0, 3), units=["a", "b"])
    with pytest.raises(UnknownName, match="no probe is called 'arcs'"):
        probe_of(_attention(0, 1), {"words": ["a"]}, "arcs")
