"""Where roles come from in queries and keys: shared part, dimensions, rotations, directions, knock-outs."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headroles.records import Decision, Knocked
from headroles.stats import (
    CORRECTIONS,
    adjust,
    fewest_rotations,
    judge_origins,
    knockout_tests,
    removals_of,
    significant,
)
from tests.support.causal.products import ROLES, made_products, random_products, roles_of
from tests.support.causal.students import student, with_further

T, ALONE = Decision(test="t", correction="holm"), Decision(correction="none")
VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE = "vertical", "by query", "undetermined", "untestable"
SIDES, VERDICTS = {"vertical": 1, "query": -1}, {"vertical": VERTICAL, "query": BY_QUERY}


def _judged(products: Any, decision: Decision = T, tested: int = 40, rotations: int = 199) -> tuple[Any, Any]:
    """Origins of all families, and their dimensions, a list for each family."""
    origins, dimensions = judge_origins(products, roles_of(products), tested, decision, rotations)
    size = len(dimensions) // max(len(origins), 1)
    places = [np.arange(size * family, size * (family + 1)) for family in range(len(origins))]
    return origins, [dimensions.take(place) for place in places]


def _above(values: np.ndarray) -> np.ndarray:
    """Student's p of "the mean is at most 0", with three more units at the smallest."""
    return np.asarray(student(with_further(values, -1)).p)


def _all(rows: Sequence[Any], name: str) -> np.ndarray:
    """One number of all rows."""
    return np.array([getattr(row, name) for row in rows])


def _shared(values: np.ndarray, references: np.ndarray) -> float:
    """The largest of Student's p and Welch's, which has the references' error: with three more of either."""
    moved = with_further(references, -1)
    further = values + moved.mean() - references.mean()
    welch = [
        stats.ttest_ind(own, other - other.mean(), equal_var=False, alternative="greater").pvalue
        for own, other in ((with_further(values, -1), references), (further, moved))
    ]
    return float(max(_above(values), *welch))


# The part that all queries share.


def test_shared_parts_are_tested_by_scipy_and_corrected_over_all_families() -> None:
    seen = set()
    for seed, family in enumerate(("sieve", "run", "layer")):
        products = random_products(seed, families=7)
        vertical = products.vertical.copy()
        vertical[:4, 2] = np.nan  # the contrast stays known
        origins, _ = _judged(replace(products, vertical=vertical), replace(T, family=family))
        whole = products.parts.sum(axis=2)
        shared = [column[~np.isnan(column)] for column in (2 * vertical - whole).T]
        p = {
            side: np.array([_shared(sign * own, 2 * sign * products.references[:, k])
                            for k, own in enumerate(shared)])
            for side, sign in SIDES.items()
        }  # fmt: skip
        q = {side: adjust(numbers, "holm") for side, numbers in p.items()}
        contrast = student(whole)
        wanted = {"contrast": contrast.mean, "low": contrast.low, "high": contrast.high, "count": [60] * 7}
        wanted |= {"bias": products.bias.mean(axis=0)}
        wanted |= {f"p_{side}": p[side] for side in p} | {f"q_{side}": q[side] for side in q}
        for name, numbers in wanted.items():
            np.testing.assert_allclose(_all(origins, name), numbers, rtol=1e-3, atol=1e-9, err_msg=name)
        for k, origin in enumerate(origins):
            known = ~np.isnan(vertical[:, k])
            part, of = vertical[known, k], whole[known, k]
            assert origin.share == pytest.approx(part.mean() / of.mean())
            assert origin.share_low < origin.share < origin.share_high
            error = products.references[:, k] - products.references[:, k].mean()
            freedom = stats.ttest_ind(part - origin.share * of, error, equal_var=False).df
            for end in (origin.share_low, origin.share_high):  # Fieller: where t has a p of 5 %
                t = stats.ttest_ind(part - end * of, error, equal_var=False).statistic
                assert 2 * stats.t.sf(abs(t), freedom) == pytest.approx(0.05, abs=1e-6)
            claims = [side for side in SIDES if q[side][k] <= 0.05]
            assert origin.verdict == (VERDICTS[claims[0]] if claims else UNDETERMINED)
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
    p, q = _all(origins, "p_vertical"), _all(origins, "q_vertical")
    assert np.isnan(p).tolist() == [False, False, True, False, True]
    np.testing.assert_allclose(q, adjust(p, "holm"))  # 19 units stay in the correction


