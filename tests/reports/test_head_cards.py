"""What the cards of heads are made of: distributions of scores, and the examples that are shown."""

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.records.example import Example, Scores
from headroles.records.findings import Labelling
from headroles.records.kept_maps import ANY_INPUT, KeptMaps, TypicalInput
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.page import page
from headroles.reports.sections.head_cards import Cards, cards_json, cards_of
from headroles.reports.summary.score_spread import BINS, decimals_of, edges_of, spreads_of
from headroles.reports.summary.summary import summarise
from headroles.stats.engine import judge
from tests.support.reference import draws

HOSTILE = "</script><b>x</b>\u202e😀"


def scores_of(values: np.ndarray, units: int = 0) -> Scores:
    """Scores of one example per row; ``units``: how many groups they are in, 0 for none."""
    sieves, examples = values.shape[:2]
    keys = tuple(f"e{number}" for number in range(examples))
    return Scores(
        sieves=tuple(f"s{number}" for number in range(sieves)),
        examples=keys,
        units=tuple(f"u{number % units}" for number in range(examples)) if units else keys,
        tokens=np.full(examples, 4),
        cells=np.full((sieves, examples), 3.0),
        values=values.astype(np.float32),
        null=np.zeros((sieves, examples)),
    )


def run_of(*, units: int = 0, **options: Any) -> Labelling:
    """Two roles and a contrast on two layers of two heads; heads 0-0 and 1-0 hold "s0", 0-1 "s1"."""
    chance = np.random.default_rng(2)
    level = np.array([[[0.5, -0.2], [0.5, -0.2]], [[-0.2, 0.6], [-0.2, -0.2]], [[0.4, 0.4], [0.4, 0.4]]])
    scores = scores_of(level[:, None] + chance.normal(0, 0.05, (3, 60, 2, 2)), units)
    rules = [Rule("s0", contrast="s2"), Rule("s1"), Rule("s2", margin=0.02, role=False)]
    findings = judge(scores, rules, Decision())
    return Labelling(scores, findings, Decision(), {"number": 1}, **options)


def exhibited(*shown: tuple[str, int, int, int], left: int = 0, limit: int = 9) -> KeptMaps:
    """An exhibit per sieve, layer, head and rank; each has a map of its own of another example."""
    examples = tuple(
        Example(f"in/{number}", ("[CLS]", HOSTILE, f"w{number}")) for number in range(len(shown))
    )
    chance = np.random.default_rng(4)
    return KeptMaps(
        examples=examples,
        places=np.array([(number, *each[1:3]) for number, each in enumerate(shown)], int).reshape(-1, 3),
        weights=tuple(chance.integers(0, 256, (3, 3), dtype=np.uint8) for _ in shown),
        exhibits=tuple(TypicalInput(*each, 0.25, number) for number, each in enumerate(shown)),
        left=left,
        limit=limit,
    )


def cards(run: Labelling) -> Cards:
    """The cards of a run."""
    return cards_of(run, summarise(run))


def unpacked(text: str) -> bytes:
    """What the page's script makes of packed bytes."""
    return zlib.decompress(base64.b64decode(text))


tables = st.integers(1, 40).flatmap(
    lambda rows: st.lists(
        st.one_of(st.floats(-3, 3, width=32), st.just(float("nan"))), min_size=rows * 3, max_size=rows * 3
    ).map(lambda values: np.array(values, dtype=np.float32).reshape(1, rows, 1, 3))
)


