"""Where roles come from in queries and keys: shared part, dimensions, rotations, directions, knock-outs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headroles.records import Decision, Knocked
from headroles.stats import (
    CORRECTIONS,
    METHODS,
    adjust,
    fewest_rotations,
    judge_origins,
    knockout_tests,
    removals_of,
    significant,
)
from tests.support.causal.products import ROLES, made_products, random_products, roles_of, with_worst

T, ALONE = Decision(test="t", correction="holm"), Decision(correction="none")
VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE = "vertical", "by query", "undetermined", "untestable"


def _judged(products: Any, decision: Decision = T, tested: int = 40, rotations: int = 199) -> tuple[Any, Any]:
    """Origins of all families, and their dimensions, a list for each family."""
    origins, dimensions = judge_origins(products, roles_of(products), tested, decision, rotations)
    size = len(dimensions) // max(len(origins), 1)
    return origins, [dimensions[size * family : size * (family + 1)] for family in range(len(origins))]


def _above(values: np.ndarray) -> np.ndarray:
    """Student's p of "the mean is at most 0", with three more units at the smallest."""
    return np.asarray(stats.ttest_1samp(with_worst(values), 0, alternative="greater").pvalue)


# The part that all queries share.


def test_shared_parts_are_tested_by_scipy_and_corrected_over_all_families() -> None:
    seen = set()
    for seed, family in enumerate(("sieve", "run", "layer")):
        products = random_products(seed, families=7)
        bias, vertical = products.bias.copy(), products.vertical.copy()
        vertical[:4, 2] = np.nan  # the contrast stays known
        products = replace(products, bias=bias, vertical=vertical)
        origins, _ = _judged(products, replace(T, family=family))
        whole = products.parts.sum(axis=2)
        known = np.where(np.arange(7) == 2, 4, 0)
        shared = [(2 * vertical - whole)[start:, k] for k, start in enumerate(known)]
        p = {
            side: [float(_above(sign * column)) for column in shared]
            for side, sign in (("vertical", 1), ("query", -1))
        }
        q = {side: multipletests(numbers, method="holm")[1] for side, numbers in p.items()}
        for k, origin in enumerate(origins):
            part, contrast = vertical[known[k] :, k], whole[known[k] :, k]
            ends = stats.ttest_1samp(whole[:, k], 0).confidence_interval(0.95)
            wanted = {
                "contrast": whole[:, k].mean(), "low": ends.low, "high": ends.high, "bias": bias[:, k].mean(),
                "share": part.mean() / contrast.mean(),
                **{f"p_{side}": p[side][k] for side in p}, **{f"q_{side}": q[side][k] for side in p},
            }  # fmt: skip
            found = {name: getattr(origin, name) for name in wanted}
            assert found == pytest.approx(wanted, rel=1e-3, abs=1e-9), k
            assert origin.share_low < origin.share < origin.share_high
            for end in (origin.share_low, origin.share_high):  # Fieller: where Student's t has p of 5 %
                assert stats.ttest_1samp(part - end * contrast, 0).pvalue == pytest.approx(0.05, abs=1e-6)
            claims = [
                name for name, q_of in ((VERTICAL, q["vertical"]), (BY_QUERY, q["query"])) if q_of[k] <= 0.05
            ]
            assert origin.verdict == (claims[0] if claims else UNDETERMINED)
            assert origin.count == 60
            seen.add(origin.verdict)
    assert seen == {VERTICAL, BY_QUERY, UNDETERMINED}


