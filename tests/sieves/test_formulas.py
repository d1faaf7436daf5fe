"""Scores of sieves are their formulas: by hand, cell by cell on random examples, and at their bounds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from headroles import Arc, Cells, Example, score
from headroles.arrays import selection_of
from headroles.sieves import BUILT_IN, ON_REQUEST, PATTERNS
from tests.sieves import oracle
from tests.sieves.oracle import BEYOND, MASKS, Case, cases
from tests.support.reference import draws

few = settings(max_examples=draws(20))
ANY = [*MASKS, "bag-of-words"]
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
CUT = replace(SINGLE, arcs=(*(SINGLE.arcs or ()), Arc(1, 7, "nsubj"), Arc(9, 0, "obj")))
"""The same with arcs to words that were cut off."""
NOTHING = float("nan")
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
    (CUT, SINGLE_ROWS, "syntactic", (1 / 3 - 5 / 18) / (13 / 18)),
    (CUT, SINGLE_ROWS, "syntactic:nsubj", (0.3 - 1 / 3) / (2 / 3)),
    (CUT, SINGLE_ROWS, "syntactic:obj", (0.4 - 1 / 3) / (2 / 3)),
    # Own text a: 0.7 and 0.6 of 0.8 and 0.8 on both texts; b: 0.4 of 0.6. Each text one half, chances 2/3 and
    # 1/3: (0.65 + 0.4) / 2 - (2/3 * 0.8 + 1/3 * 0.6) / 2, over 1 - 1/2.
    (PAIR, PAIR_ROWS, "block", 0.65 + 0.4 - 2 / 3 * 0.8 - 1 / 3 * 0.6),
    (PAIR, PAIR_ROWS, "delimiter:sep", ((0.1 + 0 + 0.4) / 3 - 1 / 3) / (2 / 3)),
    # Nothing to say: every key within two of a1 and a2 is all of their text, as for b1; one text; no arcs.
    (PAIR, PAIR_ROWS, "local", NOTHING),
    (SINGLE, SINGLE_ROWS, "block", NOTHING),
    (SINGLE, SINGLE_ROWS, "block:matched", NOTHING),
    (SINGLE, SINGLE_ROWS, "bag-of-words", NOTHING),
    (SINGLE, SINGLE_ROWS, "syntactic:advmod", NOTHING),
    (SINGLE, SINGLE_ROWS, "syntactic:advmod:matched", NOTHING),
]


def test_scores_of_six_tokens_are_those_worked_out_by_hand() -> None:
    for example, rows, column, wanted in BY_HAND:
        found = score(rows[None, None], example, [column.removesuffix(":matched")])[column].item()
        assert found == pytest.approx(wanted, abs=1e-12, nan_ok=True), (example.key, column)


@few
@given(cases)
def test_selectivity_and_bias_of_every_sieve_are_their_formulas_and_bounds_hold(case: Case) -> None:
    example, visible, rng = oracle.made(case)
    one_key = rng.random((4, *visible.shape)) * visible
    one_key = (one_key == one_key.max(axis=2, keepdims=True)).astype(np.float64)
    heads = np.concatenate([oracle.random_heads(rng, visible), one_key])
    selection = replace(selection_of(ANY), stated=True)
    plan = selection.plan(example, visible, np.float64)
    long = selection.long_plan(example, Cells(visible))
    found = score(heads[None], example, ANY, visible=visible)
    wanted = {name: oracle.role_scores(name, example, heads, visible) for name in MASKS}
    for name in BEYOND:
        column = f"{name}:key" if name in oracle.KEYED else f"{name}:matched"
        wanted[column] = oracle.beyond_scores(name, example, heads, visible)
    assert found.keys() == wanted.keys() | {"bag-of-words"}
    for column, outcome in wanted.items():
        np.testing.assert_allclose(found[column][0], outcome.scores, rtol=1e-9, atol=1e-9, err_msg=column)
        at, limits = selection.columns.index(column), (outcome.low, outcome.high, outcome.cells)
        for laid in (plan, long):
            given = laid.low[at], laid.high[at], laid.cells[at]
            np.testing.assert_allclose(given, limits, atol=1e-12, err_msg=column)
        low, high = selection.bounds[column]
        stays = outcome.low >= low - 1e-9 and outcome.high <= high + 1e-9
        for least, most in ((outcome.low, outcome.high), *([(low, high)] if stays else [])):
            assert not ((outcome.scores < least - 1e-6) | (outcome.scores > most + 1e-6)).any(), column
    bias = score(heads[None], example, ANY, visible=visible, statistic="bias")
    biased = selection_of(ANY, statistic="bias")
    ways = biased.plan(example, visible, np.float64), biased.long_plan(example, Cells(visible))
    for name in MASKS:
        outcome = oracle.role_scores(name, example, heads, visible, bias=True)
        np.testing.assert_allclose(bias[name][0], outcome.scores, rtol=1e-9, atol=1e-9, err_msg=name)
        at = biased.columns.index(name)
        for laid in ways:
            np.testing.assert_allclose((laid.low[at], laid.high[at]), (outcome.low, outcome.high), atol=1e-12)
    bag = oracle.bag_scores(example, heads, visible)
    np.testing.assert_allclose(found["bag-of-words"][0], bag, atol=1e-10)
    assert not (bag > 1 + 1e-12).any()


def test_sieves_state_bounds_before_any_data_where_they_can() -> None:
    named = [*BUILT_IN, *PATTERNS, *ON_REQUEST]
    selection = replace(selection_of(named), stated=True, paired=True)
    usual = {"matched": (-1.0, 1.0), "key": (-2.0, 2.0), "swap": (-2.0, 2.0), "class": (-1.3, 1.3)}
    wanted = {column: usual.get(column.rpartition(":")[2], (-0.5, 1.0)) for column in selection.columns}
    wanted |= dict.fromkeys(("local", "block"), (-1.0, 1.0))
    wanted |= dict.fromkeys(("block:matched", "bag-of-words:matched"), (-2.0, 2.0))
    wanted |= {
        "syntactic:class": (-1.2, 1.2),
        "parked:values": (-1.0, 0.5),
        "bag-of-words": (NOTHING, NOTHING),
    }
    assert selection.bounds.keys() == wanted.keys()
    for column, bounds in wanted.items():
        assert selection.bounds[column] == pytest.approx(bounds, nan_ok=True), column
    rules = {rule.sieve: rule for rule in selection.rules()}
    for column, rule in rules.items():
        assert (rule.stated_low, rule.stated_high) == pytest.approx(wanted[column], nan_ok=True)
        assert np.isnan(rule.stated_low) or rule.stated_low < rule.margin < rule.stated_high
    assert all(np.isnan(rule.stated_low) for rule in selection_of(named).rules())
    bias = replace(selection_of(["local"], statistic="bias"), stated=True)
    assert np.isnan(bias.bounds["local"]).all()


def test_the_block_contrast_of_four_tokens_is_that_worked_out_by_hand() -> None:
    # Texts ab and c, one token apart from each other by a separator: offsets 0 (aa, bb, cc), 1 (ab), -1 (ba),
    # 3 (ac), 2 (bc), -3 (ca), -2 (cb). f(0) = (0.2 + 0.4 + 0.6) / 3 = 0.4, f(1) = 0.3, f(3) = 0.1,
    # f(-1) = 0.1, f(2) = 0.2, f(-2) = 0.2, f(-3) = 0.1; rows on R: 0.6, 0.7, 0.9.
    # E own: a 0.6 * 0.7 / 0.8, b 0.7 * 0.5 / 0.7, c 0.9 * 0.4 / 0.7; A own: a 0.5, b 0.5, c 0.6.
    # Both texts weigh one, so the queries of ab weigh a half each.
    rows = np.zeros((6, 6))
    rows[:, 0] = 1
    rows[1] = [0.4, 0.2, 0.3, 0.0, 0.1, 0.0]
    rows[2] = [0.2, 0.1, 0.4, 0.1, 0.2, 0.0]
    rows[4] = [0.1, 0.1, 0.2, 0.0, 0.6, 0.0]
    example = Example("four", tuple("[ab|c]"), segment=np.array([-1, 0, 0, -1, 1, -1]))
    expected = [0.42 / 0.8, 0.5, 0.36 / 0.7]
    wanted = ((0.5 - expected[0]) + (0.5 - expected[1])) / 2 + (0.6 - expected[2])
    found = score(rows[None, None], example, ["block"])["block:matched"].item()
    assert found == pytest.approx(wanted, abs=1e-12)


LAID_OUT = [("one piece", np.float32), ("pieces", np.float32), ("gaps", np.float64)]


@pytest.mark.parametrize(("words", "kind"), LAID_OUT)
def test_long_inputs_of_many_heads_are_summed_as_the_formulas_say(
    words: str, kind: type[np.floating[Any]]
) -> None:
    # 79 tokens and 20 heads: more than one block of rows, of cells and of heads; "gaps" has 26 runs of words.
    rng = np.random.default_rng(5)
    segment = np.array([-1, *[0] * 36, -1, *[1] * 40, -1])
    word = np.where(segment < 0, -1, np.cumsum(segment >= 0) - 1)
    word = np.where(segment < 0, -1, word // 2) if words == "pieces" else word
    word = np.where(np.arange(79) % 3 == 2, -1, word) if words == "gaps" else word
    pairs = rng.choice(np.unique(word[word >= 0]), (30, 2))
    arcs = tuple(Arc(int(one), int(other), "obj") for one, other in pairs if one != other)
    example = Example("long", ("w",) * 79, segment=segment, word=word, arcs=arcs)
    heads = oracle.random_heads(rng, oracle.seen(79, "every"), 20).astype(kind)
    exact, visible = heads.astype(np.float64), oracle.seen(79, "every")
    found = score(heads[None], example, ["local", "block", "syntactic"])
    close = 1e-6 if kind == np.float32 else 1e-11
    for name in ("local", "block", "syntactic"):
        wanted = oracle.role_scores(name, example, exact, visible).scores
        np.testing.assert_allclose(found[name][0], wanted, rtol=0, atol=close)
    for name in ("block", "syntactic"):
        wanted = oracle.beyond_scores(name, example, exact, visible).scores
        size = np.maximum(np.abs(wanted), 1)
        np.testing.assert_allclose(found[f"{name}:matched"][0] / size, wanted / size, rtol=0, atol=4 * close)
        assert found[name].dtype == np.float64


def test_in_cross_attention_offsets_do_not_reach_the_other_stack() -> None:
    # A decoder's three tokens, then an encoder's four; every query is the decoder's.
    stack = np.array([0, 0, 0, 1, 1, 1, 1])
    example = Example("joint", tuple("abcdefg"), stack=stack)
    names = ["next", "local", "first"]
    weight = selection_of(names).plan(example, None, np.float64).weight
    counted = {name: weight[row].reshape(7, 7) > 0 for row, name in enumerate(names)}
    assert [np.flatnonzero(row).tolist() for row in counted["next"]] == [[1], [2], [], [4], [5], [6], []]
    assert np.flatnonzero(counted["local"][2]).tolist() == [0, 1, 2]
    assert np.flatnonzero(counted["first"][1]).tolist() == [0, 3]