@settings(max_examples=draws(60))
@given(tables)
def test_bins_and_quartiles_are_those_of_numpy(values: np.ndarray) -> None:
    found = spreads_of(scores_of(values), [0])
    for head in range(3):
        column = values[0, :, 0, head]
        column = column[~np.isnan(column)].astype(np.float64)
        assert found.scored[0, head] == len(column) == found.counts[0, head].sum()
        if not len(column):
            assert np.isnan(found.five[0, head]).all()
            continue
        wanted = np.quantile(column, [0, 0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(found.five[0, head], wanted, atol=0.5000001 * 10.0 ** -found.decimals[0])
        inside = np.histogram(column.clip(found.edges[0, 0], found.edges[0, -1]), found.edges[0])[0]
        np.testing.assert_array_equal(found.counts[0, head], inside)


@given(st.floats(-1e6, 1e6, width=32), st.floats(0, 1e6, width=32))
def test_bins_cover_the_scores_and_little_more(low: float, width: float) -> None:
    high = low + width
    edges = edges_of(low, high)
    size = max(high - low, 1e-3 * max(abs(low), abs(high))) or 1.0
    assert len(edges) == BINS + 1
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= low + 1e-5 * size
    assert high - 1e-5 * size <= edges[-1]
    assert edges[-1] - edges[0] <= 1.21 * size


@given(st.floats(-1e6, 1e6, width=32), st.floats(0, 1e6, width=32))
def test_decimals_tell_a_range_finely_and_its_steps_fit_into_16_bits(low: float, width: float) -> None:
    high = low + width
    edges, step = edges_of(low, high), 10.0 ** -decimals_of(low, high)
    assert (edges[-1] - edges[0]) / step < 2**16
    assert step <= 0.0100001 * (max(width, 1e-3 * max(abs(low), abs(high))) or 1.0)


def test_a_column_without_scores_has_no_bins() -> None:
    found = spreads_of(scores_of(np.full((1, 5, 1, 2), np.nan)), [0])
    assert np.isnan(found.edges).all()
    assert not found.counts.any()


def test_infinite_scores_are_left_out() -> None:
    values = np.array([np.inf, 0.0, 1.0, -np.inf]).reshape(1, 4, 1, 1)
    found = spreads_of(scores_of(values), [0])
    assert found.scored.tolist() == [[2]]
    assert found.five[0, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_the_script_reads_the_counts_the_quartiles_and_the_edges_of_roles() -> None:
    run = run_of()
    told = json.loads(cards_json(cards(run)))
    spreads = spreads_of(run.scores, [0, 1])
    counts = np.frombuffer(unpacked(told["counts"]), dtype="<u2").reshape(2, 4, BINS)
    np.testing.assert_array_equal(counts, spreads.counts)
    steps = np.frombuffer(unpacked(told["five"]), dtype="<u2").reshape(2, 4, 5)
    assert told["decimals"] == list(spreads.decimals) == [3, 3]
    np.testing.assert_allclose(spreads.edges[:, :1, None] + steps / 1000, spreads.five, atol=1e-9)
    assert np.frombuffer(unpacked(told["scored"]), dtype="<u4").tolist() == [60] * 8
    np.testing.assert_array_equal(told["edges"], spreads.edges)
    assert told["inputs"] == 60


def test_a_role_behind_a_contrast_shows_its_own_scores() -> None:
    run = run_of()
    scores = replace(run.scores, sieves=("s2", "s0", "s1"), values=run.scores.values[[2, 0, 1]])
    rules = (run.findings.rules[2], *run.findings.rules[:2])
    moved = replace(run, scores=scores, findings=judge(scores, rules, Decision()))
    np.testing.assert_array_equal(cards(moved).spreads.counts, cards(run).spreads.counts)


def test_many_inputs_are_counted_in_32_bits() -> None:
    values = np.zeros((1, 70_000, 1, 1))
    found = spreads_of(scores_of(values), [0])
    assert found.counts.max() == 70_000


def test_what_the_mean_is_over_and_the_contrast_are_said() -> None:
    assert cards(run_of()).notes[1] == ""
    first, second = cards(run_of(units=52)).notes
    assert second == "The mean is over 52 groups of inputs; the bars count inputs."
    assert first == f"{second} The role also needs a contrast beyond 0.02, not drawn here."


def test_only_examples_of_roles_that_are_held_are_shown_and_only_their_texts() -> None:
    kept = exhibited(("s1", 0, 0, 1), ("s0", 0, 0, 1), ("s0", 0, 0, -1), ("gone", 0, 0, 1), ("s1", 0, 1, 1))
    found = cards(run_of(exhibited=kept)).exhibited
    assert found is not None
    shown = [(each.sieve, each.layer, each.head, each.rank) for each in found.exhibits]
    assert shown == [("s0", 0, 0, 1), ("s0", 0, 0, -1), ("s1", 0, 1, 1)]
    assert [each.key for each in found.examples] == ["in/1", "in/2", "in/4"]
    for each, source in zip(found.exhibits, (1, 2, 4), strict=True):
        np.testing.assert_array_equal(found.weights[each.map], kept.weights[source])
        assert found.examples[found.places[each.map, 0]].key == f"in/{source}"


def test_a_head_that_lost_its_roles_shows_their_most_typical_inputs_without_them() -> None:
    kept = exhibited(("s1", 1, 1, -1), ("s1", 1, 1, 2), ("s0", 1, 1, 1), ("s0", 0, 0, 1))
    cells = np.eye(3, dtype=np.bool_)
    kept = replace(kept, counted={(2, "s0"): cells, (3, "s0"): cells})
    found = cards(run_of(exhibited=kept))
    assert found.exhibited is not None
    shown = [(each.sieve, each.layer, each.head, each.rank) for each in found.exhibited.exhibits]
    assert shown == [(ANY_INPUT, 1, 1, 1), (ANY_INPUT, 1, 1, 2), ("s0", 0, 0, 1)]
    assert [found.exhibited.examples[place].key for place, _ in found.exhibited.counted] == ["in/3"]
    assert found.former == (3,)
    told = json.loads(cards_json(found))
    assert [each[:4] for each in told["exhibits"]] == [[-1, 3, 1, None], [-1, 3, 2, None], [0, 0, 1, 0.25]]
    place, role, packed = told["counted"][0]
    assert (place, role) == (2, 0)
    bits = np.unpackbits(np.frombuffer(unpacked(packed), dtype=np.uint8), count=9)
    np.testing.assert_array_equal(bits.reshape(3, 3), cells)


def test_a_head_that_gained_a_role_keeps_the_inputs_it_had_without_one() -> None:
    kept = exhibited(("s0", 1, 0, 1))
    unchosen = replace(kept.exhibits[0], sieve=ANY_INPUT, score=float("nan"))
    found = cards(run_of(exhibited=replace(kept, exhibits=(unchosen,))))
    assert found.exhibited is not None
    assert found.exhibited.exhibits == (replace(unchosen, score=found.exhibited.exhibits[0].score),)
    assert found.former == ()


def test_roles_about_special_tokens_are_known_by_their_cells() -> None:
    kept = exhibited(("s0", 0, 0, 1), ("s1", 0, 1, 1))
    examples = tuple(replace(each, special=np.array([True, False, False])) for each in kept.examples)
    first, last = np.zeros((3, 3), np.bool_), np.zeros((3, 3), np.bool_)
    first[:, 0], last[:, 2] = True, True
    marked = replace(kept, examples=examples, counted={(0, "s0"): first, (1, "s1"): last})
    assert cards(run_of(exhibited=marked)).specials == (True, False)
    assert cards(run_of(exhibited=replace(marked, counted={}))).specials == (False, False)


def test_the_sentences_of_a_thousand_heads_take_little_room() -> None:
    roles = [f"looks from words of kind {number} to their head" for number in range(20)]
    told = tuple(
        f"{cell // 32}-{cell % 32} {roles[cell % 20]} and {roles[cell % 7]}; {cell % 3} of 3 are stable."
        for cell in range(1024)
    )
    bare = replace(cards(run_of()), sentences=told)
    assert len(json.loads(cards_json(bare))["sentences"]) < 20_000


def test_a_map_of_two_roles_is_there_once() -> None:
    kept = exhibited(("s1", 0, 1, 1))
    both = replace(kept, exhibits=(*kept.exhibits, replace(kept.exhibits[0], rank=-1)))
    told = json.loads(cards_json(cards(run_of(exhibited=both))))
    assert len(told["maps"]) == 1
    assert [each[4] for each in told["exhibits"]] == [0, 0]


def test_examples_reach_the_script_as_bytes_and_packed_text() -> None:
    kept = exhibited(("s0", 1, 0, 1))
    told = json.loads(cards_json(cards(run_of(exhibited=kept))))
    assert told["exhibits"] == [[0, 2, 1, 0.25, 0]]
    assert unpacked(told["maps"][0]) == kept.weights[0].tobytes()
    (example,) = json.loads(unpacked(told["examples"]))
    assert example["key"] == "in/0"
    assert example["pieces"] == ["[CLS]", HOSTILE, "w0"]


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (None, "This run kept no examples; `--maps 1000` keeps them."),
        (exhibited(limit=0), "This run kept no examples; `--maps 1000` keeps them."),
        (exhibited(("s0", 0, 0, 1)), ""),
        (
            exhibited(("s0", 0, 0, 1), left=1),
            "1 more example of this run was not kept (limit: 9 attention maps and the bytes that a report "
            "has room for).",
        ),
    ],
)
def test_what_was_not_kept_is_said(kept: KeptMaps | None, told: str) -> None:
    assert cards(run_of(exhibited=kept)).kept == told


def test_a_run_that_was_to_keep_examples_and_did_not_points_to_the_reason() -> None:
    bare = run_of(exhibited=None)
    asked = replace(bare, manifest=dict(bare.manifest) | {"settings": {"maps": 1000}})
    assert cards(asked).kept.endswith("“What was left out” says why.")


def test_the_page_holds_the_card_and_its_data_and_is_the_same_twice() -> None:
    run = run_of(exhibited=exhibited(("s0", 0, 0, 1)))
    html = page(run)
    assert html == page(run)
    assert '<aside class="side" id="head-card" aria-labelledby="head-card-title" hidden>' in html
    assert 'id="head-1-1"' in html
    assert "<b>x</b>" not in html


def test_distributions_of_a_thousand_heads_under_twenty_sieves_take_little_room() -> None:
    chance = np.random.default_rng(1)
    level = chance.beta(0.4, 1.6, size=(20, 1, 32, 32))
    values = (level + chance.normal(0, 0.1, size=(20, 500, 32, 32))).clip(-1, 1)
    found = spreads_of(scores_of(values), range(20))
    bare = Cards(("s",) * 20, 32, 500, found, ("",) * 20, None, "")
    assert len(cards_json(bare)) < 800_000


def test_the_note_counts_the_groups_that_a_role_has_scores_of() -> None:
    whole = run_of(units=20)
    values = whole.scores.values.copy()
    values[0, np.arange(60) % 20 > 14] = np.nan
    values[1, np.arange(60) % 20 > 17, 0, 0] = np.nan
    scores = replace(whole.scores, values=values)
    found = judge(scores, whole.findings.rules, Decision())
    first, second = cards(replace(whole, scores=scores, findings=found)).notes
    assert first.startswith("The mean is over 15 groups of inputs; the bars count inputs.")
    assert second == "The mean is over at most 20 groups of inputs; the bars count inputs."