def test_what_cannot_be_divided_has_no_share_and_no_verdict() -> None:
    rng = np.random.default_rng(1)
    parts = rng.normal(size=(100, 5, 4))
    parts[:, 0] -= parts[:, 0].mean(axis=0) - 1e-3  # a contrast that is as good as 0
    parts[:, 1] -= 1.0
    parts[:, 2] = 1.0  # without spread
    parts[:, 3] += 1.0
    parts[19:, 3] = np.nan
    parts[:, 4] += 1.0
    vertical = np.full((100, 5), 5.0)
    vertical[:, 2], vertical[:, 4] = 3.0, np.nan
    origins, _ = _judged(made_products(parts, vertical))
    assert [origin.verdict for origin in origins] == [UNTESTABLE] * 5
    assert (origins[0].share_low, origins[0].share_high) == (-np.inf, np.inf)
    assert np.isnan([origins[k].share for k in range(5)]).tolist() == [False, True, False, False, True]
    assert origins[2].share == 0.75
    assert np.isnan([origins[2].share_low, origins[2].share_high, origins[2].p_vertical]).all()
    assert [origin.count for origin in origins] == [100, 100, 100, 19, 100]
    p = np.array([origin.p_vertical for origin in origins])
    assert np.isnan(p).tolist() == [False, False, True, False, True]  # 19 units stay in the correction
    known = ~np.isnan(p)
    q = multipletests(p[known], method="holm")[1]
    assert [origin.q_vertical for origin in np.array(origins)[known]] == pytest.approx(q)


def test_few_units_and_families_that_no_unit_measures_say_nothing() -> None:
    for units in (0, 1, 2, 19):
        origins, dimensions = _judged(random_products(5, units=units), Decision())
        for origin in origins:
            assert (origin.verdict, origin.few, origin.found) == (UNTESTABLE, UNTESTABLE, 0)
            assert origin.count == units
        assert np.isnan([test.p for tests in dimensions for test in tests]).all()
    products = random_products(6)
    parts, vertical = products.parts.copy(), products.vertical.copy()
    outer, redealt, bias = products.outer.copy(), products.redealt.copy(), products.bias.copy()
    parts[:, 1], vertical[:, 1], outer[1], redealt[1] = np.nan, np.nan, np.nan, np.nan
    unknown = replace(products, parts=parts, vertical=vertical, outer=outer, redealt=redealt)
    before, after = (_judged(one, ALONE)[0] for one in (products, unknown))
    assert (after[1].count, after[1].verdict, after[1].few, after[1].rank) == (0, UNTESTABLE, UNTESTABLE, -1)
    assert [after[k] for k in (0, 2, 3)] == [before[k] for k in (0, 2, 3)]
    parts, bias = products.parts.copy(), np.ones_like(bias)
    parts[:30], bias[:30] = np.nan, 7.0
    assert _judged(replace(products, parts=parts, bias=bias))[0][0].bias == 1.0  # of units that count
    assert _judged(made_products(np.zeros((5, 0, 4)))) == ((), [])


@pytest.mark.parametrize("test", [name for name, method in METHODS.items() if method.bounded is None])
def test_every_test_and_max_t_find_planted_parts_and_equal_seeds_give_equal_answers(test: str) -> None:
    rng = np.random.default_rng(2)
    parts = 1 + 0.1 * rng.normal(size=(40, 2, 3))
    products = made_products(parts, np.array([0.9, 0.1]) * parts.sum(axis=2))
    studentised = test in ("t-skew", "t", "bootstrap-t", "sign-flip")
    for correction in ("holm", "maxT") if studentised else ("holm",):
        decision = Decision(test=test, correction=correction, resamples=199)
        origins, dimensions = _judged(products, decision, tested=2)
        assert [origin.verdict for origin in origins] == [VERTICAL, BY_QUERY]
        assert np.isfinite([one.p for tests in dimensions for one in tests]).all()
        assert np.isfinite([origin.q_few for origin in origins]).all()
        assert repr(_judged(products, decision, tested=2)) == repr((origins, dimensions))
    other, _ = _judged(products, replace(decision, seed=1), tested=2)
    assert [origin.rotated for origin in other] != [origin.rotated for origin in origins]


# Dimensions.


