"""Divergences between heads are those of scipy and of the released figures, whatever the layout."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.spatial.distance import jensenshannon

from headroles.extraction.jobs import divergence
from headroles.extraction.jobs.divergence import LATER, device_sums, logarithm, pair_divergences
from tests.support.reference import draws, rounding_bound


def _attention(seed: int, heads: int, tokens: int, *, sharp: float = 2.0) -> np.ndarray:
    """Random rows (heads, tokens, tokens) in float64; the first and the last head each have zeros."""
    rng = np.random.default_rng(seed)
    cells = np.exp(sharp * rng.normal(size=(heads, tokens, tokens)))
    cells[[0, -1]] *= np.maximum(rng.random((2, tokens, tokens)) < 0.5, np.eye(tokens, dtype=np.bool_))
    rows: np.ndarray = cells / cells.sum(axis=-1, keepdims=True)
    return rows


def _plain(attention: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    """The same by scipy, pair by pair."""
    mixed = (1 - smoothing) * attention + smoothing / attention.shape[-1]
    pairs = zip(*np.triu_indices(len(mixed), 1), strict=True)
    return np.array([(jensenshannon(mixed[i], mixed[j], axis=1) ** 2).sum() for i, j in pairs])


@settings(max_examples=draws(40))
@given(
    seed=some.integers(0, 2**32 - 1),
    heads=some.integers(2, LATER + 5),
    tokens=some.integers(1, 12),
    smoothing=some.sampled_from([0.0, 0.001, 0.3]),
)
def test_every_pair_is_what_scipy_says(seed: int, heads: int, tokens: int, smoothing: float) -> None:
    attention = _attention(seed, heads, tokens)
    wanted = _plain(attention, smoothing)
    found = pair_divergences(torch.from_numpy(attention), smoothing=smoothing)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    single = pair_divergences(torch.from_numpy(attention.astype(np.float32)), smoothing=smoothing)
    np.testing.assert_allclose(single, wanted, rtol=1e-5, atol=tokens * rounding_bound(tokens))


def test_many_cells_and_threads_add_up_to_the_same(shared_cells: torch.Tensor) -> None:
    wanted = _plain(shared_cells.numpy())
    one = pair_divergences(shared_cells)
    np.testing.assert_allclose(one, wanted, rtol=1e-12)
    np.testing.assert_array_equal(pair_divergences(shared_cells, threads=3), one)
    single = pair_divergences(shared_cells.float())
    np.testing.assert_allclose(single, wanted, rtol=2e-6)
    np.testing.assert_array_equal(pair_divergences(shared_cells.float(), threads=3), single)


@pytest.mark.parametrize("log", [(np.log, 1.0), (np.log2, np.log(2.0))])
def test_any_logarithm_gives_the_same(
    log: tuple[np.ufunc, float], shared_cells: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divergence, "logarithm", lambda kind: log)
    np.testing.assert_allclose(pair_divergences(shared_cells), _plain(shared_cells.numpy()), rtol=1e-12)


def test_the_logarithm_is_the_natural_one_where_numpy_has_no_wide_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"current": "AVX512_SKX"}
    monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda **asked: {"log2": {"ff": told}})
    assert logarithm(np.dtype(np.float32)) == (np.log2, np.log(2))
    told["current"] = "baseline(X86_V2)"
    assert logarithm(np.dtype(np.float32)) == (np.log, 1.0)
    monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda **asked: {})
    assert logarithm(np.dtype(np.float32)) == (np.log, 1.0)


@pytest.fixture(scope="module")
def shared_cells() -> torch.Tensor:
    """Attention of 6 heads over 70 tokens: three blocks of cells, the last one smaller."""
    return torch.from_numpy(_attention(1, 6, 70))


def test_a_device_sums_in_larger_blocks_to_the_same(
    shared_cells: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headroles.extraction.jobs.divergence.DEVICE_CELLS", 1000)
    monkeypatch.setattr("headroles.extraction.jobs.divergence.DEVICE_BLOCK", 2000)
    halves = shared_cells.flatten(1) / 2 + 2.0**-101
    sums = device_sums(halves)
    alone, (rows, columns) = sums.diagonal(), np.triu_indices(6, 1)
    found = (alone[rows] + alone[columns]) / 2 - sums[rows, columns]
    np.testing.assert_allclose(found, _plain(shared_cells.numpy()), rtol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.001])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_equal_heads_have_exactly_none(kind: torch.dtype, smoothing: float) -> None:
    attention = torch.from_numpy(_attention(2, 3, 50)).to(kind)
    doubled = torch.cat([attention, attention])
    found = pair_divergences(doubled, smoothing=smoothing, threads=2)
    rows, columns = np.triu_indices(6, 1)
    assert (found[columns == rows + 3] == 0).all()
    assert (found[columns != rows + 3] > 1).all()


def test_rows_that_share_no_key_have_the_most_there_is() -> None:
    eye = torch.eye(9)
    found = pair_divergences(torch.stack([eye, eye.roll(1, dims=1)]))
    np.testing.assert_allclose(found, 9 * np.log(2), rtol=1e-6)


@settings(max_examples=20)
@given(seed=some.integers(0, 2**32 - 1), order=some.permutations(range(7)))
def test_pairs_follow_heads_that_change_places(seed: int, order: list[int]) -> None:
    attention = torch.from_numpy(_attention(seed, 7, 6))
    square = np.zeros((7, 7))
    square[np.triu_indices(7, 1)] = pair_divergences(attention)
    square += square.T
    moved = pair_divergences(attention[order])
    np.testing.assert_allclose(moved, square[np.ix_(order, order)][np.triu_indices(7, 1)], rtol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.001])
def test_leaving_out_hidden_keys_changes_nothing(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.tril(_attention(3, 5, 60)) + 1e-9 * np.eye(60)
    causal = torch.from_numpy(cells / cells.sum(axis=-1, keepdims=True))
    seen: list[int] = []
    real = divergence.entropy_sums

    def counted(cells: np.ndarray, factor: float, floor: float, threads: int) -> np.ndarray:
        seen.append(cells.shape[1])
        return real(cells, factor, floor, threads)

    monkeypatch.setattr(divergence, "entropy_sums", counted)
    less = pair_divergences(causal, smoothing=smoothing)
    monkeypatch.setattr("headroles.extraction.jobs.divergence.SPARE", 1.0)
    everything = pair_divergences(causal, smoothing=smoothing)
    assert seen == [60 * 61 // 2, 60 * 60]
    np.testing.assert_allclose(less, everything, rtol=1e-12)
    np.testing.assert_allclose(less, _plain(causal.numpy(), smoothing), rtol=1e-11)


def test_weights_that_are_no_number_give_none() -> None:
    attention = torch.from_numpy(_attention(4, 3, 5))
    attention[1, 2, 2] = torch.nan
    assert np.isnan(pair_divergences(attention)).tolist() == [True, False, True]


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_released_sums_come_out(kind: torch.dtype, shared: Path) -> None:
    # The released script computed in float32, so its figures hold to that precision; the formula in
    # float64 is compared below.
    golden = np.load(shared / "golden" / "published.npz")
    inputs = [torch.from_numpy(golden[f"js_attention_{k}"]).flatten(0, 1).to(kind) for k in range(2)]
    found = sum(pair_divergences(each, smoothing=0.001) for each in inputs)
    wanted = golden["js_sum"][np.triu_indices(144, 1)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    if kind == torch.float64:
        double = np.sum([_released(each.numpy()) for each in inputs], axis=0)
        np.testing.assert_allclose(found, double[np.triu_indices(144, 1)], rtol=1e-12)


def _released(attention: np.ndarray) -> np.ndarray:
    """The released formula in the precision that comes, written out plainly."""
    smoothed = 0.001 / attention.shape[-1] + attention * 0.999
    rows = []
    for own in smoothed:
        mean = (own[None] + smoothed) / 2
        apart = own * np.log(own / mean) + smoothed * np.log(smoothed / mean)
        rows.append(apart.sum(axis=(1, 2)) / 2)
    return np.stack(rows)


@pytest.mark.slow
def test_the_benchmark_compares_what_is_equal() -> None:
    script = Path(__file__).parents[3] / "benchmarks" / "divergence.py"
    sizes = {"heads": 6, "many": 8, "inputs": 1, "tokens": 10, "threads": 1, "pairs": 1, "plain-heads": 3}
    words = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    speed, memory, first = (json.loads(line) for line in done.stdout.splitlines())
    assert speed["largest_difference"] < 2e-6
    assert speed["baseline"] == "float64 numpy loop over heads, 3 of 6 heads run and scaled"
    assert memory["peak_mb"] > 0
    assert (memory["heads"], memory["blocks"]) == (8, 64)
    assert {"compiled_s", "from_disk_s"} < set(first)
