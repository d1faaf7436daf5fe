"""Functions on plain arrays, and sieves in runs: patterns, parked heads, inputs of head cards."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

import headroles
from headroles import Arc, Example, Lexical, head_distances, score, show_sieve
from headroles.errors import BadInput
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.testing import made_example
from tests.sieves import oracle

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
TREE = Example(
    "tree",
    ("[CLS]", "old", "dogs", "bark", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, -1]),
    word=np.array([-1, 0, 1, 2, -1]),
    arcs=(Arc(0, 1, "amod"), Arc(1, 2, "nsubj")),
)


def _attention(seed: int = 0, tokens: int = 9, layers: int = 2, heads: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(tokens), size=(layers, heads, tokens))


# score.


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
    with pytest.raises(BadInput, match="needs frequencies"):
        score(_attention(), BARE, ["patterns", "rare"])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_any_float_is_taken_and_not_written_into(kind: type[np.floating[Any]]) -> None:
    attention = _attention().astype(kind)
    attention.flags.writeable = False
    before, wanted = attention.copy(), score(_attention(), PAIR, ["local", "block"])
    for name, values in score(attention, PAIR, ["local", "block"]).items():
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, wanted[name], atol=5e-3)
    np.testing.assert_array_equal(attention, before)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_near_the_limit_are_judged_by_their_sum_in_double_precision(
    kind: type[np.floating[Any]],
) -> None:
    even = np.full((1, 1, 9, 9), 1 / 9)
    for off in (4.95e-3, 4.999e-3):
        score((even * (1 + off)).astype(kind), PAIR, "local")
    for off in (5.02e-3, -5.02e-3):
        with pytest.raises(BadInput, match=r"the worst row is off by 0\.00502"):
            score((even * (1 + off)).astype(kind), PAIR, "local")


def test_causal_attention_is_recognised_by_all_heads_and_can_be_stated() -> None:
    visible = np.tril(np.ones((9, 9), dtype=np.bool_))
    causal = _attention() * visible
    causal /= causal.sum(axis=-1, keepdims=True)
    names = ["delimiter", "local", "block"]
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


# head_distances.


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


# show_sieve.


@pytest.mark.parametrize("name", ["local", "block", "delimiter", "syntactic"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_shown_sieve_has_the_cells_and_weights_of_its_score(name: str, causal: bool) -> None:
    rng = np.random.default_rng(3)
    example = made_example(rng, texts=2, words=9)
    visible = oracle.seen(example.size, "causal" if causal else "every")
    rows = oracle.random_heads(rng, visible)
    cells = show_sieve(name, example, causal=causal).cells
    wanted = oracle.role_scores(oracle.ROLES[name], example, rows, visible)
    summed = (rows * cells.weight).sum(axis=(1, 2))
    np.testing.assert_allclose(
        summed if cells.counted.any() else np.full(3, np.nan), wanted.scores, atol=1e-12
    )
    role = oracle.ROLES[name]
    for i in np.flatnonzero(cells.asking).tolist():
        room = {j for j in range(example.size) if visible[i, j] and role.room(example, i, j)}
        counted = {
            j for j in room if role.counted(example, i, j) and (role.specials or not example.special[j])
        }
        assert set(np.flatnonzero(cells.compared[i]).tolist()) == room
        assert set(np.flatnonzero(cells.counted[i]).tolist()) == counted
    assert not cells.counted[~cells.asking].any()


def test_the_picture_names_every_counted_cell_and_no_token_is_markup(tmp_path: Path) -> None:
    svg = "{http://www.w3.org/2000/svg}"
    shown = show_sieve("syntactic", TREE)
    assert np.argwhere(shown.cells.counted).tolist() == [[1, 2], [2, 3]]
    assert shown.cells.asking.tolist() == [False, True, True, False, False]
    titles = [title.text or "" for title in ElementTree.fromstring(shown.svg()).iter(f"{svg}title")]
    assert [title.split(",")[0] for title in titles[1:]] == ["old to dogs", "dogs to bark"]
    odd = show_sieve("local", Example("odd", ("<b>", "&amp;", "\x1b[31m", "\u202eabc", '"')))
    assert {"<b>", "&amp;"} <= {text.text for text in ElementTree.fromstring(odd.svg()).iter(f"{svg}text")}
    file = shown.save(tmp_path / "new" / "local.svg")
    assert file.read_text(encoding="utf-8") == shown.svg() == shown._repr_svg_()
    assert show_sieve("local", Example("long", ("token",) * 300))._repr_svg_() is None


@pytest.mark.xdist_group("planted")
def test_a_text_is_read_by_the_tokenizer_and_annotated_where_the_sieve_needs_it(
    planted: Path, tmp_path: Path
) -> None:
    words: dict[str, Any] = {"model": str(planted), "causal": False}
    shown = show_sieve("syntactic", "the dog sees the cat", **words).cells
    assert shown.example.arcs
    assert shown.example.key == "shown"
    pair = show_sieve("block", "the dog", "the cat", **words).cells.example
    assert (pair.texts, pair.arcs) == (2, None)
    rare = show_sieve("rare", "the dog the cat", **words).cells
    assert "the" not in {rare.example.tokens[key] for key in np.flatnonzero(rare.counted.any(axis=0))}
    (tmp_path / "vectors.txt").write_text("dog 1 0\ncat 1 0.1\nthe 0 1\n")
    related = show_sieve(
        "related:other", "the dog", "a cat", vectors=str(tmp_path / "vectors.txt"), **words
    ).cells
    assert [related.example.tokens[key] for key in np.flatnonzero(related.counted[2])] == ["cat"]


# Runs of patterns, and the heads that they find in real models.


@pytest.mark.xdist_group("planted")
def test_a_run_of_patterns_finds_what_was_planted(label: Label, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("cat 1 0\ndog 0.8 0.6\nhouse 0 2\nrain -1 0\n")
    found = label(sieve="patterns", vectors=tmp_path / "vectors.txt", maps=0)
    roles = {
        name: {(int(layer), int(head)) for layer, head in np.argwhere(found.findings.decision[row] == 0)}
        for name in found.findings.roles
        for row in [found.findings.of(name)]
    }
    assert set(roles) == set(PATTERNS)
    assert (roles["previous"], roles["next"], roles["first"], roles["bag-of-words"]) == (
        {(0, 0)},
        {(1, 2)},
        {(0, 2)},
        {(1, 1)},
    )
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
    headroles.extract(
        tmp_path / "few.json", out=tmp_path / "maps.npz", model=planted, max_length=48, precision="float32"
    )
    with np.load(tmp_path / "maps.npz") as arrays:
        for number, (text, rare) in enumerate(zip(texts, rarest, strict=True)):
            keys = np.array([False, *(word in rare for word in text.split()), False])
            rows = arrays[str(number)].reshape(6, len(keys), -1)[:, 1:-1].astype(float)
            wanted = (rows[..., keys].sum(-1).mean(-1) - keys.mean()) / (1 - keys.mean())
            np.testing.assert_allclose(run.scores.values[0, number].ravel(), wanted, atol=1e-5)


def test_lemmas_come_from_conllu(tmp_path: Path) -> None:
    from headroles.extraction import read_conllu

    rows = ["1\tCats\tcat\tNOUN\t_\t_\t2\tnsubj\t_\t_", "2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_"]
    rows += ["3\t_\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_", "4\there\t_\tADV\t_\t_\t2\tadvmod\t_\t_"]
    bare = "\n".join(row.replace("\tcat\t", "\t_\t").replace("\trun\t", "\t_\t") for row in rows[:2])
    (tmp_path / "cats.conllu").write_text("\n".join(rows) + "\n\n" + bare + "\n\n")
    passages = read_conllu(tmp_path / "cats.conllu", "cats")
    (first,), (second,) = (list(passage.words or ()) for passage in passages)
    assert (first.lemmas, second.lemmas) == (("cat", "run", "_", ""), None)


# Parked heads.


@pytest.fixture(scope="module")
def parking(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted BERT with values: of layer 0, head 1 attends as head 2 does, to special tokens.

    Values of head 2 are small at special tokens, those of head 1 are large. All other values are alike.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = tmp_path_factory.mktemp("models") / "parking"
    network = AutoModel.from_pretrained(planted)
    weights = dict(network.named_parameters())
    with torch.no_grad():
        for layer in range(2):
            weights[f"encoder.layer.{layer}.attention.self.value.bias"][::8] = 1.0
            weights[f"encoder.layer.{layer}.attention.output.dense.weight"].copy_(torch.eye(24))
        for part in ("query.weight", "query.bias", "key.weight", "key.bias"):
            rows = weights[f"encoder.layer.0.attention.self.{part}"]
            rows[8:16] = rows[16:24]
        # dimension 16 of the hidden state is the flag of special tokens, after the norm of embeddings
        hidden = network.embeddings(torch.tensor([[2, 30, 31, 32, 3]]))[0, :, 16]
        flag = float(hidden[[0, 4]].mean() - hidden[1:4].mean())
        value = weights["encoder.layer.0.attention.self.value.weight"]
        value[16, 16], value[8, 16] = -1 / flag, 3 / flag
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(planted).save_pretrained(folder)
    return folder


@pytest.mark.xdist_group("planted")
def test_a_head_is_parked_where_values_of_separators_are_small_and_takes_values_where_they_are_large(
    label: Label, parking: Path
) -> None:
    from headroles.records import DECISIONS

    run = label(model=parking, sieve=["parked", "delimiter"], maps=0)
    decided = run.findings.decision[run.findings.of("parked")]
    words = [[DECISIONS[code] for code in row] for row in decided.tolist()]
    assert words == [["not", "explained", "role"], ["not"] * 3]
    assert (run.findings.decision[run.findings.of("delimiter")][0] == 0).tolist() == [False, True, True]
    assert run.assessment is not None
    drops = run.assessment.drops
    assert [(row.layer, row.head) for row in drops] == [(k // 3, k % 3) for k in range(6)]
    assert drops[2].norm < 0 < drops[2].low < drops[2].drop < drops[2].high
    assert drops[1].drop < 0 < drops[1].attention < drops[1].norm
    # Values that are alike everywhere change nothing: the second column is minus the first.
    second, first = (
        run.scores.values[run.scores.sieves.index(name), :, 1] for name in ("parked:values", "parked")
    )
    np.testing.assert_allclose(second, -first, rtol=0, atol=1e-5)
    kept = label(model=parking, sieve="parked", keep=30, stream=True, maps=0)
    assert kept.moments is not None
    assert kept.assessment is not None
    for one, other in zip(kept.assessment.drops, drops, strict=True):
        assert abs(one.drop - other.drop) < 0.02
