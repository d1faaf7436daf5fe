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

from headroles.extraction.jobs import divergence, pair_entropies
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


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("tokens", [5, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_that_are_no_number_give_none(kind: torch.dtype, tokens: int, threads: int) -> None:
    attention = torch.from_numpy(_attention(4, 3, tokens)).to(kind)
    attention[1, -1, 2] = torch.nan
    assert np.isnan(pair_divergences(attention, threads=threads)).tolist() == [True, False, True]


@pytest.mark.parametrize("weight", [torch.inf, 100.0])
def test_weights_that_are_no_attention_give_none_in_float32(weight: float) -> None:
    attention = torch.from_numpy(_attention(4, 3, 5)).float()
    attention[0, 2, 2] = weight
    assert np.isnan(pair_divergences(attention)).tolist() == [True, True, False]


def _kinds(tokens: int) -> np.ndarray:
    """Heads whose weights repeat: on one key, on all, on a part, on neighbours, and mostly on one key."""
    eye, rows = np.eye(tokens), np.zeros((4, tokens, tokens))
    rows[0, :, 0] = rows[1, :, -1] = 1
    rows[2, :, : -(-tokens // 2)] = rows[3, :, ::2] = 1
    sinks = [np.where(np.arange(tokens) == 0, share * tokens, 1.0) * np.ones((tokens, 1)) for share in (2, 9)]
    band = eye + np.roll(eye, 1, axis=1) + np.roll(eye, -1, axis=1)
    cells = np.stack([eye, np.roll(eye, 1, axis=1), *rows, *sinks, band, np.tri(tokens), np.ones_like(eye)])
    return np.concatenate([cells / cells.sum(axis=-1, keepdims=True), _attention(0, 2, tokens)])


@pytest.mark.parametrize("tokens", [2, 3, 5, 8, 16, 23, 32, 33, 48, 64, 100])
def test_weights_that_repeat_have_no_errors_that_add_up(tokens: int) -> None:
    attention = torch.from_numpy(_kinds(tokens)).float()
    found, wanted = pair_divergences(attention), pair_divergences(attention.double())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=6e-7 * tokens)


@settings(max_examples=draws(30))
@given(
    seed=some.integers(0, 2**32 - 1),
    tokens=some.integers(1, 40),
    sharp=some.sampled_from([0.0, 0.3, 2.0, 8.0]),
    smoothing=some.sampled_from([0.0, 0.001]),
)
def test_float32_is_near_float64(seed: int, tokens: int, sharp: float, smoothing: float) -> None:
    attention = torch.from_numpy(_attention(seed, 5, tokens, sharp=sharp)).float()
    found = pair_divergences(attention, smoothing=smoothing)
    wanted = pair_divergences(attention.double(), smoothing=smoothing)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-6 * tokens)
    np.testing.assert_allclose(found.mean(), wanted.mean(), rtol=0, atol=1e-6 * tokens)


def test_a_pair_is_the_same_whatever_heads_stand_beside_it() -> None:
    attention = torch.from_numpy(_attention(5, 11, 21)).float()
    square = np.zeros((11, 11))
    square[np.triu_indices(11, 1)] = pair_divergences(attention)
    for pair in ([0, 1], [3, 8], [7, 9], [0, 9]):  # heads 0 and 10 share cells of 0, which are left out
        assert pair_divergences(attention[pair]).item() == square[pair[0], pair[1]]


def test_lines_and_polynomial_are_the_logarithm() -> None:
    mantissa = np.linspace(1, 2, 100_001)
    powers = mantissa[:, None] ** [5, 4, 3, 2, 0]
    error = (powers @ pair_entropies._TERMS - mantissa * np.log2(mantissa)) / mantissa + mantissa - 1
    assert np.ptp(error) / 2 < 2.7e-6  # a constant cancels


def test_gains_shift_lanes_and_spans_by_all_shares_of_an_octave() -> None:
    shift = -np.log2(pair_entropies.made_gains().astype(np.float64))
    lanes, spans = np.sort(shift - shift[:, :1], axis=1) % 1, np.sort(shift[:, 0])
    np.testing.assert_allclose(np.sort(lanes, axis=1), np.arange(16) / 16 + np.zeros((256, 1)), atol=1e-6)
    assert np.diff(spans).max() < 2 / 256


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
