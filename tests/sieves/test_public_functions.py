"""Functions on plain arrays, and sieves in runs: patterns and rare tokens."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import headroles
from headroles import Arc, Example, Lexical, head_distances, score, show_sieve
from headroles.errors import BadInput
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.testing import made_example
from tests.sieves import oracle
from tests.support.planted import UNEQUAL, write_pairs

if TYPE_CHECKING:
    from headroles import Labelling

Label = Callable[..., "Labelling"]
PAIR = Example(
    "pair",
    ("[CLS]", "who", "is", "it", "[SEP]", "a", "small", "cat", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, -1, 1, 1, 1, -1]),
    word=np.array([-1, 0, 1, 2, -1, 3, 4, 5, -1]),
    arcs=(Arc(0, 2, "nsubj"), Arc(1, 2, "cop"), Arc(3, 5, "det"), Arc(4, 5, "amod")),
)
BARE = Example("bare", PAIR.tokens, segment=PAIR.segment)


def _attention(seed: int = 0, tokens: int = 9, layers: int = 2, heads: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(tokens), size=(layers, heads, tokens))


def test_the_usual_sieves_and_groups_leave_out_what_an_example_is_not_annotated_for() -> None:
    named = score(_attention(), PAIR)
    contrasts = {f"{name}:matched" for name in BUILT_IN if name.startswith(("block", "syntactic"))}
    assert set(named) == set(BUILT_IN) | contrasts
    assert {values.shape for values in named.values()} == {(2, 3)}
    assert not [name for name in score(_attention(), BARE) if name.startswith("syntactic")]
    bare = {name for name in score(_attention(), BARE, "patterns") if name in PATTERNS}
    assert set(PATTERNS) - bare == {"rare", "related:other", "subword", "subword:completing"}
    known = Example("known", PAIR.tokens, word=PAIR.word, lexical=Lexical(frequency=np.ones(9, dtype=int)))
    assert {"rare", "subword"} <= score(_attention(), known, "patterns").keys()


def test_any_float_is_taken_not_written_into_and_judged_by_its_sums_in_double_precision() -> None:
    wanted = score(_attention(), PAIR, ["local", "block"])
    for kind in (np.float16, np.float32, np.float64):
        attention = _attention().astype(kind)
        attention.flags.writeable = False
        for name, values in score(attention, PAIR, ["local", "block"]).items():
            assert values.dtype == np.float64
            np.testing.assert_allclose(values, wanted[name], atol=5e-3)
    even = np.full((1, 1, 9, 9), 1 / 9, dtype=np.float32)
    for off in (4.95e-3, 4.999e-3):
        score((even * (1 + off)).astype(np.float32), PAIR, "local")
    for off in (5.02e-3, -5.02e-3):
        with pytest.raises(BadInput, match=r"the worst row is off by 0\.00502"):
            score((even * (1 + off)).astype(np.float32), PAIR, "local")


def test_causal_attention_is_recognised_by_all_heads_and_can_be_stated() -> None:
    visible = np.tril(np.ones((9, 9), dtype=np.bool_))
    causal = _attention() * visible
    causal /= causal.sum(axis=-1, keepdims=True)
    names = ["delimiter", "local", "block", "bag-of-words"]
    read, stated = score(causal, PAIR, names), score(causal, PAIR, names, visible=visible)
    wide = score(causal, PAIR, names, visible=np.ones((9, 9), dtype=np.bool_))
    for name, values in read.items():
        np.testing.assert_array_equal(values, stated[name])
    assert not np.allclose(read["delimiter"], wide["delimiter"])
    gap = causal.copy()  # a key that no head looks at: not every key up to the query is seen
    gap[..., 5, 5] = 0
    gap /= gap.sum(axis=-1, keepdims=True)
    every = score(gap, PAIR, names, visible=np.ones((9, 9), dtype=np.bool_))
    for name, values in score(gap, PAIR, names).items():
        np.testing.assert_array_equal(values, every[name])


def test_distances_are_those_of_scipy_by_rows_inputs_and_units() -> None:
    from scipy.spatial.distance import jensenshannon

    inputs = [_attention(seed, tokens) for seed, tokens in enumerate((4, 7, 5))]
    single = []
    for attention in inputs:
        rows = attention.reshape(6, *attention.shape[2:])
        single.append(np.array([[jensenshannon(one, other, axis=1) ** 2 for other in rows] for one in rows]))
    means = np.array([given.mean(axis=2) for given in single])
    np.testing.assert_allclose(head_distances(inputs), means.mean(axis=0), atol=1e-12)
    by_unit = (means[[0, 2]].mean(axis=0) + means[1]) / 2
    np.testing.assert_allclose(head_distances(inputs, units=["a", "b", "a"]), by_unit, atol=1e-12)
    np.testing.assert_allclose(head_distances(inputs, root=True) ** 2, means.mean(axis=0), atol=1e-12)
    total = np.sum([given.sum(axis=2) for given in single], axis=0)
    np.testing.assert_allclose(head_distances(inputs, way="sum"), total, atol=1e-12)
    smooth = [0.9 * given + 0.1 / given.shape[-1] for given in inputs]
    np.testing.assert_allclose(head_distances(inputs, smoothing=0.1), head_distances(smooth), atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_a_shown_sieve_has_the_cells_and_weights_of_its_score(causal: bool) -> None:
    rng = np.random.default_rng(3)
    example = made_example(rng, texts=2, words=9)
    visible = oracle.seen(example.size, "causal" if causal else "every")
    rows = oracle.random_heads(rng, visible)
    for name in ("local", "block", "delimiter", "syntactic"):
        cells = show_sieve(name, example, causal=causal).cells
        wanted = oracle.role_scores(name, example, rows, visible).scores
        np.testing.assert_allclose((rows * cells.weight).sum(axis=(1, 2)), wanted, atol=1e-12)
        counted, room, asking = oracle.cells_of(name, example, visible)
        np.testing.assert_array_equal(cells.asking, asking)
        np.testing.assert_array_equal(cells.counted, counted & asking[:, None])
        np.testing.assert_array_equal(cells.compared[asking], room[asking])


@pytest.mark.xdist_group("planted")
def test_a_run_of_patterns_finds_what_was_planted(label: Label, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("cat 1 0\ndog 0.8 0.6\nhouse 0 2\nrain -1 0\n")
    data = write_pairs(tmp_path / "pairs.tsv", 160, UNEQUAL)
    found = label(data=data, sieve="patterns", vectors=tmp_path / "vectors.txt", maps=0)
    decided = {name: found.findings.decision[found.findings.of(name)] for name in found.findings.roles}
    roles = {name: {*map(tuple, np.argwhere(codes == 0).tolist())} for name, codes in decided.items()}
    assert set(roles) == set(PATTERNS)
    assert [*roles["previous"], *roles["next"], *roles["first"]] == [(0, 0), (1, 2), (0, 2)]
    assert roles["bag-of-words"] == {(1, 1)}
    assert not roles["self"] | roles["identical"] | roles["induction"] | roles["related:other"]
    assert found.manifest["vectors"]["words"] == 4


@pytest.mark.xdist_group("planted")
def test_a_rare_token_is_rare_in_the_run_not_in_its_input(
    label: Label, planted: Path, tmp_path: Path
) -> None:
    texts = ["the the cat", "the cat cat", "cat house", "the house dog", "dog the the"]
    rarest = [["cat"], ["cat"], ["house"], ["house", "dog"], ["dog"]]  # the: 5 times, cat 4, house 2, dog 2
    (tmp_path / "few.tsv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    (tmp_path / "few.json").write_text(json.dumps([{"text": text} for text in texts]))
    run = label(task=None, data=tmp_path / "few.tsv", text_a="text", sieve="rare", maps=0)
    given: dict[str, Any] = {"model": planted, "max_length": 48, "precision": "float32"}
    with np.load(headroles.extract(tmp_path / "few.json", out=tmp_path / "maps.npz", **given).file) as arrays:
        for number, (text, rare) in enumerate(zip(texts, rarest, strict=True)):
            keys = np.array([False, *(word in rare for word in text.split()), False])
            rows = arrays[str(number)].reshape(6, len(keys), -1)[:, 1:-1].astype(float)
            wanted = (rows[..., keys].sum(-1).mean(-1) - keys.mean()) / (1 - keys.mean())
            np.testing.assert_allclose(run.scores.values[0, number].ravel(), wanted, atol=1e-5)