@pytest.mark.parametrize("group", [None, [0, 1, 2, 0, 1, 2], [7, 7, 9, 9, 8, 8]])
def test_dimensions_or_pairs_are_tested_against_twice_their_fair_share(group: list[int] | None) -> None:
    products = random_products(0)
    parts, names = products.parts, [*range(6)] if group is None else sorted({*group})
    if group is not None:
        pairs = np.array(group)
        products = replace(products, group=pairs, free=np.zeros(6, dtype=np.bool_))
        parts = np.stack([parts[:, :, pairs == name].sum(axis=2) for name in names], axis=2)
    origins, dimensions = _judged(products)
    whole = products.parts.sum(axis=2)
    for family, tests in enumerate(dimensions):
        p = _above(parts[:, family] - 2 * whole[:, family, None] / len(names))
        q = multipletests(p, method="fdr_bh")[1]
        means, ends = (
            parts[:, family].mean(axis=0),
            stats.ttest_1samp(parts[:, family], 0).confidence_interval(),
        )
        columns = {
            "p": p,
            "q": q,
            "mean": means,
            "share": means / means.sum(),
            "low": ends.low,
            "high": ends.high,
        }
        for name, wanted in columns.items():
            assert [getattr(test, name) for test in tests] == pytest.approx(wanted, rel=1e-3, abs=1e-5), name
        assert [test.dimension for test in tests] == [*range(len(names))]
        assert {(round(test.level, 9), test.count) for test in tests} == {(0.005, 60)}
        assert [test.found for test in tests] == (q <= 0.05 * 4 / 40).tolist()
        assert origins[family].found == sum(test.found for test in tests)
    others = [replace(T, correction="fdr_by"), replace(T, family="run"), replace(T, family="layer")]
    assert all(_judged(products, other)[1] == dimensions for other in others)
    assert {test.level for test in _judged(products, tested=3)[1][0]} == {0.05}  # at most alpha


def test_planted_dimensions_are_found_and_removed_and_what_one_unit_carries_is_not() -> None:
    rng = np.random.default_rng(7)
    parts = 0.01 + 0.02 * rng.normal(size=(60, 4, 6))
    parts[:, 0, [2, 5]] += 1.0
    parts[:, 2, 4] += 1.0
    parts[:, 3] = 0.1
    parts[0, 3, 1] = 60.0
    left, right = (np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :2] for _ in range(2))
    outer = np.stack([left @ np.diag([3.0, 2.0]) @ right.T, *[np.eye(6) / 2] * 3])
    products = made_products(parts, outer=outer, redealt=np.full((4, 19), 1.0))
    origins, dimensions = _judged(products, tested=4)
    found = [[test.dimension for test in tests if test.found] for tests in dimensions]
    assert found == [[2, 5], [], [4], []]
    assert dimensions[3][1].share > 0.25
    removals = removals_of(products, origins, [test for tests in dimensions for test in tests])
    assert [(removal.family, removal.by) for removal in removals] == [
        (0, "dimensions"), (0, "subspace"), (2, "dimensions"),
    ]  # fmt: skip
    assert removals[0].basis.tolist() == np.eye(6)[:, [2, 5]].tolist()
    basis = removals[1].basis
    queries = rng.normal(size=(5, 2)) @ left.T
    assert basis.T @ basis == pytest.approx(np.eye(2))
    assert queries - queries @ basis @ basis.T == pytest.approx(np.zeros((5, 6)), abs=1e-12)

    pairs = made_products(
        0.01 + 0.02 * rng.normal(size=(60, 1, 6)) + [0, 1, 0, 0, 0, 0], group=np.array([3, 5, 7] * 2)
    )
    (removal,) = removals_of(pairs, *judge_origins(pairs, roles_of(pairs), 1, T))
    assert removal.basis.tolist() == np.eye(6)[:, [1, 4]].tolist()  # both dimensions of the pair
    few = random_products(9, units=19)
    origins, dimensions = _judged(few)
    assert max(origin.rank for origin in origins) > 0
    assert removals_of(few, origins, dimensions[0]) == ()


# Concentration on dimensions, against random bases.


def _of_outer(outer: np.ndarray, **more: Any) -> Any:
    """Products with these outer products, whose contrasts are above 0."""
    parts = 1 + 0.1 * np.random.default_rng(0).normal(size=(60, *outer.shape[:2]))
    return made_products(parts, outer=outer, **more)


def _ratio(parts: np.ndarray) -> np.ndarray:
    return np.asarray((parts**2).sum(axis=-1) ** 2 / (parts**4).sum(axis=-1))


def _turned(outer: np.ndarray, rotations: int, seed: int) -> np.ndarray:
    """Ratios of the diagonals of O M Oᵀ (families, rotations), O the product of a drawn and the own basis."""
    size = outer.shape[1]
    drawn = np.random.default_rng([seed, 22]).normal(size=(rotations, size, size))
    turns = np.linalg.qr(drawn)[0]
    found = []
    for matrix in outer:
        _, own = np.linalg.eigh((matrix + matrix.T) / 2)
        turn = turns @ own.T
        found.append(_ratio(((turn @ matrix) * turn).sum(axis=2)))
    return np.array(found)


