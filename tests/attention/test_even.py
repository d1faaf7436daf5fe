"""Even attention over what can be seen: selectivity 0, bias 1 and contrasts 0, whatever can be seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example, score
from headroles.arrays import selection_of
from tests.support.annotated import EVERY, MASKS, annotated, visible
from tests.support.reference import draws

SIEVES = selection_of(EVERY).sieves
SCORERS = ("bag-of-words", "bag-of-words:matched")


def _said(
    rows: np.ndarray, example: Example, seen: np.ndarray, statistic: str, sinks: bool = False
) -> dict[str, float]:
    """Scores of one head that are numbers."""
    found = score(rows[None, None], example, SIEVES, visible=seen, statistic=statistic, sinks=sinks)
    return {name: value.item() for name, value in found.items() if not np.isnan(value).all()}


def _null(name: str, statistic: str) -> float:
    return (
        0.0 if statistic == "selectivity" or name.endswith((":matched", ":key")) or name in SCORERS else 1.0
    )


@settings(max_examples=draws(50))
@given(
    st.integers(0, 2**32 - 1), st.lists(st.integers(2, 9), min_size=1, max_size=2), st.booleans(),
    st.sampled_from(MASKS), st.floats(0.05, 0.95),
)  # fmt: skip
def test_even_attention_is_at_its_null_and_what_a_sink_takes_is_spent_elsewhere(
    seed: int, lengths: list[int], specials: bool, mask: str, left: float
) -> None:
    rng = np.random.default_rng(seed)
    example = annotated(rng, lengths, specials=specials)
    seen = visible(rng, example.size, mask)
    even = seen / seen.sum(axis=1, keepdims=True)
    rows = seen * rng.dirichlet(np.ones(example.size), size=example.size)
    whole = rows / rows.sum(axis=1, keepdims=True)
    for statistic, scaled in (("selectivity", left), ("bias", 1.0)):
        for name, value in _said(even, example, seen, statistic).items():
            assert value == pytest.approx(_null(name, statistic), abs=1e-9), name
        full = _said(whole, example, seen, statistic)
        part = _said(left * whole, example, seen, statistic, sinks=True)
        evened = _said(left * even, example, seen, statistic, sinks=True)
        assert part.keys() == full.keys()
        for name in full.keys() - set(SCORERS):
            factor = left if name.endswith((":matched", ":key")) else scaled
            assert part[name] == pytest.approx(factor * full[name], abs=1e-9), name
            assert evened[name] == pytest.approx(_null(name, statistic), abs=1e-9), name
