"""Mask sieves are their formulas: by hand, by plain loops, at their bounds, and on even attention."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, score, sieve
from headroles.arrays import selection_of
from headroles.errors import BadInput, BadSieve
from headroles.records.example import Arc
from headroles.sieves import BUILT_IN
from headroles.sieves.base import MaskSieve
from headroles.sieves.built_in.local import within
from headroles.sieves.built_in.syntactic import relation
from headroles.sieves.language.relations import CLEARNLP
from headroles.sieves.masks import Band, Cells, Every, Keys, Mask, Match, Pairs, Same, Without, as_mask
from headroles.sieves.weights.reference import apply
from headroles.testing import check_sieve, made_example
from tests.sieves.recipes import Recipe, layout, recipes_of
from tests.support.reference import draws

SIEVES = tuple(BUILT_IN)

RELATIONS = ("nsubj", "nsubj:pass", "obj", "amod", "advmod", "det", "case", "punct")
few = settings(max_examples=draws(30))
recipes = recipes_of(RELATIONS, 9)


def _visible(size: int, causal: bool) -> np.ndarray:
    return np.tril(np.ones((size, size), dtype=np.bool_)) if causal else np.ones((size, size), dtype=np.bool_)


def _random_heads(rng: np.random.Generator, visible: np.ndarray, heads: int = 3) -> np.ndarray:
    """Rows from nearly even to nearly one-hot, 0 on keys that cannot be seen."""
    cells = rng.gamma(rng.choice([0.05, 0.5, 5.0], size=(heads, 1, 1)), size=(heads, *visible.shape)) + 1e-12
    cells *= visible
    rows: np.ndarray = cells / cells.sum(axis=2, keepdims=True)
    return rows


# By hand. Six tokens; rows are queries.

PAIR = Example("pair", ("[CLS]", "a1", "a2", "[SEP]", "b1", "[SEP]"), segment=np.array([-1, 0, 0, -1, 1, -1]))
PAIR_ROWS = np.array(
    [
        [0.5, 0.1, 0.1, 0.1, 0.1, 0.1],
        [0.1, 0.5, 0.2, 0.1, 0.1, 0.0],
        [0.2, 0.3, 0.3, 0.0, 0.2, 0.0],
        [0.1, 0.2, 0.3, 0.2, 0.1, 0.1],
        [0.0, 0.1, 0.1, 0.2, 0.4, 0.2],
        [0.6, 0.0, 0.0, 0.4, 0.0, 0.0],
    ]
)
SINGLE = Example(
    "single",
    ("[CLS]", "a", "b", "c", "d", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, 0, -1]),
    word=np.array([-1, 0, 1, 1, 2, -1]),
    arcs=(Arc(0, 1, "nsubj"), Arc(1, 0, "amod"), Arc(2, 1, "obj"), Arc(2, 0, "punct")),
)
SINGLE_ROWS = np.array(
    [
        [0.5, 0.1, 0.1, 0.1, 0.1, 0.1],
        [0.1, 0.4, 0.2, 0.1, 0.1, 0.1],
        [0.2, 0.4, 0.1, 0.1, 0.1, 0.1],
        [0.1, 0.2, 0.3, 0.2, 0.1, 0.1],
        [0.0, 0.2, 0.2, 0.2, 0.2, 0.2],
        [0.6, 0.0, 0.0, 0.4, 0.0, 0.0],
    ]
)
BY_HAND = [
    # a and d see 3 of their text's 4 tokens within two; b and c see all, so are no queries. Chance 3/4.
    # a: 0.7 - 0.75 * 0.8 = 0.1; d: 0.6 - 0.75 * 0.8 = 0; mean 0.05; over 1 - 0.75.
    (SINGLE, SINGLE_ROWS, "local", 0.05 / 0.25),
    # Window 1: chances 2/4, 3/4, 3/4, 2/4; the mean is 5/8.
    # a: 0.6 - 0.5 * 0.8 = 0.2; b: 0.6 - 0.75 * 0.7 = 0.075; c: 0.6 - 0.75 * 0.8 = 0; d: 0.4 - 0.4 = 0.
    (SINGLE, SINGLE_ROWS, "local:1", (0.275 / 4) / (3 / 8)),
    # Queries a to d, keys 0 and 5 of 6: (0.2 + 0.3 + 0.2 + 0.2) / 4 = 0.225.
    (SINGLE, SINGLE_ROWS, "delimiter", (0.225 - 1 / 3) / (2 / 3)),
    # Key 0: (0.1 + 0.2 + 0.1 + 0) / 4 = 0.1; key 5: 0.125.
    (SINGLE, SINGLE_ROWS, "delimiter:cls", (0.1 - 1 / 6) / (5 / 6)),
    (SINGLE, SINGLE_ROWS, "delimiter:sep", (0.125 - 1 / 6) / (5 / 6)),
    # a -> bc: 0.2 + 0.1 = 0.3, chance 2/6; b, c -> a: (0.4 + 0.2) / 2 = 0.3, chance 1/6; d -> bc: 0.4, chance
    # 2/6; punct is left out. Mean 1/3; chance 5/18.
    (SINGLE, SINGLE_ROWS, "syntactic", (1 / 3 - 5 / 18) / (13 / 18)),
    (SINGLE, SINGLE_ROWS, "syntactic:nsubj", (0.3 - 1 / 3) / (2 / 3)),
    (SINGLE, SINGLE_ROWS, "syntactic:amod", (0.3 - 1 / 6) / (5 / 6)),
    (SINGLE, SINGLE_ROWS, "syntactic:obj", (0.4 - 1 / 3) / (2 / 3)),
    # Own text a: 0.7 and 0.6 of 0.8 and 0.8 on both texts; b: 0.4 of 0.6. Each text one half, chances 2/3 and
    # 1/3: (0.65 + 0.4) / 2 - (2/3 * 0.8 + 1/3 * 0.6) / 2, over 1 - 1/2.
    (PAIR, PAIR_ROWS, "block", 0.65 + 0.4 - 2 / 3 * 0.8 - 1 / 3 * 0.6),
    # Every key within two of a1 and a2 is all of their text: nothing to say, as for b1.
    (PAIR, PAIR_ROWS, "local", float("nan")),
    (PAIR, PAIR_ROWS, "delimiter:sep", ((0.1 + 0 + 0.4) / 3 - 1 / 3) / (2 / 3)),
]


@pytest.mark.parametrize(("example", "rows", "name", "wanted"), BY_HAND)
def test_scores_of_six_tokens_are_those_worked_out_by_hand(
    example: Example, rows: np.ndarray, name: str, wanted: float
) -> None:
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert score(rows[None, None], example, [name])[name].item() == pytest.approx(
        wanted, abs=1e-12, nan_ok=True
    )


def test_block_is_youdens_j_when_all_attention_stays_on_the_texts() -> None:
    rng = np.random.default_rng(0)
    example = layout(rng, (4, 11), RELATIONS)
    text = example.segment >= 0
    rows = _random_heads(rng, np.broadcast_to(text, (example.size, example.size)).copy(), 1)[0]
    first, second = example.segment == 0, example.segment == 1
    sensitivity = rows[np.ix_(first, first)].sum(axis=1).mean()
    specificity = rows[np.ix_(second, second)].sum(axis=1).mean()
    ours = score(rows[None, None], example, ["block"])["block"].item()
    assert ours == pytest.approx(sensitivity + specificity - 1, abs=1e-12)


def test_a_head_that_looks_at_one_text_from_everywhere_is_no_block_head() -> None:
    example = layout(np.random.default_rng(1), (5, 40), RELATIONS)
    rows = np.tile((example.segment == 1) / 40, (example.size, 1))
    assert score(rows[None, None], example, ["block"])["block"].item() == pytest.approx(0, abs=1e-12)


# Even attention.


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [8, 9, 13, 31, 64, 127, 257, 512])
def test_even_attention_scores_zero_on_every_sieve_and_contrast(length: int, causal: bool) -> None:
    rng = np.random.default_rng(length)
    inside = length - 3
    first = int(rng.integers(2, inside - 2))
    for example in (
        layout(rng, (first, inside - first), RELATIONS),
        layout(rng, (length - 2,), RELATIONS),
        layout(rng, (length,), RELATIONS, False),
    ):
        even = _visible(example.size, causal) / _visible(example.size, causal).sum(axis=1, keepdims=True)
        scores = score(even[None, None], example)
        assert set(SIEVES) <= set(scores)
        for name, value in scores.items():
            assert np.isnan(value).all() or np.abs(value).max() <= 1e-12, name
        told = score(even[None, None], example, visible=_visible(example.size, causal))
        for name, value in scores.items():
            np.testing.assert_allclose(value, told[name], rtol=0, atol=1e-12)
        for name in ("local", "syntactic", "syntactic:matched"):
            assert np.isfinite(scores[name]).all() or length < 12
    assert np.isfinite(score(even[None, None], example)["local"]).all()


@few
@given(recipes, st.booleans())
def test_even_attention_scores_zero_on_any_layout(recipe: Recipe, causal: bool) -> None:
    example, _ = recipe.made()
    visible = _visible(example.size, causal)
    even = visible / visible.sum(axis=1, keepdims=True)
    for name, value in score(even[None, None], example, visible=visible).items():
        assert np.isnan(value).all() or np.abs(value).max() <= 1e-12, name


@few
@given(recipes, st.booleans())
def test_even_attention_has_a_bias_of_one_on_any_layout(recipe: Recipe, causal: bool) -> None:
    example, _ = recipe.made()
    visible = _visible(example.size, causal)
    even = visible / visible.sum(axis=1, keepdims=True)
    scores = score(even[None, None], example, visible=visible, statistic="bias")
    for name in SIEVES:
        assert np.isnan(scores[name]).all() or scores[name].item() == pytest.approx(1, abs=1e-12)


# By plain loops, straight from the formulas.


def _keys(name: str, example: Example, i: int) -> set[int]:
    """S before visibility: the keys that a sieve counts for query i."""
    text, word = example.segment, example.word
    tokens = range(example.size)
    family, _, parameter = name.partition(":")
    if family == "local":
        return {j for j in tokens if text[i] == text[j] and text[i] >= 0 and abs(i - j) <= 2}
    if family == "delimiter":
        chosen = {
            "": example.special,
            "cls": example.first,
            "sep": example.special & ~example.first,
        }[parameter]
        return {j for j in tokens if chosen[j]}
    if family == "block":
        return {j for j in tokens if text[i] == text[j] and text[i] >= 0}
    heads = {
        arc.head
        for arc in example.arcs or ()
        if arc.dependent == word[i]
        and arc.relation != "punct"
        and (not parameter or arc.relation in (parameter, f"{parameter}:pass"))
    }
    return {j for j in tokens if word[j] in heads and word[j] >= 0}


def _compared(name: str, example: Example, i: int) -> set[int]:
    """R before visibility: the keys that those are compared within."""
    text = example.segment
    tokens = range(example.size)
    if name == "local":
        return {j for j in tokens if text[i] == text[j] and text[i] >= 0}
    if name == "block":
        return {j for j in tokens if text[i] >= 0 and text[j] >= 0}
    return set(tokens)


def _by_loops(name: str, example: Example, rows: np.ndarray, visible: np.ndarray) -> tuple[float, float, int]:
    """Selectivity, bias and the number of eligible queries (arcs) of one head."""
    kept: dict[int, tuple[set[int], set[int]]] = {}
    for i in range(example.size):
        seen = {j for j in range(example.size) if visible[i, j]}
        room = _compared(name, example, i) & seen
        counted = _keys(name, example, i) & room
        if not example.special[i] and counted and counted != room:
            kept[i] = (counted, room)
    if not kept:
        return float("nan"), float("nan"), 0
    label = {
        i: int(example.segment[i]) if name == "block" else int(example.word[i]) if "syn" in name else i
        for i in kept
    }
    labels = list(label.values())
    above = below = inside = chance = 0.0
    for i, (counted, room) in kept.items():
        q = 1 / (len(set(labels)) * labels.count(label[i]))
        c = len(counted) / len(room)
        s, m = sum(rows[i, j] for j in counted), sum(rows[i, j] for j in room)
        above += q * (s - c * m)
        below += q * c
        inside += q * s
        chance += q * c * m
    cells = len(set(labels)) if "syn" in name else len(kept)
    return above / (1 - below), inside / chance if chance else float("nan"), cells


@few
@given(recipes, st.booleans())
def test_selectivity_and_bias_are_the_formulas_written_as_loops(recipe: Recipe, causal: bool) -> None:
    example, rng = recipe.made()
    visible = _visible(example.size, causal)
    heads = _random_heads(rng, visible)
    selection = selection_of(None)
    plan = selection.plan(example, visible, np.float64)
    both = [score(heads[None], example, visible=visible, statistic=name) for name in ("selectivity", "bias")]
    for name in SIEVES:
        wanted = [_by_loops(name, example, rows, visible) for rows in heads]
        for k, found in enumerate(both):
            np.testing.assert_allclose(found[name][0], [each[k] for each in wanted], rtol=1e-9, atol=1e-9)
        cells = plan.cells[selection.columns.index(name)]
        assert np.nan_to_num(cells) == wanted[0][2]


@few
@given(recipes)
def test_every_key_visible_is_what_no_visibility_means(recipe: Recipe) -> None:
    example, rng = recipe.made()
    heads = _random_heads(rng, _visible(example.size, False))
    selection = selection_of(None)
    for_all = apply(selection.plan(example, None, np.float64), heads)
    told = apply(selection.plan(example, _visible(example.size, False), np.float64), heads)
    np.testing.assert_allclose(for_all, told, rtol=1e-9, atol=1e-12)


# Bounds.


@few
@given(recipes, st.booleans(), st.sampled_from(["selectivity", "bias"]))
def test_no_attention_scores_beyond_the_bounds(recipe: Recipe, causal: bool, statistic: str) -> None:
    example, rng = recipe.made()
    visible = _visible(example.size, causal)
    plan = selection_of(None, statistic=statistic).plan(example, visible, np.float64)
    scores = apply(plan, _random_heads(rng, visible, 20))
    said = np.isfinite(plan.low)
    if statistic == "selectivity":
        np.testing.assert_array_equal(said, np.isfinite(scores).all(axis=1))
    assert not (scores[said] < plan.low[said, None] - 1e-9).any()
    assert not (scores[said] > plan.high[said, None] + 1e-9).any()


@few
@given(recipes, st.booleans(), st.sampled_from(SIEVES))
def test_all_attention_on_the_keys_or_beside_them_attains_the_bounds(
    recipe: Recipe, causal: bool, name: str
) -> None:
    example, _ = recipe.made()
    visible = _visible(example.size, causal)
    rows = np.zeros((2, example.size, example.size))
    for i in range(example.size):
        room = _compared(name, example, i) & set(np.flatnonzero(visible[i]).tolist())
        counted = _keys(name, example, i) & room
        for k, keys in enumerate((counted, room - counted)):
            rows[k, i, min(keys, default=0)] = 1
    plan = selection_of([name]).plan(example, visible, np.float64)
    if not len(plan.linear):
        return
    top, bottom = apply(plan, rows)[0]
    assert top == pytest.approx(plan.high[0], abs=1e-9) == 1
    assert bottom == pytest.approx(plan.low[0], abs=1e-9)
    assert bottom < 0


def test_block_never_falls_below_minus_one() -> None:
    for lengths in ((1, 60), (5, 60), (60, 2), (7, 7)):
        plan = selection_of(["block"]).plan(layout(np.random.default_rng(0), lengths, RELATIONS), None)
        assert plan.low[0] == pytest.approx(-1)


# Special tokens.


@few
@given(recipes, st.booleans())
def test_special_tokens_are_no_queries_and_count_as_keys_in_delimiter_sieves_only(
    recipe: Recipe, causal: bool
) -> None:
    example, _ = recipe.made()
    visible = _visible(example.size, causal)
    selection = selection_of(None)
    plan = selection.plan(example, visible, np.float64)
    for column, weight in zip(plan.linear, plan.weight.reshape(-1, example.size, example.size), strict=True):
        name = selection.columns[column]
        assert not weight[example.special].any()
        keys = weight[:, example.special]
        assert (keys > 0).any() if name.startswith("delimiter") else (keys <= 0).all()
        if name in ("local", "block"):
            assert not keys.any()


def test_a_mask_of_everything_counts_special_keys_only_when_it_says_so() -> None:
    def everything(example: Example) -> np.ndarray:
        return np.ones(example.size, dtype=np.bool_)

    own, all_of = sieve("own")(everything), sieve("all", specials=True)(everything)
    found = score(SINGLE_ROWS[None, None], SINGLE, [own, all_of])
    kept = SINGLE_ROWS[1:5, 1:5].sum(axis=1).mean()
    assert found["own"].item() == pytest.approx((kept - 4 / 6) / (2 / 6))
    assert np.isnan(found["all"].item())  # S is all of R for every query


# What has nothing to say.


def test_a_single_text_has_no_block_score() -> None:
    found = score(SINGLE_ROWS[None, None], SINGLE, ["block"])
    assert np.isnan([found["block"], found["block:matched"]]).all()


def test_a_relation_without_arcs_has_no_score() -> None:
    assert np.isnan(score(SINGLE_ROWS[None, None], SINGLE, ["syntactic:advmod"])["syntactic:advmod"]).all()


def test_a_text_without_special_tokens_has_no_delimiter_score() -> None:
    found = score(np.full((1, 1, 3, 3), 1 / 3), Example("bare", ("a", "b", "c")), ["delimiter"])
    assert np.isnan(found["delimiter"]).all()


def test_arcs_to_words_that_were_cut_off_are_left_out() -> None:
    cut = replace(SINGLE, arcs=(*(SINGLE.arcs or ()), Arc(1, 7, "nsubj"), Arc(9, 0, "obj")))
    for name in ("syntactic", "syntactic:nsubj", "syntactic:obj"):
        whole, less = (score(SINGLE_ROWS[None, None], each, [name]) for each in (SINGLE, cut))
        for column, value in whole.items():
            np.testing.assert_array_equal(value, less[column])


def test_syntactic_sieves_ask_for_arcs_where_there_are_none() -> None:
    with pytest.raises(BadInput, match="syntactic sieves need dependency arcs, but example 'pair' has none"):
        score(PAIR_ROWS[None, None], PAIR, ["syntactic"])


# Names of relations.


def _renamed(example: Example, names: dict[str, str]) -> Example:
    arcs = tuple(replace(arc, relation=names.get(arc.relation, arc.relation)) for arc in example.arcs or ())
    return replace(example, arcs=arcs)


def test_clearnlp_and_universal_names_give_the_same_scores() -> None:
    rng = np.random.default_rng(2)
    example = layout(rng, (20, 20), RELATIONS)
    heads = _random_heads(rng, _visible(example.size, False))[None]
    names = {universal: clear for clear, universal in CLEARNLP.items()}
    other = _renamed(example, names)
    assert {"dobj", "nsubjpass"} <= {arc.relation for arc in other.arcs or ()}
    ours, theirs = score(heads, example), score(heads, other)
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name])
    by_other_name = score(heads, example, ["syntactic:dobj"])["syntactic:dobj"]
    np.testing.assert_allclose(by_other_name, ours["syntactic:obj"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("passive", ["nsubj:pass", "nsubjpass", "NSUBJPASS"])
def test_a_plain_name_covers_its_subtypes_and_a_subtype_only_itself(passive: str) -> None:
    bent = _renamed(SINGLE, {"nsubj": passive})
    for name, finite in (("nsubj", True), ("nsubj:pass", True), ("nsubjpass", True), ("nsubj:outer", False)):
        found = score(SINGLE_ROWS[None, None], bent, [f"syntactic:{name}"])[f"syntactic:{name}"].item()
        assert np.isfinite(found) == finite
    plain = score(SINGLE_ROWS[None, None], SINGLE, ["syntactic:nsubj:pass"])["syntactic:nsubj:pass"].item()
    assert np.isnan(plain)


@pytest.mark.parametrize("left_out", ["punct", "PUNCT", "root", "ROOT"])
def test_punctuation_and_the_root_are_no_relations(left_out: str) -> None:
    bent = _renamed(SINGLE, {"nsubj": left_out, "amod": left_out, "obj": left_out})
    assert np.isnan(score(SINGLE_ROWS[None, None], bent, ["syntactic"])["syntactic"].item())
    with pytest.raises(BadSieve, match="does not name a dependency relation"):
        relation(left_out)


@pytest.mark.parametrize("name", ["", "n subj", "nsubj:", "12", "a:b:c"])
def test_what_cannot_be_a_relation_is_refused(name: str) -> None:
    with pytest.raises(BadSieve, match="does not name a dependency relation"):
        relation(name)


@pytest.mark.parametrize("window", ["0", "-1", "two", "1.5", ""])
def test_a_window_is_a_whole_number_from_one(window: str) -> None:
    with pytest.raises(BadSieve, match="must be a whole number of tokens from 1"):
        within(window)


# Kinds of mask.


def _always(mask: object) -> Callable[[Example], object]:
    def same_for_all(example: Example) -> object:
        return mask

    return same_for_all


def test_kinds_of_mask_that_name_the_same_cells_give_the_same_scores() -> None:
    rng = np.random.default_rng(3)
    example = layout(rng, (7, 6), RELATIONS)
    n = example.size
    heads = _random_heads(rng, _visible(n, False))[None]
    place = np.arange(n)
    band = (place[None, :] - place[:, None] >= -1) & (place[None, :] - place[:, None] <= 3)
    text = example.segment
    same = (text[:, None] == text[None, :]) & (text[:, None] >= 0)
    first = np.zeros((n, n), dtype=np.bool_)
    first[:, 3] = True
    query, key = np.nonzero(band)
    for made, cells in (
        (Band(-1, 3, n), band),
        (Same(text), same),
        (Pairs(query, key, n), band),
        (first[0], first),
    ):
        other, plain = (sieve("kind")(_always(each)) for each in (made, cells))
        np.testing.assert_array_equal(
            score(heads, example, [other])["kind"], score(heads, example, [plain])["kind"]
        )
        blocks = [
            made.rows(start, min(start + 4, n))
            if not isinstance(made, np.ndarray)
            else cells[start : start + 4]
            for start in range(0, n, 4)
        ]
        np.testing.assert_array_equal(np.concatenate(blocks), cells)


# The contract.


@pytest.mark.parametrize("name", SIEVES)
def test_every_built_in_sieve_keeps_the_contract(name: str) -> None:
    selected = selection_of([name]).sieves[0]
    check_sieve(selected)
    rng = np.random.default_rng(4)
    check_sieve(selected, [made_example(rng, texts=1, words=3), made_example(rng, texts=2, words=40)])


class _Scorer:
    """Mean attention on the first key, and a way to misbehave."""

    name = "first"
    needs: frozenset[str] = frozenset()

    def __init__(self, spoil: Callable[[np.ndarray, int], np.ndarray] = lambda scores, calls: scores) -> None:
        self.spoil = spoil
        self.calls = 0

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        self.calls += 1
        return self.spoil(attention[:, :, 0].mean(axis=1), self.calls)

    def null(self, example: Example) -> float:
        return 1 / example.size


def _writing(attention: np.ndarray, example: Example) -> np.ndarray:
    attention[:, 0] = 0
    scores: np.ndarray = attention[:, :, 0].mean(axis=1)
    return scores


def test_an_honest_scorer_keeps_the_contract() -> None:
    check_sieve(_Scorer())


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda scores, calls: scores + calls, "must be pure"),
        (lambda scores, calls: scores[:2], r"shape \(3,\), but gave"),
        (lambda scores, calls: scores[None], r"shape \(3,\), but gave"),
        (lambda scores, calls: scores.mean(), r"shape \(3,\), but gave"),
        (lambda scores, calls: scores * np.inf, "one finite number or NaN per head"),
        (lambda scores, calls: scores + np.arange(3), "must follow heads that change places"),
        (lambda scores, calls: scores - scores[0], "must follow heads that change places"),
    ],
)
def test_a_scorer_that_breaks_the_contract_is_refused(
    spoil: Callable[[np.ndarray, int], np.ndarray], sentence: str
) -> None:
    with pytest.raises(BadSieve, match=sentence):
        check_sieve(_Scorer(spoil))


def test_a_scorer_that_writes_into_attention_is_refused() -> None:
    scorer = _Scorer()
    scorer.score = _writing  # type: ignore[method-assign]
    with pytest.raises(BadSieve, match="writes into the attention"):
        check_sieve(scorer)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (lambda example: np.ones((2, 3), dtype=np.bool_), r"a mask of shape \(2, 3\) and type bool"),
        (lambda example: np.ones(example.size - 1, dtype=np.bool_), "a mask of shape"),
        (
            lambda example: np.ones((example.size, example.size)),
            r"a mask of shape \(12, 12\) and type float64",
        ),
        (lambda example: np.ones(example.size, dtype=np.int64), r"a mask of shape \(12,\) and type int64"),
        (lambda example: None, r"a mask of shape \(\) and type object"),
        (lambda example: Band(-1, 1, example.size + 1), "a mask of shape"),
    ],
)
def test_a_mask_of_the_wrong_shape_or_type_is_refused(
    mask: Callable[[Example], object], sentence: str
) -> None:
    with pytest.raises(BadSieve, match=f"sieve 'wrong' made {sentence}"):
        check_sieve(sieve("wrong")(mask))


def test_a_mask_that_changes_between_calls_is_refused() -> None:
    rng = np.random.default_rng(5)
    moody = sieve("moody")(lambda example: rng.random((example.size, example.size)) < 0.5)
    with pytest.raises(BadSieve, match="must be pure"):
        check_sieve(moody)


def test_a_sieve_has_a_name_and_needs_what_exists() -> None:
    for name, needs in (("", ()), ("fine", ("clusters",))):
        with pytest.raises(BadSieve, match="needs only annotation that exists"):
            sieve(name, needs=needs)


def test_a_sieves_question_is_the_first_line_of_its_docstring() -> None:
    @sieve("first", margin=0.3)
    def first(example: Example) -> np.ndarray:
        """Is it the first?

        It may be.
        """
        opening: np.ndarray = np.arange(example.size) == 0
        return opening

    assert isinstance(first, MaskSieve)
    assert (first.question, first.margin, first.needs) == ("Is it the first?", 0.3, frozenset())


THREE = np.zeros(3, dtype=np.int64)
OPEN = np.ones(3, dtype=np.bool_)


@pytest.mark.parametrize(
    "mask",
    [
        Band(0, 1, 3),
        Pairs(THREE, THREE, 3),
        Same(THREE),
        Match(THREE, THREE),
        Keys(OPEN),
        Without(Keys(OPEN), Band(0, 0, 3)),
        Every((Band(0, 1, 3), Same(THREE))),
        Cells(np.ones((3, 3), dtype=np.bool_)),
    ],
)
def test_a_mask_of_any_kind_has_as_many_units_as_the_example(mask: Mask) -> None:
    assert as_mask(mask, 3, "mine", "pair") is mask
    with pytest.raises(BadSieve, match=r"'mine' made a mask of shape .* for example 'pair', which has 4 tok"):
        as_mask(mask, 4, "mine", "pair")


def test_keys_of_another_type_are_refused_also_within_another_mask() -> None:
    numbers = Keys(THREE)
    for mask in (numbers, Without(numbers, Band(0, 0, 3))):
        with pytest.raises(BadSieve, match="and type int64 for example 'pair'"):
            as_mask(mask, 3, "mine", "pair")