@pytest.mark.parametrize(
    ("families", "size", "rotations"),
    [(7, 3, 199), (2, 7, 999), pytest.param(1, 100, 430, marks=pytest.mark.ci)],
)
def test_p_counts_rotations_at_least_as_concentrated(families: int, size: int, rotations: int) -> None:
    outer = np.random.default_rng(size).normal(size=(families, size, size)) + np.diag(np.arange(size) / 2.0)
    origins, _ = _judged(_of_outer(outer), rotations=rotations)
    own, random = _ratio(np.diagonal(outer, axis1=1, axis2=2)), _turned(outer, rotations, 0)
    p = (1 + (random <= own[:, None] * (1 + 1e-9)).sum(axis=1)) / (1 + rotations)
    assert [origin.participation for origin in origins] == pytest.approx(own)
    assert [origin.rotated for origin in origins] == pytest.approx(np.median(random, axis=1))
    assert [origin.p_few for origin in origins] == pytest.approx(p)
    q = multipletests(p, method="holm")[1]
    assert [origin.q_few for origin in origins] == pytest.approx(q)
    assert [origin.few for origin in origins] == [
        "few neurons" if each <= 0.05 else "as rotated" for each in q
    ]
    if size > 7:
        return
    haar = stats.ortho_group.rvs(size, size=rotations, random_state=2)  # the same law by another library
    theirs = _ratio(np.diagonal(haar @ outer[0] @ haar.swapaxes(1, 2), axis1=1, axis2=2))
    assert stats.ks_2samp(random[0], theirs).pvalue > 1e-3


def test_ratios_know_no_scale_no_sign_and_no_other_family_and_equal_ones_count() -> None:
    outer = np.random.default_rng(3).normal(size=(4, 5, 5))
    outer[2], outer[3] = np.diag([0, 0, 3.0, 0, 0]), np.eye(5)
    whole, _ = _judged(_of_outer(outer), ALONE, rotations=999)
    assert [whole[2].participation, whole[2].p_few, whole[2].few] == [1, 1 / 1000, "few neurons"]
    assert [whole[3].participation, whole[3].rotated, whole[3].p_few, whole[3].few] == [
        pytest.approx(5), pytest.approx(5), 1, "as rotated",
    ]  # fmt: skip
    for factor in (0.3, 1e-12, 7e8):
        for k in range(4):
            (alone,) = _judged(_of_outer(factor * outer[[k]]), ALONE, rotations=999)[0]
            assert (alone.p_few, alone.participation) == pytest.approx(
                (whole[k].p_few, whole[k].participation)
            )


def test_fixed_bases_and_unknown_products_are_untestable() -> None:
    outer = np.random.default_rng(12).normal(size=(4, 4, 4))
    means = np.diagonal(outer, axis1=1, axis2=2)
    partly = replace(_of_outer(outer), free=np.array([False, False, True, True]))
    pairs = replace(partly, group=np.array([0, 1, 0, 1]))
    for fixed, ratio in ((partly, _ratio(means)), (pairs, _ratio(means[:, :2] + means[:, 2:]))):
        for origin, wanted in zip(_judged(fixed)[0], ratio, strict=True):
            assert (origin.few, origin.participation) == (UNTESTABLE, pytest.approx(wanted))
            assert np.isnan([origin.rotated, origin.p_few, origin.q_few]).all()
    outer[0], outer[1, 2, 2] = 0.0, np.nan
    origins, _ = _judged(_of_outer(outer))
    assert np.isnan([origin.p_few for origin in origins]).tolist() == [True, True, False, False]
    assert [origin.few for origin in origins[:2]] == [UNTESTABLE] * 2
    assert UNTESTABLE not in {origin.few for origin in origins[2:]}
    assert {origin.few for origin in _judged(_of_outer(outer), rotations=0)[0]} == {UNTESTABLE}


