"""What the cards of heads are made of: distributions of scores, and the examples that are shown."""

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records import Example, KeptMaps, Labelling, Rule, TypicalInput
from headroles.reports import cards_json, spreads_of, summarise, typical_inputs
from headroles.stats import judge
from tests.support.made_runs import made_run, made_scores

HOSTILE = "</script><b>x</b>\u202e😀"


def run_of(**options: Any) -> Labelling:
    """Return two roles and a contrast on two layers of two heads; heads 0-0 and 1-0 hold "s0", 0-1 "s1"."""
    chance = np.random.default_rng(2)
    level = np.array([[[0.5, -0.2], [0.5, -0.2]], [[-0.2, 0.6], [-0.2, -0.2]], [[0.4, 0.4], [0.4, 0.4]]])
    rules = [Rule("s0", contrast="s2"), Rule("s1"), Rule("s2", margin=0.02, role=False)]
    values = level[:, None] + chance.normal(0, 0.05, (3, 60, 2, 2))
    return replace(made_run(rules, values, facts={"number": 1}), **options)


def exhibited(*shown: tuple[str, int, int, int]) -> KeptMaps:
    """Return an exhibit per sieve, layer, head and rank; each has a map of its own of another example."""
    chance = np.random.default_rng(4)
    return KeptMaps(
        examples=tuple(
            Example(f"in/{number}", ("[CLS]", HOSTILE, f"w{number}")) for number in range(len(shown))
        ),
        places=np.array([(number, *each[1:3]) for number, each in enumerate(shown)], int).reshape(-1, 3),
        weights=tuple(chance.integers(0, 256, (3, 3), dtype=np.uint8) for _ in shown),
        exhibits=tuple(TypicalInput(*each, 0.25, number) for number, each in enumerate(shown)),
        left=0,
        limit=9,
    )


def inputs(run: Labelling) -> Any:
    """Return the typical inputs of a run as it is judged, and the heads that lost all their roles."""
    return typical_inputs(run, summarise(run))


def told(run: Labelling) -> Any:
    """Return what the script of the cards reads."""
    return json.loads(cards_json(run, summarise(run)))


