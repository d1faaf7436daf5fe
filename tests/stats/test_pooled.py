"""Pooled columns are ratios: their mean, error and tests are those of regressions clustered by unit."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Columns
from headroles.stats.engine import judge
from headroles.stats.methods.closed_form import student
from headroles.stats.moments import describe
from headroles.stats.pooled import pooled_unit_values
from tests.support.reference import draws

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=draws(30))


def _arcs(seed: int, documents: int = 25) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Right or wrong per arc, its sentence and document; and the document of each sentence."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(documents), rng.integers(1, 6, documents))
    sentence = np.repeat(np.arange(len(owner)), rng.integers(0, 9, len(owner)))
    level = rng.beta(2, 2, documents)
    right = (rng.random((len(sentence), 3)) < level[owner[sentence], None]).astype(float)
    return right, sentence, owner[sentence], owner


def _shares(right: np.ndarray, sentence: np.ndarray, sentences: int) -> tuple[np.ndarray, np.ndarray]:
    cells = np.bincount(sentence, minlength=sentences).astype(float)
    sums = np.zeros((sentences, right.shape[1]))
    np.add.at(sums, sentence, right)
    shares = np.full(sums.shape, np.nan)
    np.divide(sums, cells[:, None], out=shares, where=cells[:, None] > 0)
    return shares, cells


@quick
@given(seeds)
def test_mean_and_error_are_the_delete_one_jackknifes(seed: int) -> None:
    right, sentence, document, owner = _arcs(seed)
    shares, cells = _shares(right, sentence, len(owner))
    sample = describe(pooled_unit_values(shares, cells, owner))
    documents = np.unique(document)
    without = np.array([right[document != each].mean(axis=0) for each in documents])
    count = len(documents)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    assert (sample.count == count).all()
    np.testing.assert_allclose(sample.mean, right.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(sample.sd / np.sqrt(count), error, rtol=1e-9, atol=1e-12)


@quick
@given(seeds)
def test_the_error_is_that_of_a_weighted_regression_with_hc3_errors_but_for_its_centre(seed: int) -> None:
    right, _, document, _ = _arcs(seed)
    whole, sizes = _shares(right, document, document.max() + 1)
    held = sizes > 0
    whole, sizes = whole[held], sizes[held]
    sample = describe(pooled_unit_values(whole, sizes, np.arange(len(sizes))))
    for head in range(right.shape[1]):
        fitted = sm.WLS(whole[:, head], np.ones(len(sizes)), weights=sizes).fit(cov_type="HC3")
        leverage = sizes / sizes.sum()
        moved = sizes * fitted.resid / (1 - leverage) / sizes.sum()
        variance = (len(sizes) - 1) / len(sizes) * (fitted.bse[0] ** 2 - moved.sum() ** 2 / len(sizes))
        assert sample.mean[head] == pytest.approx(fitted.params[0])
        assert sample.sd[head] ** 2 / len(sizes) == pytest.approx(variance, rel=1e-8, abs=1e-15)


@quick
@given(seeds)
def test_with_equal_units_it_is_a_regression_clustered_by_document(seed: int) -> None:
    rng = np.random.default_rng(seed)
    right = (rng.random((24 * 7, 2)) < 0.4).astype(float)
    document = np.repeat(np.arange(24), 7)
    whole, sizes = _shares(right, document, 24)
    sample = describe(pooled_unit_values(whole, sizes, np.arange(24)))
    outcome = student(sample, 0.5)
    for head in range(2):
        fitted = sm.OLS(right[:, head], np.ones(len(right))).fit(
            cov_type="cluster", cov_kwds={"groups": document, "use_correction": True}, use_t=True
        )
        assert sample.sd[head] / np.sqrt(24) == pytest.approx(fitted.bse[0])
        assert outcome.statistic[head] == pytest.approx((fitted.params[0] - 0.5) / fitted.bse[0])
        assert (outcome.low[head], outcome.high[head]) == pytest.approx(tuple(fitted.conf_int()[0]))


@quick
@given(seeds)
def test_a_unit_of_many_examples_is_that_of_their_cells_taken_together(seed: int) -> None:
    right, sentence, document, owner = _arcs(seed)
    shares, cells = _shares(right, sentence, len(owner))
    whole, sizes = _shares(right, document, owner.max() + 1)
    split = pooled_unit_values(shares, cells, owner)
    np.testing.assert_allclose(split, pooled_unit_values(whole, sizes, np.arange(len(sizes))), atol=1e-12)


def test_equal_units_keep_their_plain_means() -> None:
    values = np.random.default_rng(0).random((12, 4))
    pooled = pooled_unit_values(values, np.full(12, 7.0), np.arange(12))
    np.testing.assert_allclose(pooled, values, atol=1e-12)


def test_units_without_cells_are_left_out() -> None:
    values = np.array([[0.5], [np.nan], [1.0]])
    pooled = pooled_unit_values(values, np.array([2.0, np.nan, 2.0]), np.arange(3))
    assert np.isnan(pooled[1, 0])
    assert np.nanmean(pooled) == pytest.approx(0.75)


def _scores(seed: int, documents: int, level: float, heads: int) -> tuple[Scores, list[Rule]]:
    """Heads whose accuracy over all arcs equals the baseline's plus ``level``, documents of unequal size."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, 40, documents).astype(float)
    drawn = rng.beta(4, 4, (documents, 1, heads))
    base = rng.binomial(cells.astype(int), 0.4) / cells
    hits = (
        rng.binomial(cells.astype(int)[:, None, None], np.clip(drawn - 0.1 + level, 0, 1))
        / cells[:, None, None]
    )
    scores = Scores(
        sieves=("r",),
        examples=tuple(map(str, range(documents))),
        units=tuple(map(str, range(documents))),
        tokens=np.ones(documents, dtype=np.int64),
        cells=cells[None],
        values=hits[None].astype(np.float32),
        null=base[None],
    )
    return scores, [Rule("r", margin=level, pooled=True)]


@pytest.mark.parametrize(("documents", "limit"), [(15, 0.066), (60, 0.062)])
def test_heads_at_the_margin_are_called_beyond_at_about_the_level(documents: int, limit: float) -> None:
    wrong = []
    for seed in range(250):
        scores, rules = _scores(seed, documents, 0.0, 20)
        found = judge(scores, rules, Decision(test="t", correction="none"))
        wrong.append([(found.p[0] <= 0.05).mean(), (found.p_not[0] <= 0.05).mean()])
    role, not_role = np.mean(wrong, axis=0)
    assert 0.03 < role < limit
    assert 0.03 < not_role < limit


def test_the_null_of_a_pooled_column_is_pooled_too() -> None:
    scores, rules = _scores(3, 20, 0.0, 2)
    (column,) = Columns(scores, rules)
    base = (scores.null[0] * scores.cells[0]).sum() / scores.cells[0].sum()
    np.testing.assert_allclose(column.null, base)
