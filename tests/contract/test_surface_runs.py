"""Runs of surface statistics: planted heads stand out, even ones do not, and what is unseen is said."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
Surfaced = Callable[..., Labelling]
ABOVE, BELOW, UNDETERMINED = 0, 1, 2
NEAR = rounding_bound(64, float(np.log(64)))


@pytest.fixture
def measure(planted: Path, table: Path) -> Surfaced:
    """Measure surface statistics of the planted model on the table of pairs, unless told otherwise."""

    def made(**options: Any) -> Labelling:
        usual: dict[str, Any] = {"task": "QNLI", "data": table, "model": planted, "max_length": 48}
        return headroles.surface(**usual | options)

    return made


def of(run: Labelling, column: str, field: str = "decision") -> np.ndarray:
    """Return an array of the findings of a column."""
    found: np.ndarray = getattr(run.findings, field)[run.findings.of(f"surface:{column}")]
    return found


def test_planted_heads_lie_above_even_attention_where_they_look_and_even_ones_do_not(
    measure: Surfaced, even: Path
) -> None:
    run = measure(data=None, max_length=64, test="t")
    for column, place in (("previous", (0, 0)), ("next", (1, 2)), ("separator", (0, 2))):
        mean = of(run, column, "mean")
        assert divmod(int(mean.argmax()), mean.shape[1]) == place
        assert of(run, column)[place] == ABOVE
    assert of(run, "separator")[0, 0] == BELOW
    assert of(run, "next")[0, 0] != ABOVE
    for column in ("entropy", "entropy-first"):
        assert (of(run, column) != ABOVE).all()
        assert of(run, column)[0, 0] == BELOW
    blank = measure(model=even)
    assert set(blank.findings.decision.ravel().tolist()) == {UNDETERMINED}
    np.testing.assert_allclose(blank.findings.mean, blank.findings.null, atol=NEAR)


def test_what_a_causal_model_and_windows_cannot_look_at_is_said(measure: Surfaced, model_of: ModelOf) -> None:
    causal = measure(model=model_of("gpt2"), limit=20)
    columns = zip(causal.scores.sieves, causal.scores.values, strict=True)
    silent = {name.removeprefix("surface:") for name, row in columns if np.isnan(row).all()}
    assert {"separator", "next", "first→first", "first→text", "entropy-first"} < silent
    said = " ".join(causal.skipped)
    assert "surface:next does not apply to these inputs: queries see no later key" in said
    assert "below 50 units, no head is called below even attention, because" in said
    assert "see different keys" in measure(model=model_of("modernbert"), limit=12).manifest["notes"][0]