def test_no_number_of_units_outweighs_few_reference_units() -> None:
    rng = np.random.default_rng(2)
    parts = 1 + 0.1 * rng.normal(size=(2000, 4, 4))
    vertical = parts.sum(axis=2) * 0.65
    spread = np.array([0.5, 0.5, 5.0, 0.5])
    many = vertical.mean(axis=0) + spread * rng.normal(size=(60, 4))
    verdicts = [
        [origin.verdict for origin in _judged(made_products(parts, vertical, references=references))[0]]
        for references in (many, many[:19])
    ]
    assert verdicts == [[VERTICAL, VERTICAL, UNDETERMINED, VERTICAL], [UNTESTABLE] * 4]


def test_few_units_and_no_families_say_nothing() -> None:
    for units in (0, 1, 2, 19):
        origins, dimensions = _judged(random_products(5, units=units), Decision())
        said = {(origin.verdict, origin.few, origin.found, origin.count) for origin in origins}
        assert said == {(UNTESTABLE, UNTESTABLE, 0, units)}
        assert np.isnan([test.p for tests in dimensions for test in tests]).all()
    assert [*map(len, _judged(made_products(np.zeros((5, 0, 4)))))] == [0, 0]


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
        own, p = student(parts[:, family]), _above(parts[:, family] - 2 * whole[:, [family]] / len(names))
        q = adjust(p, "fdr_bh")
        wanted = {
            "p": p, "q": q, "mean": own.mean, "share": own.mean / own.mean.sum(), "low": own.low,
            "high": own.high, "dimension": range(len(names)), "level": 0.005, "count": 60,
            "found": q <= 0.05 * 4 / 40,
        }  # fmt: skip
        for name, numbers in wanted.items():
            np.testing.assert_allclose(_all(tests, name), numbers, rtol=1e-3, atol=1e-5, err_msg=name)
        assert origins[family].found == sum(test.found for test in tests)
    others = [replace(T, correction="fdr_by"), replace(T, family="run"), replace(T, family="layer")]
    same = [[*map(list, _judged(products, other)[1])] for other in others]
    assert same == [[*map(list, dimensions)]] * 3
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
    removals = removals_of(products, origins, dimensions[0].joined(dimensions))
    assert [(removal.family, removal.by) for removal in removals] == [
        (0, "dimensions"), (0, "subspace"), (2, "dimensions"),
    ]  # fmt: skip
    assert removals[0].basis.tolist() == np.eye(6)[:, [2, 5]].tolist()
    basis = removals[1].basis
    queries = rng.normal(size=(5, 2)) @ left.T
    assert basis.T @ basis == pytest.approx(np.eye(2))
    assert queries - queries @ basis @ basis.T == pytest.approx(np.zeros((5, 6)), abs=1e-12)

    parts = 0.01 + 0.02 * rng.normal(size=(60, 1, 6)) + [0, 1, 0, 0, 0, 0]
    pairs = made_products(parts, group=np.array([3, 5, 7] * 2))
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


@pytest.mark.parametrize(("families", "size", "rotations"), [(7, 3, 199), (2, 7, 999)])
def test_p_counts_rotations_at_least_as_concentrated(families: int, size: int, rotations: int) -> None:
    outer = np.random.default_rng(size).normal(size=(families, size, size)) + np.diag(np.arange(size) / 2.0)
    origins, _ = _judged(_of_outer(outer), rotations=rotations)
    turns = np.linalg.qr(np.random.default_rng([0, 22]).normal(size=(rotations, size, size)))[0]
    drawn = []
    for matrix in outer:  # the diagonal of O M Oᵀ, where O is the product of a drawn and the own basis
        turn = turns @ np.linalg.eigh((matrix + matrix.T) / 2)[1].T
        drawn.append(_ratio(((turn @ matrix) * turn).sum(axis=2)))
    own, random = _ratio(np.diagonal(outer, axis1=1, axis2=2)), np.array(drawn)
    p = (1 + (random <= own[:, None] * (1 + 1e-9)).sum(axis=1)) / (1 + rotations)
    q = adjust(p, "holm")
    wanted = {"participation": own, "rotated": np.median(random, axis=1), "p_few": p, "q_few": q}
    for name, numbers in wanted.items():
        np.testing.assert_allclose(_all(origins, name), numbers, err_msg=name)
    assert _all(origins, "few").tolist() == np.where(q <= 0.05, "few neurons", "as rotated").tolist()


