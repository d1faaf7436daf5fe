"""Columns, patterns and families: what is tested on which units, and corrected with what."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.stats.columns import Columns, unit_numbers
from headroles.stats.correction import adjust
from headroles.stats.decision import FAMILIES
from headroles.stats.effects import design_effect
from headroles.stats.families import adjust_families, adjust_families_of_draws, contrast_pairs, family_members
from headroles.stats.moments import complete_columns, describe

Run = tuple[Scores, list[Rule]]
RULES = [Rule("a", contrast="a:matched"), Rule("a:matched", role=False), Rule("b"), Rule("c")]


def test_a_column_is_the_unit_means_of_score_minus_null(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(0, units=10, per_unit=3)
    null = np.random.default_rng(0).uniform(0.1, 0.2, scores.null.shape)
    columns = list(Columns(replace(scores, null=null), rules))
    for k, column in enumerate(columns):
        beyond = scores.values[k].astype(np.float64) - null[k][:, None, None]
        np.testing.assert_allclose(column.values, beyond.reshape(10, 3, 12).mean(axis=1), rtol=1e-12)
        np.testing.assert_allclose(column.null, null[k].mean(), rtol=1e-12)
        assert (column.low, column.high) == pytest.approx((-1 - null[k].max(), 1 - null[k].min()))


@pytest.mark.parametrize(("units", "kept"), [(3, True), (12, False)])
def test_large_columns_are_kept_where_units_have_many_examples(
    scores_of: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, units: int, kept: bool
) -> None:
    scores, rules = scores_of(0, units=units, per_unit=24 // units)
    monkeypatch.setattr("headroles.stats.columns.SMALL", 0)
    columns = Columns(scores, rules)
    first, second = columns[1], columns[1]
    assert (first is second) == kept
    assert first.sample is second.sample
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(second.sample.mean, describe(second.values).mean)


@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("units", [3, 12])
def test_the_design_effect_of_a_column_is_that_of_its_examples(
    scores_of: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, units: int, read_before: bool
) -> None:
    scores, rules = scores_of(0, units=units, per_unit=24 // units)
    null = np.random.default_rng(1).uniform(0.1, 0.2, scores.null.shape)
    monkeypatch.setattr("headroles.stats.columns.SMALL", 0)
    columns = Columns(replace(scores, null=null), rules)
    if read_before:
        assert len(list(columns)) == len(rules)
    for k in range(len(rules)):
        beyond = (scores.values[k].astype(np.float64) - null[k][:, None, None]).reshape(24, 12)
        wanted = design_effect(beyond, unit_numbers(scores.units))
        np.testing.assert_array_equal(columns.design_effects(k), wanted)


def test_the_chance_value_of_a_head_is_that_of_its_own_units(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(0, units=4)
    values, null = scores.values.copy(), np.tile([1.0, 1.0, 2.0, 2.0], (4, 1))
    values[2, 2:, 0, 0] = np.nan
    values[2, :, 0, 1] = np.nan
    column = list(Columns(replace(scores, values=values, null=null), rules))[2]
    assert column.null[0] == 1.0
    assert np.isnan(column.null[1])
    np.testing.assert_array_equal(column.null[2:], 1.5)


def test_units_are_numbered_as_they_appear() -> None:
    assert unit_numbers(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]


def test_columns_are_grouped_by_the_units_they_have() -> None:
    values = np.random.default_rng(1).random((8, 6))
    values[:3, [1, 4]] = np.nan
    values[1:, 5] = np.nan
    groups = [(units.sum(), columns.tolist()) for units, columns in complete_columns(values)]
    assert sorted(groups) == [(5, [1, 4]), (8, [0, 2, 3])]
    assert [columns.tolist() for _, columns in complete_columns(values[:, [0, 2]])] == [[0, 1]]
    assert list(complete_columns(np.empty((0, 3)))) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_head_of_every_sieve_is_in_one_family(family: str) -> None:
    seen = np.zeros((4, 6), dtype=int)
    for group in family_members(RULES, 2, 3, family):
        for k, part in group:
            seen[k, part] += 1
    assert (seen == 1).all()


def test_families_are_sieves_the_run_or_layers_and_contrasts_stand_alone() -> None:
    assert contrast_pairs(RULES) == [(0, 1)]
    sizes = {
        family: sorted(
            ["".join(RULES[k].sieve for k, _ in group) + str(sum(part.stop - part.start for _, part in group))
             for group in family_members(RULES, 2, 3, family)]
        )
        for family in FAMILIES
    }  # fmt: skip
    assert sizes["sieve"] == ["a6", "a:matched6", "b6", "c6"]
    assert sizes["run"] == ["a:matched6", "abc18"]
    assert sizes["layer"] == ["a3", "a3", "a:matched6", "b3", "b3", "c3", "c3"]


def test_families_are_corrected_row_by_row() -> None:
    p = np.random.default_rng(2).random((4, 5, 6)) ** 2
    whole = adjust_families_of_draws(p, family_members(RULES, 2, 3, "run"), "holm", 0.05)
    layers = adjust_families_of_draws(p, family_members(RULES, 2, 3, "layer"), "holm", 0.05)
    for row in range(5):
        roles = p[[0, 2, 3], row].ravel()
        np.testing.assert_array_equal(whole[[0, 2, 3], row].ravel(), adjust(roles[None], "holm")[0])
        np.testing.assert_array_equal(whole[1, row], adjust(p[1, row][None], "holm")[0])
        np.testing.assert_array_equal(layers[2, row, 3:], adjust(p[2, row, 3:][None], "holm")[0])


def test_families_of_findings_are_corrected_one_by_one() -> None:
    p = np.random.default_rng(3).random((4, 6)) ** 2
    whole = adjust_families(p, family_members(RULES, 2, 3, "run"), "holm", 0.05)
    layers = adjust_families(p, family_members(RULES, 2, 3, "layer"), "holm", 0.05)
    np.testing.assert_array_equal(whole[[0, 2, 3]].ravel(), adjust(p[[0, 2, 3]].ravel(), "holm"))
    np.testing.assert_array_equal(whole[1], adjust(p[1], "holm"))
    np.testing.assert_array_equal(layers[2, 3:], adjust(p[2, 3:], "holm"))