def test_the_fewest_rotations_are_those_with_which_one_smallest_p_passes() -> None:
    for correction in (*CORRECTIONS, "maxT"):
        for families in (1, 7, 163):
            decision = Decision(correction=correction)
            least = fewest_rotations(families, decision)
            for count in (least, least - 1) if correction != "fdr_tsbh" else ():
                p = np.ones(families)
                p[0] = 1 / (count + 1)
                q = adjust(p, "holm" if correction == "maxT" else correction, decision.alpha)
                assert bool(significant(q, decision.alpha, p)[0]) == (count == least), (correction, families)
    assert fewest_rotations(163, Decision(correction="none")) == 19
    assert fewest_rotations(0, Decision()) == 0


# Directions beyond distance.


def test_directions_are_singular_values_beyond_those_of_redeals() -> None:
    rng = np.random.default_rng(3)
    for redeals, place in ((18, 0), (19, 1), (20, 1), (39, 2), (99, 5)):
        outer = rng.normal(size=(3, 6, 6))
        values = np.linalg.svd(outer)[1]
        redealt = rng.uniform(0.2, 0.9, size=(3, redeals)) * values[:, :1]
        redealt[2, 0] = np.nan
        for k, origin in enumerate(_judged(_of_outer(outer, redealt=redealt))[0]):
            assert origin.strongest == pytest.approx(values[k, 0])
            if place and k < 2:
                point = np.sort(redealt[k])[-place]
                assert (origin.expected, origin.rank) == (pytest.approx(point), (values[k] > point).sum())
            else:
                assert (np.isnan(origin.expected), origin.rank) == (True, -1)
    stored = values[:, :1].astype(np.float32).repeat(19, axis=1)  # a role that is its own re-deal
    origins, _ = _judged(_of_outer(outer.astype(np.float32).astype(float), redealt=stored))
    assert [origin.rank for origin in origins] == [0, 0, 0]
    outer[1], outer[2] = np.nan, 0.0
    origins, _ = _judged(_of_outer(outer, redealt=np.full((3, 19), 1e-3)))
    assert [origin.rank for origin in origins] == [6, -1, 0]
    assert np.isnan([origin.strongest for origin in origins]).tolist() == [False, True, False]


# Scores after removals.


def _knocked(
    after: np.ndarray, by: Sequence[str] = (), scored: Sequence[str] = (), threshold: float = 0.3
) -> Any:
    rows, units = after.shape
    return Knocked(
        by=tuple(by) or ("subspace",) * rows,
        family=np.zeros(rows, dtype=np.int64),
        size=np.arange(rows) + 1,
        scored=tuple(scored) or (ROLES[0],) * rows,
        units=tuple(f"v{k}" for k in range(units)),
        before=after + 0.5,
        after=after,
        threshold=np.full(rows, threshold),
    )


def test_scores_after_removals_are_tested_on_both_sides_of_the_threshold_by_scipy() -> None:
    rng, products = np.random.default_rng(2), random_products(0)
    after = np.array([0.1, 0.5, 0.3, 0.27, 0.33, 0.1])[:, None] + 0.05 * rng.normal(size=(6, 60))
    by = ["subspace", "subspace", "dimensions", "subspace", "dimensions", "subspace"]
    scored = [ROLES[0], ROLES[1], ROLES[0], ROLES[0], ROLES[1], "induction"]
    knocked = _knocked(after, by, scored)
    before, holed = knocked.before.copy(), after.copy()
    before[3, :5], holed[3, 3:9] = np.nan, np.nan  # units count with a score before and after
    knocked = replace(knocked, before=before, after=holed)
    for decision in (T, replace(T, family="run")):
        found = knockout_tests(products, knocked, decision)
        for row, test in enumerate(found):
            known = slice(9 if row == 3 else 0, None)
            own, count = after[row, known], 51 if row == 3 else 60
            ends = stats.ttest_1samp(own, 0).confidence_interval(0.95)
            wanted = {
                "p_falls": float(_above(0.3 - own)), "p_holds": float(_above(own - 0.3)), "after": own.mean(),
                "before": own.mean() + 0.5, "low": ends.low, "high": ends.high, "threshold": 0.3,
            }  # fmt: skip
            assert {name: getattr(test, name) for name in wanted} == pytest.approx(wanted, rel=1e-3)
            assert (test.role, test.layer, test.head, test.removed) == (ROLES[0], 0, 0, row + 1)
            assert (test.by, test.scored, test.count) == (by[row], scored[row], count)
        for members in ([0, 3], [1, 5], [2], [4]):  # one removal; the role itself, or others
            for side in ("falls", "holds"):
                p, q = ([getattr(found[row], f"{letter}_{side}") for row in members] for letter in "pq")
                assert q == pytest.approx(multipletests(p, method="holm")[1], rel=1e-9)
        assert [test.verdict for test in found] == [
            "falls" if test.q_falls <= 0.05 else "holds" if test.q_holds <= 0.05 else UNDETERMINED
            for test in found
        ]
    assert [test.verdict for test in found[:3]] == ["falls", "holds", UNDETERMINED]


