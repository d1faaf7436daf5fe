"""The swap of layouts is 0 for what positions alone can do, on real layouts, and not for heads of texts."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example
from headroles.arrays import selection_of
from headroles.sieves.weights.reference import apply
from tests.fakes.layouts import read_layouts, read_pairs
from tests.fakes.positions import ORACLES, POSITIONS, PUNCTUATION, SENTENCES, Fake
from tests.support.planted import SAMPLES

TASKS = ("QNLI", "MRPC", "QQP")
MARGIN = 0.02
EXACT = 1e-12
NOISY = "own text, with noise"
PAIRED = replace(selection_of(["block"]), paired=True)

Layouts = tuple[list[Example], list[tuple[int, int]]]


def _layouts(task: str, origin: str, shared: Path | None) -> Layouts:
    if origin == "samples":
        return read_layouts(read_pairs(task, SAMPLES / f"{task}.tsv", 160))
    assert shared is not None
    return read_layouts(read_pairs(task, shared / "data" / "glue" / task / "dev.tsv", 256))


def _swaps(layouts: Layouts, fakes: Mapping[str, Fake]) -> dict[str, np.ndarray]:
    """Return the contrast of every pair of inputs for each fake."""
    examples, pairs = layouts
    column = PAIRED.columns.index("block:swap")
    parts = {}
    for place in sorted({place for pair in pairs for place in pair}):
        example = examples[place]
        attention = np.stack([fake(example) for fake in fakes.values()])
        parts[place] = apply(PAIRED.plan(example, None, np.float64), attention)[column]
    values = np.array([(parts[one] + parts[other]) / 2 for one, other in pairs])
    assert np.isfinite(values).all()
    return dict(zip(fakes, values.T, strict=True))


@pytest.mark.parametrize("origin", ["samples", "GLUE"])
@pytest.mark.parametrize("task", TASKS)
def test_no_function_of_positions_and_length_has_a_swap_contrast(
    task: str, origin: str, request: pytest.FixtureRequest
) -> None:
    layouts = _layouts(task, origin, request.getfixturevalue("shared") if origin == "GLUE" else None)
    assert len(layouts[1]) >= 20
    swaps = _swaps(layouts, {**POSITIONS, **PUNCTUATION, **SENTENCES, **ORACLES})
    for name in POSITIONS:
        assert np.abs(swaps[name]).max() < EXACT, name
    assert abs(swaps["next . ? or !"].mean()) < MARGIN / 4
    assert abs(swaps["next mark"].mean()) < MARGIN / 4
    assert swaps["word before the next end"].mean() > 0.3  # not closed: see docs/explanation/contrasts.md
    assert swaps["same sentence by its end"].mean() > 0.1
    assert swaps["own text"].mean() > 0.1
    np.testing.assert_allclose(swaps["half own text"], swaps["own text"] / 2, atol=1e-9)


def test_many_functions_of_positions_pass_the_contrast_beyond_distance() -> None:
    examples, _ = read_layouts(read_pairs("QNLI", SAMPLES / "QNLI.tsv", 160))
    column = PAIRED.columns.index("block:matched")
    scores = [
        apply(
            PAIRED.plan(example, None, np.float64), np.stack([fake(example) for fake in POSITIONS.values()])
        )[column]
        for example in examples
    ]
    beyond = np.mean(scores, axis=0) > MARGIN
    assert beyond.sum() >= 7  # which is why block does not rest on it


@pytest.mark.parametrize(("task", "origin"), [("QNLI", "samples"), ("MRPC", "GLUE"), ("QQP", "samples")])
def test_no_head_of_positions_or_marks_is_labelled_block_and_heads_of_texts_are(
    task: str, origin: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    oracles = {**ORACLES, NOISY: _noisy(ORACLES["own text"])}
    fakes = {**POSITIONS, **PUNCTUATION, **oracles}
    examples, pairs = _layouts(task, origin, request.getfixturevalue("shared") if origin == "GLUE" else None)
    maps = tmp_path / "fakes.npz"
    _write_maps(maps, examples, fakes)
    run = headroles.label(attention=maps, sieve=["block", "bag-of-words"])
    labels = dict(zip(fakes, run.labels()["roles"], strict=True))
    assert [name for name, roles in labels.items() if "block" in roles] == list(oracles)
    bags = [name for name, roles in labels.items() if "bag-of-words" in roles]
    assert bags == [NOISY]  # the others have constant scores, which no bound makes testable
    swap = run.scores.values[run.scores.sieves.index("block:swap"), :, 0]
    spoke = np.isfinite(swap).all(axis=1)
    assert np.flatnonzero(spoke).tolist() == sorted(min(pair) for pair in pairs)
    assert np.abs(swap[spoke, : len(POSITIONS)]).max() < 1e-6
    alone = len(examples) - 2 * len(pairs)
    assert (
        f"block is judged beyond position on {len(pairs)} pairs of inputs ({alone} of "
        f"{len(examples)} inputs have no partner)."
    ) in run.skipped


def test_heads_of_texts_stay_undetermined_where_few_pairs_carry_the_spread_of_the_swap(
    tmp_path: Path,
) -> None:
    # The guard asks for a spread carried by a quarter of the pairs below 60; here it is about four of 24.
    examples, pairs = _layouts("MRPC", "samples", None)
    swap = _swaps((examples, pairs), ORACLES)["own text"]
    carriers = sum((swap - swap.mean()) ** 2) ** 2 / sum((swap - swap.mean()) ** 4)
    assert carriers < len(pairs) / 4
    maps = tmp_path / "few.npz"
    _write_maps(maps, examples, ORACLES)
    run = headroles.label(attention=maps, sieve=["block"])
    found = run.findings
    at = found.of("block:swap")
    assert (found.low[at, 0] > MARGIN).all()  # the test alone would claim them
    np.testing.assert_array_equal(found.q[[found.of("block"), at], 0], 1.0)
    assert run.labels()["roles"].tolist() == [""] * len(ORACLES)


def test_where_layouts_do_not_vary_block_is_judged_beyond_distance_and_the_run_says_so(
    tmp_path: Path,
) -> None:
    maps = tmp_path / "fixed.npz"
    segment = np.array([-1, *[0] * 6, -1, *[1] * 6, -1])
    names = [tuple(f"w{number}.{place}" for place in range(len(segment))) for number in range(30)]
    examples = [Example(f"fixed/{number}", tokens, segment=segment) for number, tokens in enumerate(names)]
    _write_maps(maps, examples, {NOISY: _noisy(ORACLES["own text"])})
    run = headroles.label(attention=maps, sieve=["block"])
    (rule,) = [rule for rule in run.findings.rules if rule.role]
    assert rule.contrast == "block:matched"
    assert np.isnan(run.scores.values[run.scores.sieves.index("block:swap")]).all()
    assert (
        "the layouts of these inputs hardly vary, so block is judged beyond distance only. 0 pairs of inputs "
        "have equal lengths and different boundaries; 10 are needed."
    ) in run.skipped
    assert run.labels()["roles"].tolist() == ["block"]


def test_one_example_by_itself_has_no_swap() -> None:
    examples, pairs = read_layouts(read_pairs("QNLI", SAMPLES / "QNLI.tsv", 160))
    example = examples[pairs[0][0]]
    attention = np.full((1, 1, example.size, example.size), 1 / example.size)
    assert set(headroles.score(attention, example, ["block"])) == {"block", "block:matched"}


def _noisy(fake: Fake) -> Fake:
    """Multiply the attention of a fake by noise, so that scores differ between inputs."""
    rng = np.random.default_rng(9)

    def noisy(example: Example) -> np.ndarray:
        cells = fake(example) * rng.gamma(4.0, 0.25, (example.size, example.size)) + 1e-3
        rows: np.ndarray = cells / cells.sum(axis=1, keepdims=True)
        return rows

    return noisy


def _write_maps(file: Path, examples: list[Example], fakes: Mapping[str, Fake]) -> None:
    """Write the attention of fakes, the heads of one layer, as maps with their list."""
    arrays: dict[str, Any] = {
        str(number): np.stack([fake(example) for fake in fakes.values()]).astype(np.float32)[None]
        for number, example in enumerate(examples)
    }
    np.savez(file, **arrays)
    rows = [
        {"tokens": list(example.tokens), "attns": str(number), "segment": example.segment.tolist()}
        for number, example in enumerate(examples)
    ]
    file.with_suffix(".json").write_text(json.dumps(rows))
