"""Records of removed heads."""

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.records.causal.pruning import NOT_SHOWN, NOT_TESTED, WITHIN, PruneStep, Pruning


def _pruning(*decisions: str, **fields: object) -> Pruning:
    """A pruning of a model of two layers with two heads each, with a set for each decision."""
    steps = tuple(
        PruneStep(size, 60, 0.01, 0.01, 0.0, 0.02, 0.018, 0.2, decision)
        for size, decision in enumerate(decisions, start=1)
    )
    known = {
        "outcome": "loss",
        "arm": "loss:mean",
        "bound": 0.01,
        "alpha": 0.05,
        "order": np.array([[1, 0], [0, 1], [0, 0], [1, 1]]),
        "single": np.zeros((2, 2)),
        "removed": np.array([[False, True], [True, False]]),
        "steps": steps,
        "units": ("a", "b"),
        "clean": np.ones(2),
        "change": np.zeros((len(steps), 2)),
    }
    return Pruning(**(known | fields))  # type: ignore[arg-type]


def test_the_certified_set_is_the_largest_that_passed() -> None:
    pruning = _pruning(WITHIN, WITHIN, NOT_SHOWN, NOT_TESTED)
    assert pruning.certified is pruning.steps[1]
    assert _pruning(NOT_SHOWN, NOT_TESTED).certified is None


def test_heads_are_named_by_layer() -> None:
    assert _pruning(WITHIN).heads == {0: [1], 1: [0]}
    assert _pruning(WITHIN, removed=np.array([[False, False], [True, True]])).heads == {1: [0, 1]}


def test_the_table_has_a_row_for_every_set() -> None:
    frame = _pruning(WITHIN, NOT_SHOWN).frame()
    assert frame["size"].tolist() == [1, 2]
    assert frame["decision"].tolist() == [WITHIN, NOT_SHOWN]


def test_a_bound_of_the_loss_is_a_share() -> None:
    assert _pruning(WITHIN).relative
    assert not _pruning(WITHIN, outcome="representation").relative


@pytest.mark.usefixtures("unchecked")
def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadInput, match="prunings have 'clean'"):
        _pruning(WITHIN, clean=np.ones(3))
    with pytest.raises(BadInput, match="prunings have 'change'"):
        _pruning(WITHIN, change=np.zeros((2, 2)))
