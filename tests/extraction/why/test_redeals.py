"""Re-deals keep the number of cells at every offset, and stay among visible keys of the family's rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.why.redeals import contrast_weights, contrasted_rows, redeal
from headroles.extraction.why.singular import largest_singular


def _made(seed: int, tokens: int, share: float, causal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells and visible keys in the rows that have both sorts of keys, and these rows."""
    generator = np.random.default_rng(seed)
    cells = generator.random((tokens, tokens)) < share
    visible = np.tri(tokens, dtype=bool) if causal else generator.random((tokens, tokens)) < 0.8
    rows = contrasted_rows(cells, visible)
    return (cells & visible)[rows], visible[rows], rows


def _offsets(cells: np.ndarray, rows: np.ndarray) -> list[int]:
    """Offsets of all cells, sorted."""
    row, key = np.nonzero(cells)
    return sorted((key - rows[row]).tolist())


@given(
    seed=st.integers(0, 2**32), tokens=st.integers(1, 14), share=st.floats(0.02, 0.9), causal=st.booleans()
)
def test_re_deals_keep_offsets_and_stay_among_visible_keys(
    seed: int, tokens: int, share: float, causal: bool
) -> None:
    cells, visible, rows = _made(seed, tokens, share, causal)
    redeals = list(redeal(cells, visible, rows, 4, np.random.default_rng(seed)))
    assert len(redeals) == 4
    for again in redeals:
        assert again.shape == cells.shape
        assert not (again & ~visible).any()
        assert _offsets(again, rows) == _offsets(cells, rows)


@pytest.mark.parametrize("room", [1, 2**26])
def test_every_row_that_sees_the_key_gets_a_cell_equally_often(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headroles.extraction.why.redeals.ROOM", room)
    cells = np.zeros((6, 8), dtype=bool)
    cells[[1, 2], [0, 1]] = True  # both one key back, from rows 1 and 2
    visible = np.ones((6, 8), dtype=bool)
    visible[4, 3] = False
    redeals = list(redeal(cells, visible, np.arange(6), 4000, np.random.default_rng(0)))
    share = np.mean(redeals, axis=0)
    expected = np.zeros((6, 8))
    expected[[1, 2, 3, 5], [0, 1, 2, 4]] = 2 / 4
    np.testing.assert_allclose(share, expected, atol=5 * np.sqrt(0.25 / 4000))


def test_draws_do_not_depend_on_how_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, visible, rows = _made(3, 20, 0.2, causal=True)
    together = list(redeal(cells, visible, rows, 7, np.random.default_rng(1)))
    monkeypatch.setattr("headroles.extraction.why.redeals.ROOM", 1)
    alone = list(redeal(cells, visible, rows, 7, np.random.default_rng(1)))
    np.testing.assert_array_equal(together, alone)
    assert not np.array_equal(together[0], together[1])


def test_previous_tokens_have_nowhere_else_to_go() -> None:
    for causal in (False, True):
        cells = np.eye(12, k=-1, dtype=bool)
        visible = np.tri(12, dtype=bool) if causal else np.ones((12, 12), dtype=bool)
        rows = contrasted_rows(cells, visible)
        for again in redeal(cells[rows], visible[rows], rows, 5, np.random.default_rng(0)):
            np.testing.assert_array_equal(again, cells[rows])


@given(seed=st.integers(0, 2**32), tokens=st.integers(1, 12), share=st.floats(0.02, 0.98))
def test_weights_of_keys_give_the_mean_difference_of_means(seed: int, tokens: int, share: float) -> None:
    generator = np.random.default_rng(seed)
    visible = generator.random((tokens, tokens)) < 0.7
    cells = visible & (generator.random((tokens, tokens)) < share)
    logits = generator.normal(size=(tokens, tokens))
    rows = [
        logits[i, cells[i]].mean() - logits[i, visible[i] & ~cells[i]].mean()
        for i in range(tokens)
        if cells[i].any() and (visible[i] & ~cells[i]).any()
    ]
    weights = contrast_weights(cells, visible)
    assert contrasted_rows(cells, visible).size == len(rows)
    if rows:
        assert (weights * logits).sum() == pytest.approx(np.mean(rows), abs=1e-12)
    else:
        assert np.isnan(weights).all()


@given(seed=st.integers(0, 2**32), size=st.integers(1, 9))
def test_largest_singular_values_are_those_of_numpy(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    total = generator.normal(size=(3, 4, size, size)).astype(np.float32)
    total[0, 1] = np.outer(total[0, 1, 0], total[0, 1, 0])
    total[1, 2, 0, 0] = np.nan
    total[2, 3] = 0
    found = largest_singular(total)
    assert np.isnan(found[1, 2])
    known = ~np.isnan(found)
    assert known.sum() == 11
    wanted = np.linalg.svd(np.nan_to_num(total).astype(np.float64), compute_uv=False)[..., 0]
    np.testing.assert_allclose(found[known], wanted[known], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("shared", "least", "most"), [(False, 0.0, 0.1), (True, 0.5, 1.0)])
def test_the_null_is_that_each_query_chooses_its_own_key(shared: bool, least: float, most: float) -> None:
    """A random key that all queries share passes: re-deals average over many keys, the role over one."""
    generator = np.random.default_rng(4)
    inputs, tokens, heads, size, redeals = 10, 16, 8, 4, 19
    visible, rows = np.ones((tokens, tokens), dtype=bool), np.arange(tokens)
    found = []
    for _ in range(12):
        total = np.zeros((heads, redeals + 1, size, size))
        for _ in range(inputs):
            queries = 1 + generator.normal(size=(heads, tokens, size))
            keys = generator.normal(size=(heads, tokens, size))
            cells = np.zeros((tokens, tokens), dtype=bool)
            cells[rows, generator.integers(tokens, size=1 if shared else tokens)] = True
            dealt = [cells, *redeal(cells, visible, rows, redeals, generator)]
            for place, own in enumerate(dealt):
                total[:, place] += queries.swapaxes(1, 2) @ (contrast_weights(own, visible) @ keys)
        largest = largest_singular(total)
        found.append((largest[:, 0] > largest[:, 1:].max(axis=1)).mean())
    assert least <= np.mean(found) <= most
