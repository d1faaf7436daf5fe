"""The page of a pruned model says what its certificate says."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from headroles.records.causal.pruning import NOT_TESTED, WITHIN, PruneStep
from headroles.records.causal.statement import amount, statements
from headroles.reports.causal.pruning import (
    bound_text,
    order_sheet,
    pruning_answer,
    pruning_panel,
    step_text,
    steps_sheet,
)
from headroles.reports.causal.pruning_page import pruning_page
from tests.support.causal.pruned import pruning


def _text(page: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", bare)))


@pytest.mark.parametrize("outcome", ["loss", "accuracy", "representation", "distribution", "tokens"])
def test_the_answer_holds_every_statement_of_the_certificate(outcome: str) -> None:
    made = pruning(outcome)
    said = [sentence.text for sentence in pruning_answer(made).sentences]
    assert said[0] == statements(made)[0]
    assert {*statements(made)} <= {*said}
    page = _text(pruning_page(made))
    for sentence in statements(made):
        assert re.sub(r"\s+", " ", sentence) in page
    assert bound_text(made) in page


def test_the_first_set_that_failed_is_named_with_its_damage() -> None:
    made = pruning()
    failed = next(step for step in made.steps if step.decision == "not shown")
    (said,) = [sentence.text for sentence in pruning_answer(made).sentences if "next set" in sentence.text]
    assert f"of {failed.size} heads, was not shown to stay within the bound" in said
    assert step_text(made, failed) in said
    easy = pruning(bound=1.0)
    assert not any("next set" in sentence.text for sentence in pruning_answer(easy).sentences)


def test_without_a_certificate_no_head_leaves_and_the_page_says_so() -> None:
    none = pruning(bound=0.0001, classes=False, fresh=False, reason="Heads of this model cannot be cut.")
    assert none.certified is None
    page = _text(pruning_page(none))
    assert "No head is removed" in page
    assert "nothing is certified and no head is removed" in page
    assert "Heads of this model cannot be cut." in page
    assert "No set is certified." in pruning_panel(none).sentence


def test_the_curve_has_every_set_its_band_and_the_bound() -> None:
    made = pruning()
    panel = pruning_panel(made)
    drawn = {trace["name"]: trace for trace in panel.figure["data"]}
    for word in (WITHIN, "not shown", NOT_TESTED):
        steps = [step for step in made.steps if step.decision == word]
        np.testing.assert_allclose(drawn[word]["x"], [step.size for step in steps])
        np.testing.assert_allclose(drawn[word]["y"], [100 * step.mean for step in steps])
    band = drawn["95\u00a0% interval"]
    highs = [100 * step.high for step in made.steps]
    assert band["y"][: len(made.steps)] == highs
    bound, chosen = panel.figure["layout"]["shapes"]
    assert bound["y0"] == pytest.approx(1.0)
    assert made.certified is not None
    assert chosen["x0"] == made.certified.size


def test_damages_other_than_losses_are_drawn_on_their_own_scale() -> None:
    made = pruning("representation")
    drawn = {trace["name"]: trace for trace in pruning_panel(made).figure["data"]}
    steps = [step.mean for step in made.steps if step.decision == WITHIN]
    np.testing.assert_allclose(drawn[WITHIN]["y"], steps)
    assert amount(made, 0.0123) == "0.0123"


def test_a_set_without_an_interval_is_drawn_as_a_dash() -> None:
    made = pruning()
    bare = replace(made.steps[0], mean=float("nan"), low=float("nan"), high=float("nan"))
    assert step_text(made, bare) == "–"
    alone = replace(made.steps[0], low=float("nan"), high=float("nan"))
    assert "[" not in step_text(made, alone)


def test_tables_hold_every_set_and_every_head() -> None:
    made = pruning()
    sheet = steps_sheet(made)
    assert sheet.columns == tuple(PruneStep.__dataclass_fields__)
    assert [row[0].key for row in sheet.rows] == [step.size for step in made.steps]
    assert sheet.header[-2:] == ("right before", "right after")
    assert "right before" not in steps_sheet(pruning(classes=False)).header
    order = order_sheet(made)
    assert sum(row[-1].text == "removed" for row in order.rows) == made.removed.sum()
    first = "-".join(map(str, made.order[0]))
    assert order.rows[0][0].text == first


def test_the_map_has_a_cross_for_every_removed_head() -> None:
    made = pruning()
    page = pruning_page(made)
    assert page.count('class="cross"') == made.removed.sum()
    assert page.count('class="cell') == made.removed.size
    for layer, heads in made.heads.items():
        listed = ", ".join(map(str, heads))
        assert f"Layer {layer}: {'heads' if len(heads) > 1 else 'head'} {listed}" in _text(page)


def test_the_page_is_the_same_every_time_and_escapes_text() -> None:
    made = pruning()
    page = pruning_page(made, {"steps.csv": "size\n1\n", "large.csv": "x" * 2_000_000})
    assert page == pruning_page(made, {"steps.csv": "size\n1\n", "large.csv": "x" * 2_000_000})
    assert "<b>loud" not in page
    assert "<i>model" not in page
    assert "large.csv" not in page
    assert 'data-file="steps.csv"' in page
