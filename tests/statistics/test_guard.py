"""Labels that hinge on few units are withheld, and their heads are named."""

from dataclasses import replace

import numpy as np
import pytest

from headroles.records import Decision, Rule
from headroles.stats import METHODS, adjust, assess, describe, judge
from tests.support.scores import scored, spiky

ROLE, NOT, UNDETERMINED, EXPLAINED = 0, 1, 2, 4
WIDE = Rule("s0", low=-0.1, high=1.0)
PAIR = [
    Rule("s0", contrast="s1", low=-0.1, high=1.0),
    Rule("s1", margin=0.02, role=False, low=-1.0, high=1.0),
]


def test_an_outlier_makes_no_role_and_rare_units_no_not_and_their_heads_are_named() -> None:
    steady = np.random.default_rng(1).normal(0.2, 0.05, (60, 1))
    low = np.random.default_rng(0).normal(0.08, 0.01, (60, 1))
    values = np.concatenate([spiky(60, 0.1008, 0.4), steady, low, low - 0.08], axis=1)
    scores, decision = scored(values[None]), Decision(correction="none")
    found = judge(scores, [WIDE], decision)
    assert found.decision.ravel().tolist() == [UNDETERMINED, ROLE, UNDETERMINED, NOT]
    assert found.p.ravel()[0] == pytest.approx(0.038, abs=5e-4)  # of the test; it counts as 1 in q
    assert (found.p_not.ravel()[2:] < 0.001).all()
    assert found.q.ravel()[0] == found.q_not.ravel()[2] == 1.0
    for nots, labels in ((True, "2 labels withheld"), (False, "1 label withheld")):
        remarks = assess(scores, [WIDE], decision, found, nots=nots).remarks
        told = next(told for told in remarks if "withheld" in told)
        assert told.startswith(labels)
        assert f": s0 (1 role{', 1 not' * nots})." in told


def test_an_outlier_in_the_contrast_makes_no_role_either() -> None:
    main = np.random.default_rng(2).normal(0.5, 0.05, (60, 2))
    contrast = np.concatenate([spiky(60, 0.0206, 0.3), main[:, :1] - 0.3], axis=1)
    found = judge(scored(np.stack([main, contrast])), PAIR, Decision(correction="none"))
    assert found.decision[0].ravel().tolist() == [UNDETERMINED, ROLE]


@pytest.mark.parametrize("correction", ["holm", "maxT"])
def test_heads_at_the_threshold_get_a_role_only_where_their_families_seldom_lack_the_rare_units(
    correction: str,
) -> None:
    # 98 % of units at 0.1122 and 2 % at −0.5: a sample without the latter has a probability of 0.98^units
    for units in (160, 300, 310):
        values = np.random.default_rng(units).normal(0, 0.002, (1, units, 24))
        values += 0.11 / 0.98 - values.mean(axis=1, keepdims=True)
        rule = Rule("s0", low=-0.5, high=1.0)
        found = judge(scored(values), [rule], Decision("t", correction, resamples=999))
        assert (found.p < 1e-6).all()
        assert found.q == pytest.approx(min(1.0, 24 * 0.98**units), rel=1e-3)
        assert (found.decision == ROLE).all() == (units == 310)


def test_tests_of_medians_the_released_one_and_pooled_columns_keep_their_p() -> None:
    scores = scored(spiky(60, 0.1008, 0.4)[None])
    values = scores.values[0, :, 0].astype(np.float64)
    for test in ("wilcoxon", "sign", "t-published"):
        bare = METHODS[test](values, describe(values), 0.1, 0, 0)
        assert judge(scores, [WIDE], Decision(test, "none")).q.ravel() == pytest.approx(bare.p)
    pooled = judge(scores, [Rule("s0", pooled=True)], Decision("t", "none"))
    assert pooled.q.item() == pooled.p.item() < 0.2


def test_a_unit_that_holds_much_of_a_pooled_column_is_told_of() -> None:
    scores, rules = scored(np.random.default_rng(0).normal(0.2, 0.1, (1, 40, 2))), [Rule("s0", pooled=True)]
    for cells, told in ((20.0, ["s0 (34 %)"]), (9.0, [])):
        uneven = replace(scores, cells=np.where(np.arange(40) == 7, cells, 1.0)[None])
        remarks = assess(uneven, rules, Decision("t"), judge(uneven, rules, Decision("t"))).remarks
        assert [one.split(" items of ")[1].split(". ")[0] for one in remarks if "one unit" in one] == told


def test_heads_whose_contrast_is_withheld_stay_in_the_family_of_explained_heads() -> None:
    # contrasts at their margin, scores far beyond θ: every "explained" is a false one
    rng = np.random.default_rng(6)
    rules = [
        Rule("s0", contrast="s1", low=-1.0, high=1.0),
        Rule("s1", margin=0.02, role=False, low=-2.0, high=2.0),
    ]
    scores = scored(np.stack([rng.normal(0.5, 0.05, (80, 72)), rng.normal(0.02, 0.1, (80, 72))]))
    decision = Decision("t", "holm")
    found = judge(scores, rules, decision)
    precision = assess(scores, rules, decision, found).precision
    assert (precision.p_explained[0] == 1.0).sum() > 36
    np.testing.assert_allclose(precision.q_explained[0, 0], adjust(precision.p_explained[0, 0], "holm"))
    assert not (found.decision[0] == EXPLAINED).any()
