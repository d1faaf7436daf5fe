"""Kinds of tokens, masses and entropies: by hand, as released, and on maps of real models."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

import headroles
from headroles import Example
from headroles.arrays import surface_of
from headroles.errors import BadInput
from headroles.sieves.settings import SMOOTHING
from headroles.sieves.spread import entropies, even_entropy
from headroles.sieves.surface import COLUMNS, ENTROPIES, KINDS, MASSES, kinds, lay_surface, own_text, rules
from headroles.testing import made_example, planted
from tests.support.reference import rounding_bound

RELEASED = {
    "first": "cls", "separator": "sep", "separator→separator": "sep_sep", "other→separator": "rest_sep",
    "punctuation": "punct", "previous": "left", "next": "right", "self": "self",
}  # fmt: skip

ROWS = tuple(name for name in MASSES if name.partition(":")[2] not in RELEASED)
"""Columns that the released code does not have: those about the rows of special tokens."""


def _marked(tokens: list[str], special: tuple[str, ...] = ("[CLS]", "[SEP]")) -> Example:
    """An example of plain tokens, texts ending at separators."""
    text, segment = 0, []
    for token in tokens:
        segment.append(-1 if token in special else text)
        text += token == special[-1]
    return Example("made", tuple(tokens), segment=np.array(segment))


def _random(rng: np.random.Generator, example: Example, causal: bool) -> np.ndarray:
    cells = rng.gamma(0.3, size=(2, 3, example.size, example.size)) + 1e-9
    cells = np.tril(cells) if causal else cells
    weights: np.ndarray = cells / cells.sum(axis=-1, keepdims=True)
    return weights


def test_every_token_is_of_one_kind_and_marks_are_known_behind_any_boundary() -> None:
    tokens = ("[CLS]", "a", ".", "##,", "▁.", "Ġ,", "##", "...", "[SEP]", "b", "[SEP]")
    found = kinds(Example("x", tokens, segment=np.array([-1, *[0] * 7, -1, 1, -1])))
    assert tuple(found) == KINDS
    assert np.array_equal(sum(each.astype(int) for each in found.values()), np.ones(len(tokens)))
    assert np.flatnonzero(found["first"]).tolist() == [0]
    assert np.flatnonzero(found["separator"]).tolist() == [8, 10]
    assert np.flatnonzero(found["punctuation"]).tolist() == [2, 3, 4, 5]
    assert np.flatnonzero(kinds(Example("x", ("a", ";", "b")), ";")["punctuation"]).tolist() == [1]


def test_without_a_class_token_the_first_position_is_first_even_if_it_is_a_mark() -> None:
    found = kinds(Example("x", (".", "a", ",")))
    assert [np.flatnonzero(each).tolist() for each in found.values()] == [[0], [], [2], [1]]
    last = kinds(Example("x", ("a", "<sep>", "<cls>"), np.array([0, -1, -1]), first=np.array([0, 0, 1]) > 0))
    assert np.flatnonzero(last["first"]).tolist() == [2]
    assert np.flatnonzero(last["separator"]).tolist() == [1]


@pytest.mark.parametrize("marks", ["", ". ,", "abc", ".a"])
def test_marks_that_no_token_can_be_are_refused(marks: str) -> None:
    with pytest.raises(BadInput, match="one or more marks in one word"):
        kinds(Example("x", ("a",)), marks)


def test_all_marks_are_tokens_that_are_only_punctuation() -> None:
    found = kinds(Example("x", ("a", "l", "...", "?", "$", "Ġ,")), "all")
    assert np.flatnonzero(found["punctuation"]).tolist() == [2, 3, 5]


def test_masses_and_entropies_of_a_hand_made_head() -> None:
    example = _marked(["[CLS]", "a", ".", "[SEP]"])
    rows = [[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    found = {name: float(each[0, 0]) for name, each in surface_of(np.array([[rows]]), example).items()}
    assert tuple(found) == COLUMNS
    assert found["surface:first"] == pytest.approx((0.5 + 0.1 + 0.25) / 4)
    assert found["surface:separator"] == pytest.approx((0.4 + 0.25) / 4)
    assert found["surface:separator→separator"] == pytest.approx(0.25)
    assert found["surface:other→separator"] == pytest.approx(0.4 / 3)
    assert found["surface:punctuation"] == pytest.approx((0.3 + 0.25) / 4)
    assert found["surface:previous"] == pytest.approx((0.1 + 1 + 0.25) / 4)
    assert found["surface:next"] == pytest.approx((0.5 + 0.3) / 4)
    assert found["surface:self"] == pytest.approx((0.5 + 0.2 + 0 + 0.25) / 4)
    middle = -sum(each * np.log(each) for each in rows[1])
    assert found["surface:entropy"] == pytest.approx((np.log(2) + middle + 0 + np.log(4)) / 4)
    assert found["surface:entropy-first"] == pytest.approx(np.log(2))


def test_rows_of_special_tokens_of_a_hand_made_head() -> None:
    example = _marked(["[CLS]", "a", ".", "[SEP]", "b", "[SEP]"])
    rows = np.full((6, 6), 1 / 6)
    rows[0] = [0.3, 0.2, 0.1, 0.25, 0.05, 0.1]
    rows[3] = [0.4, 0.1, 0.05, 0.25, 0.15, 0.05]
    rows[5] = [0.1, 0.2, 0.05, 0.25, 0.3, 0.1]
    found = {name: float(each[0, 0]) for name, each in surface_of(rows[None, None], example).items()}
    assert found["surface:first→first"] == pytest.approx(0.3)
    assert found["surface:first→separator"] == pytest.approx(0.35)
    assert found["surface:first→text"] == pytest.approx(0.35)
    assert found["surface:separator→first"] == pytest.approx((0.4 + 0.1) / 2)
    assert found["surface:separator→self"] == pytest.approx((0.25 + 0.1) / 2)
    assert found["surface:separator→own-text"] == pytest.approx((0.15 + 0.3) / 2)
    assert found["surface:separator→other-text"] == pytest.approx((0.15 + 0.25) / 2)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_rows_of_special_tokens_are_divided_among_all_keys(seed: int, pair: bool) -> None:
    rng = np.random.default_rng(seed)
    example = made_example(rng, texts=1 + pair, words=5)
    attention = _random(rng, example, causal=False)
    found = {name: np.nan_to_num(each) for name, each in surface_of(attention, example).items()}
    of = kinds(example)
    for kind, keys in (
        ("first", ("first", "separator", "text")),
        ("separator", ("first", "separator", "own-text", "other-text")),
    ):
        if of[kind].any():
            total = np.sum([found[f"surface:{kind}→{key}"] for key in keys], axis=0)
            np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-12)
            diagonal = attention[..., of[kind], of[kind]].mean(axis=-1)
            own = found["surface:separator→self" if kind == "separator" else "surface:first→first"]
            np.testing.assert_allclose(own, diagonal, rtol=0, atol=1e-12)
    assert (found["surface:separator→other-text"] > 0).all() == (pair and bool(of["separator"].any()))


def test_a_separator_ends_the_text_before_it_and_a_leading_one_belongs_to_the_first_text() -> None:
    segment = np.array([-1, -1, 0, -1, -1, 1, 1, -1])
    separator = np.array([0, 1, 0, 1, 1, 0, 0, 1], dtype=np.bool_)
    assert own_text(segment, separator, segment >= 0).tolist() == [-1, 0, -1, 0, 0, -1, -1, 1]
    assert own_text(segment, separator, np.zeros(8, dtype=np.bool_)).tolist() == [-1] * 8


def test_the_golden_values_come_out(shared: Path) -> None:
    golden = np.load(shared / "golden" / "published.npz")
    about = json.loads((shared / "golden" / "published.json").read_text())["surface"]
    found = []
    single = np.zeros((2, 12, 12))
    for number, tokens in enumerate(about["tokens"]):
        attention = golden[f"surface_attention_{number}"]
        found.append(surface_of(attention.astype(np.float64), _marked(tokens), smoothing=SMOOTHING))
        rows = entropies(attention, SMOOTHING)  # in single precision, as the released code computes
        single += np.stack([rows.mean(axis=-1), rows[..., 0]]) / len(about["tokens"])
    mean = {name: np.mean([each[name] for each in found], axis=0) for name in COLUMNS}
    for name, key in RELEASED.items():
        np.testing.assert_allclose(mean[f"surface:{name}"], golden[f"surface_{key}"], rtol=0, atol=1e-12)
    released = np.stack([golden["surface_entropy"], golden["surface_entropy_cls"]])
    close = rounding_bound(max(len(tokens) for tokens in about["tokens"]), float(released.max()))
    np.testing.assert_allclose(single, released, rtol=0, atol=close)
    for name, key in (("entropy", "entropy"), ("entropy-first", "entropy_cls")):
        np.testing.assert_allclose(mean[f"surface:{name}"], golden[f"surface_{key}"], rtol=0, atol=close)
    even = np.mean([np.log(len(tokens)) for tokens in about["tokens"]])
    assert even == pytest.approx(about["uniform_entropy"], abs=close)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, SMOOTHING]))
def test_even_attention_gives_what_the_null_says(seed: int, causal: bool, smoothing: float) -> None:
    example = made_example(np.random.default_rng(seed), texts=1 + seed % 2, words=5)
    seen = np.tri(example.size, dtype=np.bool_) if causal else np.ones((example.size,) * 2, dtype=np.bool_)
    even = seen / seen.sum(axis=1, keepdims=True)
    here = lay_surface(example, seen, smoothing=smoothing)
    found = surface_of(even[None, None], example, visible=seen, smoothing=smoothing)
    values = np.array([found[name][0, 0] for name in COLUMNS])
    np.testing.assert_allclose(values, here.even, rtol=0, atol=1e-12)
    assert np.array_equal(np.isnan(values), np.isnan(here.plan.cells))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_scores_lie_within_their_bounds_and_entropies_below_the_even_line(seed: int, causal: bool) -> None:
    rng = np.random.default_rng(seed)
    example = made_example(rng, texts=1 + seed % 2, words=5)
    attention = _random(rng, example, causal)
    seen = np.tri(example.size, dtype=np.bool_) if causal else None
    here = lay_surface(example, seen)
    for column, (name, values) in enumerate(surface_of(attention, example, visible=seen).items()):
        if np.isnan(here.even[column]):
            assert np.isnan(values).all()
            continue
        assert (values >= here.plan.low[column] - 1e-9).all(), name
        assert (values <= here.plan.high[column] + 1e-9).all(), name
        assert here.plan.low[column] <= here.even[column] <= here.plan.high[column] + 1e-12
        if name in ENTROPIES:
            assert (values <= here.even[column] + 1e-9).all()


def test_what_leaves_no_choice_is_not_applicable() -> None:
    example = Example("x", tuple("abcd"))
    found = surface_of(_random(np.random.default_rng(0), example, causal=True), example)
    none = {name for name, each in found.items() if np.isnan(each).all()}
    assert none == {
        "surface:separator", "surface:separator→separator", "surface:other→separator", "surface:punctuation",
        "surface:next", "surface:entropy-first", *ROWS,
    }  # fmt: skip
    alone = surface_of(np.ones((1, 1, 1, 1)), Example("x", ("a",)))
    assert all(np.isnan(each).all() for each in alone.values())


def test_planted_heads_score_highest_where_they_look() -> None:
    example = made_example(np.random.default_rng(3), words=8)
    heads = np.stack([planted(example, kind) for kind in ("previous", "next", "separator", "even")])[None]
    found = surface_of(heads, example)
    for place, name in enumerate(("previous", "next", "separator")):
        assert found[f"surface:{name}"][0].argmax() == place
        assert found[f"surface:{name}"][0, place] > 0.9
    assert found["surface:entropy"][0].argmax() == 3


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.001, 0.5]))
def test_entropies_are_those_of_scipy_and_smoothing_is_a_mixture(seed: int, smoothing: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(6, 0.2), size=(2, 4))
    mixed = (1 - smoothing) * rows + smoothing / 6
    np.testing.assert_allclose(entropies(rows, smoothing), entropy(mixed, axis=-1), atol=1e-12)
    even = np.tri(6) / np.arange(1, 7)[:, None]
    wanted = entropies(even, smoothing)
    np.testing.assert_allclose(even_entropy(np.arange(1, 7), 6, smoothing), wanted, atol=1e-12)


def test_rules_ask_about_even_attention_and_say_that_entropy_cannot_exceed_it() -> None:
    made = rules(64)
    assert tuple(rule.sieve for rule in made) == COLUMNS
    assert all(rule.role and rule.margin == 0 for rule in made)
    assert all("even attention" in rule.question for rule in made)
    assert {rule.sieve for rule in made if "cannot lie above" in rule.question} == set(ENTROPIES)
    assert [rule.high for rule in made] == [1.0] * len(MASSES) + [np.log(64)] * len(ENTROPIES)


def test_known_heads_of_real_models_are_found(shared: Path) -> None:
    folder = shared / "data" / "head_attention"
    maps = [each for each in json.loads((folder / "index.json").read_text()) if each.get("part") == "self"]
    seen = {"gpt2": 0, "bert-base-uncased": 0}
    for each in maps:
        if each["model"] not in seen:
            continue
        seen[each["model"]] += 1
        attention = np.load(folder / each["file"])["attn"]
        found = headroles.surface_of(attention, _marked(each["queries"]))
        n = len(each["queries"])
        if each["model"] == "gpt2":
            assert found["surface:previous"][4, 11] > 0.997 * (n - 1) / n
            assert found["surface:previous"].argmax() == 4 * 12 + 11
            assert found["surface:first"].max() > 0.9
            assert np.isnan(found["surface:next"]).all()
        else:
            assert (found["surface:next"][2, [0, 9]] > 0.75 * (n - 1) / n).all()
            assert set(np.argsort(found["surface:next"].ravel())[-2:]) == {24, 33}
            onto = found["surface:first"] + found["surface:separator"]
            assert 0.55 < onto[5:10].mean() < 0.85
    assert seen == {"gpt2": 6, "bert-base-uncased": 4}


def test_arrays_that_are_no_attention_are_refused() -> None:
    with pytest.raises(BadInput, match="sums to 1"):
        surface_of(np.full((1, 1, 2, 2), 0.4), Example("x", ("a", "b")))
