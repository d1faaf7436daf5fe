"""The three groups of units of a run never share a unit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.records.causal.ablation import HeldRoles
from headroles.runs.why.groups import check_groups, cut_into_groups, reference_inputs

UNITS = st.lists(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=40)


def _held(units: tuple[str, ...], examples: tuple[str, ...] = ()) -> HeldRoles:
    grid = np.zeros((1, 1, 1), dtype=np.int8)
    return HeldRoles(("local",), grid, grid * 1.0, units, "runs/labels", examples)


@given(UNITS, st.sets(st.sampled_from("abcdefgh")), st.integers(0, 3))
def test_every_input_is_in_one_group_and_so_is_every_unit(
    units: list[str], decided: set[str], seed: int
) -> None:
    keys = [f"{unit}/{place}" for place, unit in enumerate(units)]
    groups = cut_into_groups(_held(tuple(sorted(decided))), units, keys, seed)
    together = np.stack([groups.deciding, groups.measured, groups.knocked])
    assert (together.sum(axis=0) == 1).all()
    own = [{unit for unit, there in zip(units, row, strict=True) if there} for row in together]
    assert own[0] == decided & {*units}
    assert sum(map(len, own)) == len({*units})
    assert len(own[1]) == (len(own[1]) + len(own[2])) // 2


def test_halves_depend_on_the_seed_and_not_on_the_order_of_inputs() -> None:
    units = [f"QNLI/{number}" for number in range(400)]
    first, again, other = (
        cut_into_groups(_held(()), names, names, seed).measured
        for names, seed in ((units, 0), (units[::-1], 0), (units, 1))
    )
    np.testing.assert_array_equal(first, again[::-1])
    assert abs((first == other).mean() - 0.5) < 0.1


def test_halves_are_not_those_that_decide_roles() -> None:
    from headroles.runs.held.labels import deciding_half

    units = [f"QNLI/{number}" for number in range(400)]
    measured = cut_into_groups(_held(()), units, units, 0).measured
    assert abs((measured == deciding_half(units, 0)).mean() - 0.5) < 0.1


def test_mean_queries_are_those_of_deciding_inputs_or_else_of_knock_outs() -> None:
    units = ["a", "b", "c", "d", "e"]
    same = cut_into_groups(_held(("a", "b")), units, units, 0)
    assert reference_inputs(same).tolist() == [True, True, False, False, False]
    other = cut_into_groups(_held(("x",)), units, units, 0)
    np.testing.assert_array_equal(reference_inputs(other), other.knocked)
    assert not (reference_inputs(other) & other.measured).any()


@pytest.mark.parametrize(("units", "left"), [(["a", "b"], 0), (["a", "b", "c"], 1)])
def test_too_few_units_that_decide_nothing_are_refused(units: list[str], left: int) -> None:
    groups = cut_into_groups(_held(("a", "b")), units, units, 0)
    with pytest.raises(
        BadInput, match=f"'runs/labels', which takes at least 2 of them, but got {left}; give"
    ):
        check_groups(groups, "runs/labels")
    check_groups(cut_into_groups(_held(("a",)), ["a", "b", "c"], ["a", "b", "c"], 0), "runs/labels")