def unpacked(text: str, kind: str = "u1") -> np.ndarray:
    """Return what the page's script makes of packed numbers."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def test_bins_and_quartiles_are_those_of_numpy() -> None:
    chance = np.random.default_rng(5)
    for rows, scale in ((1, 1.0), (2, 1e-3), (40, 3.0), (400, 0.2)):
        values = chance.normal(0, scale, (1, rows, 1, 3)).astype(np.float32)
        values[chance.random(values.shape) < 0.2] = np.nan
        found = spreads_of(made_scores(["s"], values), [0])
        for head in range(3):
            column = values[0, :, 0, head]
            column = column[~np.isnan(column)].astype(np.float64)
            assert found.scored[0, head] == len(column) == found.counts[0, head].sum()
            if not len(column):
                assert np.isnan(found.five[0, head]).all()
                continue
            wanted = np.quantile(column, [0, 0.25, 0.5, 0.75, 1])
            near = 0.5000001 * 10.0 ** -found.decimals[0]
            np.testing.assert_allclose(found.five[0, head], wanted, atol=near)
            inside = np.histogram(column.clip(found.edges[0, 0], found.edges[0, -1]), found.edges[0])[0]
            np.testing.assert_array_equal(found.counts[0, head], inside)


def test_scores_that_are_not_finite_are_left_out_and_many_inputs_counted_in_32_bits() -> None:
    empty = spreads_of(made_scores(["s"], np.full((1, 5, 1, 2), np.nan)), [0])
    assert np.isnan(empty.edges).all()
    assert not empty.counts.any()
    found = spreads_of(made_scores(["s"], np.array([np.inf, 0.0, 1.0, -np.inf]).reshape(1, 4, 1, 1)), [0])
    assert found.scored.tolist() == [[2]]
    assert found.five[0, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    for count, kind in ((65_535, "u2"), (65_536, "u4")):
        found = spreads_of(made_scores(["s"], np.zeros((1, count, 1, 1))), [0])
        assert (found.counts.max(), found.counts.dtype) == (count, np.dtype(kind))


def test_the_script_reads_the_counts_the_quartiles_and_the_edges_of_roles() -> None:
    run = run_of()
    read, spreads = told(run), spreads_of(run.scores, [0, 1])
    np.testing.assert_array_equal(unpacked(read["counts"], "<u2").reshape(2, 4, 24), spreads.counts)
    steps = unpacked(read["five"], "<u2").reshape(2, 4, 5)
    assert read["decimals"] == list(spreads.decimals) == [3, 3]
    np.testing.assert_allclose(spreads.edges[:, :1, None] + steps / 1000, spreads.five, atol=1e-9)
    assert unpacked(read["scored"], "<u4").tolist() == [60] * 8
    np.testing.assert_array_equal(read["edges"], spreads.edges)
    assert (read["inputs"], read["wide"], read["former"], read["specials"]) == (60, False, [], [0, 0])
    sentences = json.loads(unpacked(read["sentences"]).tobytes())
    assert sentences == [run.head(*divmod(cell, 2)).sentence for cell in range(4)]
    moved = replace(run.scores, sieves=("s2", "s0", "s1"), values=run.scores.values[[2, 0, 1]])
    rules = (run.findings.rules[2], *run.findings.rules[:2])
    behind = replace(run, scores=moved, findings=judge(moved, rules, run.decision))
    assert told(behind)["counts"] == read["counts"]


def _shown(found: Any) -> list[tuple[str, int, int, int]]:
    """Return sieve, layer, head and rank of the examples shown."""
    return [(each.sieve, each.layer, each.head, each.rank) for each in found.exhibits]


def test_examples_of_roles_that_are_held_are_shown_with_their_own_texts_and_maps() -> None:
    kept = exhibited(("s1", 0, 0, 1), ("s0", 0, 0, 1), ("s0", 0, 0, -1), ("gone", 0, 0, 1), ("s1", 0, 1, 1))
    found, _ = inputs(run_of(exhibited=kept))
    assert _shown(found) == [("s0", 0, 0, 1), ("s0", 0, 0, -1), ("s1", 0, 1, 1)]
    assert [each.key for each in found.examples] == ["in/1", "in/2", "in/4"]
    for each, source in zip(found.exhibits, (1, 2, 4), strict=True):
        np.testing.assert_array_equal(found.weights[each.map], kept.weights[source])
        assert found.examples[found.places[each.map, 0]].key == f"in/{source}"


def test_a_head_that_lost_its_roles_shows_their_most_typical_inputs_without_them() -> None:
    cells = np.eye(3, dtype=np.bool_)
    kept = exhibited(("s1", 1, 1, -1), ("s1", 1, 1, 2), ("s0", 1, 1, 1), ("s0", 0, 0, 1))
    run = run_of(exhibited=replace(kept, counted={(2, "s0"): cells, (3, "s0"): cells}))
    (found, former), read = inputs(run), told(run)
    assert _shown(found) == [("", 1, 1, 1), ("", 1, 1, 2), ("s0", 0, 0, 1)]
    assert [found.examples[place].key for place, _ in found.counted] == ["in/3"]
    assert former == (3,)
    assert [each[:4] for each in read["exhibits"]] == [[-1, 3, 1, None], [-1, 3, 2, None], [0, 0, 1, 0.25]]
    place, role, packed = read["counted"][0]
    assert (place, role) == (2, 0)
    bits = np.unpackbits(unpacked(packed), count=9)
    np.testing.assert_array_equal(bits.reshape(3, 3), cells)
    gained = exhibited(("s0", 1, 0, 1))
    unchosen = replace(gained.exhibits[0], sieve="", score=float("nan"))
    found, former = inputs(run_of(exhibited=replace(gained, exhibits=(unchosen,))))
    assert (_shown(found), former) == ([("", 1, 0, 1)], ())
