"""Which examples head cards show, drawn by hand and for any scores and limits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.records.example import Example, Scores
from headroles.records.findings import Findings
from headroles.records.kept_maps import ANY_INPUT, LEAST_TYPICAL, MOST_TYPICAL, KeptMaps, WantedMaps
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.engine import judge
from headroles.storage.kept_maps import (
    LARGEST,
    RANKS,
    Candidate,
    candidates,
    choose_kept_maps,
    examples_by_hash,
    left_out_note,
    pack_map,
    rank_examples,
    wanted_by_example,
    wanted_maps,
)

Made = Callable[..., tuple[Scores, list[Rule]]]
NAN = float("nan")


@pytest.fixture(scope="module")
def judged(scores_of: Made) -> tuple[Findings, Scores]:
    scores, rules = scores_of(3)
    return judge(scores, rules, Decision()), scores


def _shown(found: list[Candidate], most: int, bound: int = LARGEST, size: int = 4) -> KeptMaps:
    """What is shown of candidates whose maps are noise, which does not compress."""
    chance = np.random.default_rng(0)
    places = wanted_maps(found, np.full(1000, size), most)
    maps = {place: chance.integers(0, 256, (size, size), dtype=np.uint8) for place in places}
    examples = {example: Example(f"x{example}", ("a",) * size) for example, _, _ in places}
    return choose_kept_maps(found, maps, examples, most, bound)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], []),
        ([NAN, NAN], []),
        ([0.5], [(1, 0)]),
        ([0.1, NAN, 0.7], [(1, 2), (2, 0)]),
        ([0.4, 0.1, 0.3, 0.2], [(1, 0), (2, 2), (3, 3), (-1, 1)]),
        ([0.2] * 7, [(1, 0), (2, 1), (3, 2), (-1, 3), (-2, 4)]),
        ([0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.9], [(1, 1), (2, 3), (3, 5), (-1, 0), (-2, 2)]),
        ([-np.inf, np.inf, 0.0, NAN], [(1, 1), (2, 2), (3, 0)]),
    ],
)
def test_the_highest_come_first_then_the_lowest_of_the_others(
    scores: list[float], expected: list[tuple[int, int]]
) -> None:
    assert rank_examples(np.array(scores, dtype=np.float32)) == expected


@given(st.lists(st.one_of(st.sampled_from([NAN, 0.0, 0.5]), st.floats(-1, 1, width=32)), max_size=12))
def test_any_scores_give_each_example_once_in_order(scores: list[float]) -> None:
    array = np.array(scores, dtype=np.float32)
    found = dict(rank_examples(array))
    scored = np.flatnonzero(~np.isnan(array))
    assert list(found) == [
        *RANKS[: min(MOST_TYPICAL, scored.size)],
        *RANKS[MOST_TYPICAL : max(MOST_TYPICAL, scored.size)],
    ]
    assert len(set(found.values())) == len(found) == min(scored.size, MOST_TYPICAL + LEAST_TYPICAL)
    highest = sorted(scored, key=lambda each: (-array[each], each))[:MOST_TYPICAL]
    assert [found[rank] for rank in RANKS[:MOST_TYPICAL] if rank in found] == highest
    others = sorted(set(scored.tolist()) - set(highest), key=lambda each: (array[each], each))
    assert [found[rank] for rank in RANKS[MOST_TYPICAL:] if rank in found] == others[:LEAST_TYPICAL]


def test_every_role_that_a_head_holds_has_its_five_examples_and_nothing_else_has(
    judged: tuple[Findings, Scores],
) -> None:
    findings, scores = judged
    found = candidates(findings, scores)
    roles = [findings.of(name) for name in findings.roles]
    held = {(findings.sieves[row], *head) for row, *head in np.argwhere(findings.decision == 0).tolist()}
    found = [each for each in found if each.sieve != ANY_INPUT]
    assert {each.sieve for each in found} <= set(findings.roles) < set(findings.sieves)
    assert len(held) == (findings.decision[roles] == 0).sum() > 3
    assert {(each.sieve, *each.place[1:]) for each in found} == held
    assert len(found) == 5 * len(held)
    for each in found:
        assert each.score == scores.values[scores.sieves.index(each.sieve)][each.place]


def test_rounds_go_rank_by_rank_and_roles_take_turns_with_their_strongest_heads(
    judged: tuple[Findings, Scores],
) -> None:
    findings, scores = judged
    found = candidates(findings, scores)
    assert [RANKS.index(each.rank) for each in found] == sorted(RANKS.index(each.rank) for each in found)
    first = [each for each in found if each.rank == 1]
    names = list(dict.fromkeys(each.sieve for each in first))
    assert [each.sieve for each in first[: len(names)]] == names
    assert len(names) > 1
    for name in names:
        means = [findings.mean[findings.of(name)][each.place[1:]] for each in first if each.sieve == name]
        assert means == sorted(means, reverse=True)


def test_heads_without_a_role_have_the_same_inputs_whatever_their_scores(scores_of: Made) -> None:
    scores, rules = scores_of(3)
    findings = judge(scores, [Rule(rule.sieve, margin=0.9, role=rule.role) for rule in rules], Decision())
    found = candidates(findings, scores)
    heads = scores.layers * scores.heads
    assert len(found) == MOST_TYPICAL * heads
    assert {each.sieve for each in found} == {ANY_INPUT}
    assert all(np.isnan(each.score) for each in found)
    by_rank = [{each.place[0] for each in found if each.rank == rank} for rank in (1, 2, 3)]
    assert [len(examples) for examples in by_rank] == [1, 1, 1]
    assert len({each.place for each in found}) == len(found)
    other = replace(scores, values=scores.values[:, ::-1])
    assert [each.place for each in candidates(findings, other)] == [each.place for each in found]


@given(st.lists(st.integers(1, 9), max_size=12))
def test_inputs_of_heads_without_a_role_are_short_and_do_not_depend_on_the_order(sizes: list[int]) -> None:
    keys = [f"x{number}" for number in range(len(sizes))]
    found = examples_by_hash(keys, np.array(sizes, dtype=int))
    assert len(found) == min(MOST_TYPICAL, sum(size <= np.median(sizes) for size in sizes))
    assert all(sizes[example] <= np.median(sizes) for example in found)
    turned = examples_by_hash(keys[::-1], np.array(sizes[::-1], dtype=int))
    assert [keys[::-1][example] for example in turned] == [keys[example] for example in found]


def test_heads_without_a_role_take_turns_with_the_roles(judged: tuple[Findings, Scores]) -> None:
    findings, scores = judged
    decision = findings.decision.copy()
    decision[:, 0] = 1
    findings = replace(findings, decision=decision)
    found = candidates(findings, scores)
    roles = [findings.of(name) for name in findings.roles]
    without = {tuple(place) for place in np.argwhere(~(findings.decision[roles] == 0).any(axis=0)).tolist()}
    assert without
    for rank in (1, 2, 3):
        own = [each for each in found if (each.sieve, each.rank) == (ANY_INPUT, rank)]
        assert {each.place[1:] for each in own} == without
    first = [each.sieve for each in found if each.rank == 1]
    assert first.index(ANY_INPUT) < len(findings.roles) + 1


def test_cells_are_wanted_of_the_roles_whose_maps_are() -> None:
    found = [*_candidates((4, 0, 1), (2, 0, 1)), *_candidates((4, 0, 1), sieve="block")]
    found.append(Candidate(ANY_INPUT, 1, NAN, (3, 1, 1)))
    wanted = wanted_by_example(found, [(4, 0, 1), (3, 1, 1)])
    assert wanted == {3: WantedMaps({1: [1]}, ()), 4: WantedMaps({0: [1]}, ("block", "local"))}
    cells = {(4, "local"): np.eye(4, dtype=np.bool_), (9, "local"): np.eye(4, dtype=np.bool_)}
    maps = {place: np.zeros((4, 4), np.uint8) for place in [(4, 0, 1), (3, 1, 1)]}
    examples = {number: Example(f"x{number}", ("a",) * 4) for number in (3, 4)}
    shown = choose_kept_maps(found, maps, examples, 9, counted=cells)
    assert {(shown.examples[place].key, name) for place, name in shown.counted} == {("x4", "local")}


def _candidates(*places: tuple[int, int, int], sieve: str = "local") -> list[Candidate]:
    return [Candidate(sieve, rank, 0.5, place) for rank, place in zip(RANKS, places, strict=False)]


def test_a_map_that_several_roles_share_is_kept_and_counted_once() -> None:
    found = _candidates((4, 0, 1), (2, 0, 1)) + _candidates((2, 0, 1), (4, 0, 1), sieve="block")
    shown = _shown(found, 2)
    assert shown.places.tolist() == [[0, 0, 1], [1, 0, 1]]
    assert [each.key for each in shown.examples] == ["x2", "x4"]
    assert [(each.sieve, each.rank, each.map) for each in shown.exhibits] == [
        ("local", 1, 1), ("local", 2, 0), ("block", 1, 0), ("block", 2, 1)
    ]  # fmt: skip
    assert (shown.left, left_out_note(shown)) == (0, [])
    assert [each.map for each in _shown(found, 1).exhibits] == [0, 0]
    assert _shown(found, 1).left == 2


def test_maps_stop_at_the_first_that_goes_beyond_the_bytes_compressed_or_not() -> None:
    found = _candidates((0, 0, 0), (1, 0, 0), (2, 0, 0))
    tokens = np.array([4, 20, 4])
    assert wanted_maps(found, tokens, 9, bound=16 + 400 + 16) == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    assert wanted_maps(found, tokens, 9, bound=16 + 400 + 15) == [(0, 0, 0), (1, 0, 0)]
    assert wanted_maps(found, tokens, 9, bound=16 + 399) == [(0, 0, 0)]
    assert wanted_maps(found, tokens, 9, bound=15) == []
    whole = _shown(found, 9, size=20)
    taken = [len(pack_map(each)) for each in whole.weights]
    assert len(taken) == 3
    for bound, kept in [(sum(taken), 3), (sum(taken) - 1, 2), (taken[0], 1), (taken[0] - 1, 0)]:
        shown = _shown(found, 9, bound, size=20)
        assert (len(shown.weights), len(shown.exhibits), shown.left) == (kept, kept, 3 - kept)
    (sentence,) = left_out_note(_shown(found, 9, taken[0], size=20))
    assert sentence.startswith("2 of 3 inputs chosen for heads are not on their panels: at most 9 ")


@given(most=st.integers(0, 90), bound=st.integers(0, 4000))
def test_any_limit_keeps_the_first_in_line_and_counts_the_rest(
    judged: tuple[Findings, Scores], most: int, bound: int
) -> None:
    findings, scores = judged
    found = candidates(findings, scores)
    shown = _shown(found, most, bound)
    kept = {
        (int(shown.examples[example].key[1:]), layer, head)
        for example, layer, head in shown.places.tolist()
    }  # fmt: skip
    line = list(dict.fromkeys(each.place for each in found))
    assert kept == set(line[: len(kept)])
    assert len(kept) <= most
    assert sum(len(pack_map(each)) for each in shown.weights) <= bound
    assert shown.left + len(shown.exhibits) == len(found)
    assert {each.map for each in shown.exhibits} == set(range(len(shown.weights)))
    order: Any = [(findings.of(e.sieve), e.layer, e.head, RANKS.index(e.rank)) for e in shown.exhibits]
    assert order == sorted(order)