def test_ratios_know_no_scale_no_sign_and_no_other_family_and_equal_ones_count() -> None:
    outer = np.random.default_rng(3).normal(size=(4, 5, 5))
    outer[2], outer[3] = np.diag([0, 0, 3.0, 0, 0]), np.eye(5)
    whole, _ = _judged(_of_outer(outer), ALONE, rotations=999)
    assert [whole[2].participation, whole[2].p_few, whole[2].few] == [1, 1 / 1000, "few neurons"]
    assert [whole[3].participation, whole[3].rotated, whole[3].p_few, whole[3].few] == [
        pytest.approx(5), pytest.approx(5), 1, "as rotated",
    ]  # fmt: skip
    for k in range(4):
        (alone,) = _judged(_of_outer(7e8 * outer[[k]]), ALONE, rotations=999)[0]
        wanted = (whole[k].p_few, whole[k].participation)
        assert (alone.p_few, alone.participation) == pytest.approx(wanted)


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
    assert [origin.few == UNTESTABLE for origin in origins] == [True, True, False, False]
    assert {origin.few for origin in _judged(_of_outer(outer), rotations=0)[0]} == {UNTESTABLE}


def test_the_fewest_rotations_are_those_with_which_one_smallest_p_passes() -> None:
    for correction, families in product({*CORRECTIONS, "maxT"} - {"fdr_tsbh"}, (1, 7, 163)):
        least = fewest_rotations(families, Decision(correction=correction))
        for count in (least, least - 1):
            p = np.ones(families)
            p[0] = 1 / (count + 1)
            q = adjust(p, "holm" if correction == "maxT" else correction, 0.05)
            assert bool(significant(q, 0.05, p)[0]) == (count == least), (correction, families)
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


def _knocked(after: np.ndarray, by: Sequence[str], scored: Sequence[str]) -> Knocked:
    """Scores of 0.5 more before the removal, against a threshold of 0.3."""
    rows, units = after.shape
    return Knocked(
        by=tuple(by),
        family=np.zeros(rows, dtype=np.int64),
        size=np.arange(rows) + 1,
        scored=tuple(scored),
        units=tuple(f"v{k}" for k in range(units)),
        before=after + 0.5,
        after=after,
        threshold=np.full(rows, 0.3),
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
            own = after[row, 9 if row == 3 else 0 :]
            ends = student(own)
            wanted = {
                "p_falls": float(_above(0.3 - own)), "p_holds": float(_above(own - 0.3)), "after": ends.mean,
                "before": ends.mean + 0.5, "low": ends.low, "high": ends.high, "threshold": 0.3,
                "count": len(own),
            }  # fmt: skip
            assert {name: getattr(test, name) for name in wanted} == pytest.approx(wanted, rel=1e-3)
            assert (test.role, test.layer, test.head, test.removed) == (ROLES[0], 0, 0, row + 1)
            assert (test.by, test.scored) == (by[row], scored[row])
            falls, holds = test.q_falls <= 0.05, test.q_holds <= 0.05
            assert test.verdict == ("falls" if falls else "holds" if holds else UNDETERMINED)
        for members in ([0, 3], [1, 5], [2], [4]):  # one removal; the role itself, or others
            for side in ("falls", "holds"):
                p, q = (_all(found, f"{letter}_{side}")[members] for letter in "pq")
                np.testing.assert_allclose(q, adjust(p, "holm"), rtol=1e-9)
    assert [test.verdict for test in found[:3]] == ["falls", "holds", UNDETERMINED]


def test_few_units_and_scores_without_spread_are_untestable_after_removals() -> None:
    products, rng = random_products(4), np.random.default_rng(4)
    for units, verdict in ((0, UNTESTABLE), (1, UNTESTABLE), (19, UNTESTABLE), (20, "holds")):
        after = rng.normal(0.6, 0.01, (1, units))
        (found,) = knockout_tests(products, _knocked(after, ["subspace"], ROLES[:1]), T)
        assert (found.verdict, found.count, np.isnan(found.p_holds)) == (verdict, units, units < 2)
    (found,) = knockout_tests(products, _knocked(np.full((1, 50), 0.5), ["subspace"], ROLES[:1]), T)
    assert (found.verdict, found.after) == (UNTESTABLE, pytest.approx(0.5))
