"""All questions of where roles come from together: one row per family, and little data that says nothing."""

from dataclasses import replace

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.records.causal.origins import BY_QUERY, UNTESTABLE, VERTICAL
from headroles.records.rules.rule import Decision
from headroles.stats.why.judge import judge_origins
from headroles.stats.why.rotations import participation_ratio
from headroles.stats.why.vertical import vertical_tests
from tests.support.causal.products import made_products, random_products, roles_of


def test_every_family_gets_a_row_and_every_dimension_of_it_a_test() -> None:
    products = random_products(0)
    origins, dimensions = judge_origins(products, roles_of(products), 50, Decision())
    assert [(one.role, one.layer, one.head) for one in origins] == [
        (role, int(layer), int(head))
        for role, layer, head in zip(products.roles, products.layers, products.heads, strict=True)
    ]
    assert len(dimensions) == 4 * 6
    for k, origin in enumerate(origins):
        own = dimensions[6 * k : 6 * k + 6]
        assert {(test.role, test.layer, test.head) for test in own} == {
            (origin.role, origin.layer, origin.head)
        }
        assert origin.found == sum(test.found for test in own)
        assert sum(test.mean for test in own) == pytest.approx(origin.contrast, rel=1e-5)
        assert origin.participation == pytest.approx(participation_ratio(np.diag(products.outer[k])))
        assert origin.bias == pytest.approx(products.bias[:, k].mean())


def test_the_bias_is_that_of_units_that_count() -> None:
    products = random_products(1, families=1)
    parts, bias = products.parts.copy(), np.ones_like(products.bias)
    parts[:30], bias[:30] = np.nan, 7.0
    made = replace(products, parts=parts, bias=bias)
    assert judge_origins(made, roles_of(made), 1, Decision())[0][0].bias == 1.0


@pytest.mark.parametrize("test", ["t-skew", "t", "bootstrap-t", "sign-flip", "wilcoxon", "sign"])
def test_all_tests_of_the_project_answer(test: str) -> None:
    rng = np.random.default_rng(2)
    parts = 1 + 0.1 * rng.normal(size=(40, 2, 3))
    products = made_products(parts, 0.9 * parts.sum(axis=2))
    decision = Decision(test=test, correction="holm", resamples=199)
    origins, dimensions = judge_origins(products, roles_of(products), 2, decision)
    assert [origin.verdict for origin in origins] == [VERTICAL, VERTICAL]
    assert np.isfinite([each.p for each in dimensions]).all()


def test_a_test_that_bets_is_refused_as_parts_have_no_bounds() -> None:
    products = random_products(3)
    with pytest.raises(BadInput, match="needs the smallest and largest score"):
        judge_origins(products, roles_of(products), 4, Decision(test="betting"))


def test_max_t_answers() -> None:
    products = random_products(4)
    decision = Decision(correction="maxT", resamples=999)
    origins, _ = judge_origins(products, roles_of(products), 4, decision)
    assert np.isfinite([origin.q_vertical for origin in origins]).all()
    assert np.isfinite([origin.q_few for origin in origins]).all()


@pytest.mark.parametrize("mirrored", [False, True])
def test_parts_that_rare_units_hold_are_claimed_no_more_often_than_alpha_on_either_side(
    mirrored: bool,
) -> None:
    rng = np.random.default_rng(9)
    noise = 2 * (rng.gamma(1, size=(100, 1000)) * (rng.random((100, 1000)) < 0.05) - 0.05)
    parts = 2 + 0.05 * rng.normal(size=(100, 1000, 1))
    shared = (parts[:, :, 0] + (-noise if mirrored else noise)) / 2
    found = vertical_tests(made_products(parts, shared), Decision(correction="none"))
    for verdict in (VERTICAL, BY_QUERY):
        assert np.mean([said == verdict for said in found.verdict]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize("units", [0, 1, 2, 19])
def test_few_units_say_nothing(units: int) -> None:
    products = random_products(5, units=units)
    origins, dimensions = judge_origins(products, roles_of(products), 4, Decision())
    for origin in origins:
        assert (origin.verdict, origin.few, origin.found) == (UNTESTABLE, UNTESTABLE, 0)
        assert origin.count == units
    assert np.isnan([test.p for test in dimensions]).all()


def test_a_family_that_no_unit_measures_leaves_the_others_as_they_are() -> None:
    products = random_products(6)
    parts, vertical = products.parts.copy(), products.vertical.copy()
    outer, redealt = products.outer.copy(), products.redealt.copy()
    parts[:, 1], vertical[:, 1], outer[1], redealt[1] = np.nan, np.nan, np.nan, np.nan
    made = replace(products, parts=parts, vertical=vertical, outer=outer, redealt=redealt)
    alone = Decision(correction="none")
    before, after = (judge_origins(one, roles_of(one), 50, alone)[0] for one in (products, made))
    assert (after[1].count, after[1].verdict, after[1].few, after[1].rank) == (0, UNTESTABLE, UNTESTABLE, -1)
    assert [after[k] for k in (0, 2, 3)] == [before[k] for k in (0, 2, 3)]


def test_no_families_have_no_rows() -> None:
    products = made_products(np.zeros((5, 0, 4)))
    assert judge_origins(products, roles_of(products), 10, Decision()) == ((), ())


def test_heads_without_the_role_are_refused() -> None:
    products = random_products(7)
    held = roles_of(products)
    other = replace(held, decision=np.ones_like(held.decision))
    with pytest.raises(BadInput, match="does not hold it; give products of heads with roles alone"):
        judge_origins(products, other, 4, Decision())
    with pytest.raises(BadInput, match="'delimiter:sep' of layer 0, head 0"):
        judge_origins(products, replace(other, roles=("a", "b")), 4, Decision())


def test_the_same_seed_gives_the_same_answers() -> None:
    products = random_products(8)
    one, same, other = (
        judge_origins(products, roles_of(products), 4, Decision(seed=seed))[0] for seed in (1, 1, 2)
    )
    assert one == same
    assert [origin.rotated for origin in one] != [origin.rotated for origin in other]
    assert [origin.q_vertical for origin in one] == [origin.q_vertical for origin in other]