def test_few_units_and_scores_without_spread_are_untestable_after_removals() -> None:
    products, rng = random_products(4), np.random.default_rng(4)
    for units, verdict in ((0, UNTESTABLE), (1, UNTESTABLE), (19, UNTESTABLE), (20, "holds")):
        (found,) = knockout_tests(products, _knocked(rng.normal(0.6, 0.01, (1, units))), T)
        assert (found.verdict, found.count, np.isnan(found.p_holds)) == (verdict, units, units < 2)
    (found,) = knockout_tests(products, _knocked(np.full((1, 50), 0.5)), T)
    assert (found.verdict, found.after) == (UNTESTABLE, pytest.approx(0.5))
    assert knockout_tests(products, _knocked(np.zeros((0, 50))), T) == ()


# Error rates.


@pytest.mark.ci
def test_claims_at_the_boundary_err_in_at_most_alpha_of_families() -> None:
    rng, families = np.random.default_rng(7), 1000
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / families)
    rare = rng.gamma(1, size=(100, families)) * (rng.random((100, families)) < 0.05) - 0.05
    parts = 2 + 0.05 * rng.normal(size=(100, families, 1))
    for noise in (
        rng.normal(size=(100, families)),
        rng.gamma(2, size=(100, families)) - 2,
        2 * rare,
        -2 * rare,
    ):
        origins, _ = _judged(made_products(parts, (parts[:, :, 0] + noise) / 2), ALONE, rotations=0)
        for verdict in (VERTICAL, BY_QUERY):  # half of the contrast is shared
            assert np.mean([origin.verdict == verdict for origin in origins]) <= limit
    for a, b in ((4, 4), (2, 5)):
        knocked = _knocked(rng.beta(a, b, size=(families, 80)), threshold=a / (a + b))
        found = knockout_tests(random_products(6), knocked, ALONE)
        for verdict in ("falls", "holds"):
            assert 0.001 < np.mean([test.verdict == verdict for test in found]) <= limit
    means = np.where(np.arange(8) < 4, 0.25, 0.0)  # four dimensions at twice their fair share
    _, dimensions = _judged(made_products(means + 0.1 * rng.normal(size=(200, 400, 8))), Decision(), 400, 0)
    false = np.mean([any(test.found for test in tests) for tests in dimensions])
    assert false <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.ci
def test_random_bases_have_uniform_p_and_random_directions_are_found_in_5_percent() -> None:
    rng, families = np.random.default_rng(9), 600
    outer = rng.normal(size=(families, 6, 6)) * rng.gamma(1, size=(families, 1, 1))
    turns = stats.ortho_group.rvs(6, size=families, random_state=10)
    matrices = rng.standard_t(3, size=(families, 19, 6, 6))
    redealt = np.linalg.norm(matrices, ord=2, axis=(-2, -1))
    turned = turns @ outer @ turns.swapaxes(1, 2)
    p = np.array([origin.p_few for origin in _judged(_of_outer(turned), ALONE, families)[0]])
    for alpha in (0.05, 0.2, 0.5):
        assert abs((p <= alpha).mean() - alpha) <= 3.5 * np.sqrt(alpha * (1 - alpha) / families)
    drawn = rng.standard_t(3, size=(families, 6, 6))
    ranks = np.array(
        [origin.rank for origin in _judged(_of_outer(drawn, redealt=redealt), ALONE, rotations=0)[0]]
    )
    assert abs((ranks > 0).mean() - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / families)
