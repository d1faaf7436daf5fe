"""The page of a run that takes heads out: closed, repeatable, and in agreement with its tables."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from headroles.kinds import kind_of
from headroles.records.causal.ablation import VERDICTS
from headroles.records.findings import Labelling
from headroles.reports.causal.answer import answer_of
from headroles.reports.causal.page import ablation_page
from headroles.reports.causal.sheets import damage_sheet
from headroles.reports.page import page_of
from headroles.reports.words.citations import citation_bibtex
from headroles.reports.words.methods import methods_text
from tests.support.causal.ablated_runs import LOUD, ablated_run


@pytest.fixture(scope="module")
def run() -> Labelling:
    return ablated_run()


@pytest.fixture(scope="module")
def html(run: Labelling) -> str:
    return ablation_page(run)


def _text(page: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", bare)))


def _embedded(page: str, name: str) -> dict[str, object]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content: dict[str, object] = json.loads(found[1])
    return content


def test_the_page_is_that_of_its_kind_and_the_same_every_time(run: Labelling, html: str) -> None:
    assert kind_of(run).name == "ablate"
    assert page_of(run) == html == ablation_page(run)


def test_the_page_says_every_sentence_of_the_answer(run: Labelling, html: str) -> None:
    text = _text(html)
    for sentence in answer_of(run).sentences:
        assert re.sub(r"\s+", " ", sentence.text) in text
    assert "headroles ablate --roles runs/QNLI" in text
    assert LOUD in text


def test_text_from_data_is_escaped_everywhere(html: str) -> None:
    assert "<b>loud" not in html
    assert "<i>model" not in html


def test_the_embedded_verdicts_are_those_of_the_table(run: Labelling, html: str) -> None:
    assert run.ablated is not None
    damage, data = run.ablated.damage, _embedded(html, "ablation")
    arms = data["arms"]
    assert isinstance(arms, list)
    assert [arm["name"] for arm in arms] == ["loss:mean", "loss:zero"]
    for arm in arms:
        codes = damage.verdict[damage.of(arm["name"])].ravel().tolist()
        assert arm["codes"] == "".join(map(str, codes))
        assert run.findings.sieves[arm["column"]] == arm["name"]
    assert data["verdicts"] == list(VERDICTS)


def test_the_embedded_roles_are_those_that_a_head_holds(run: Labelling, html: str) -> None:
    assert run.ablated is not None
    assert run.ablated.held is not None
    held, roles = run.ablated.held, _embedded(html, "ablation")["roles"]
    assert isinstance(roles, list)
    assert [role["name"] for role in roles] == [role for role in held.roles if held.heads(role).any()]
    codes = run.ablated.damage.verdict[0]
    for role in roles:
        own = held.heads(role["name"])
        assert role["heads"] == np.flatnonzero(own).tolist()
        assert role["note"] == f"{(codes[own] == 1).sum()} of {own.sum()} negligible"


def test_every_head_has_a_row_with_its_three_tests(run: Labelling, html: str) -> None:
    sheet = damage_sheet(run)
    assert len(sheet.rows) == 2 * 72
    text = _text(html)
    assert "q needed" in text
    assert "Every head with its three tests" in text


def test_sections_stand_only_where_the_run_has_something_to_say() -> None:
    bare = ablation_page(ablated_run(roles=(), outcome="representation", by=("mean",)))
    for section in ("roles", "sites", "groups"):
        assert f'<section id="{section}"' not in bare
    assert 'id="damage-panel"' in bare
    alone = ablation_page(ablated_run(groups=False))
    assert '<section id="groups"' not in alone
    assert '<section id="sites"' in alone


def test_a_run_of_one_layer_and_one_without_facts_have_pages() -> None:
    small = ablated_run((60, 1, 4), groups=False)
    assert "Heads of layer" not in _text(ablation_page(small))
    assert ablation_page(replace(small, manifest={})).startswith("<!doctype html>")
    screened = ablated_run((60, 2, 4), screened=4, groups=False)
    assert "8 untestable" in _text(ablation_page(screened))


def test_the_page_embeds_the_tables_of_the_run(run: Labelling, html: str) -> None:
    files = _embedded(html, "files")
    assert {"damage.csv", "prediction.csv", "sites.csv", "groups.csv", "margins.csv"} <= files.keys()
    texts = kind_of(run).write(run.ablated, run.scores)
    for name in ("damage.csv", "prediction.csv"):
        assert files[name] == texts[name]


def test_methods_name_what_was_taken_out_and_how_it_was_tested(run: Labelling) -> None:
    text = methods_text(run)
    for words in (
        "We took out one head at a time",
        "its output was replaced by its mean over other inputs, or by zero",
        "Means are those of 200 inputs, by class of token (first, special, other)",
        "Damage is the rise of the loss (cross-entropy of its label) in nats.",
        "two one-sided tests show it within both (Schuirmann, 1987)",
        "as decided on 60 units of a label run",
        "99 random sets",
        "over the heads of one arm",
    ):
        assert words in text
    assert "The verdict “not”" not in text
    bare = methods_text(ablated_run(roles=(), outcome="representation", by=("even",)))
    assert "its attention was replaced by even attention." in bare
    assert "label run" not in bare
    assert "Means are those" not in bare


def test_works_behind_ablations_are_cited(run: Labelling) -> None:
    text, cited = methods_text(run), citation_bibtex(run)
    for short, key in (
        ("Michel et al., 2019", "michel2019sixteen"),
        ("Voita et al., 2019", "voita2019analyzing"),
        ("Schuirmann, 1987", "schuirmann1987comparison"),
    ):
        assert short in text
        assert key in cited


def test_a_notebook_shows_answer_and_tables_without_scripts(run: Labelling) -> None:
    html = kind_of(run).notebook(run)
    assert "<script" not in html
    assert "Which of the 72 heads of" in html
    assert "Verdicts by arm" in html
    assert "<b>loud" not in html
    assert html.count("<table") == 4
