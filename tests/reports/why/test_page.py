"""The page of a run that asks where roles come from: closed, repeatable, in agreement with its tables."""

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from headroles.kinds import kind_of
from headroles.records.causal.origins import Origins
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.reports.why.answer import answer_of, head_sentence
from headroles.reports.why.methods import WORKS, works_of_origins
from headroles.reports.why.page import why_page
from headroles.reports.words.citations import BY_SHORT, citation_bibtex, reference_list
from headroles.reports.words.methods import methods_text
from tests.support.causal.origins import LOUD, why_run


@pytest.fixture(scope="module")
def run() -> Labelling:
    return why_run()


@pytest.fixture(scope="module")
def html(run: Labelling) -> str:
    return why_page(run)


def _part(labelling: Labelling) -> Origins:
    assert labelling.origins is not None
    return labelling.origins


def _text(page: str) -> str:
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", bare)))


def _embedded(page: str, name: str) -> dict[str, Any]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_the_page_is_that_of_its_kind_and_the_same_every_time(run: Labelling, html: str) -> None:
    assert kind_of(run).name == "why"
    assert page_of(run) == html == why_page(run)


def test_the_page_says_every_sentence_of_the_answer(run: Labelling, html: str) -> None:
    text = _text(html)
    for sentence in answer_of(run).sentences:
        assert re.sub(r"\s+", " ", sentence.text) in text
    assert "headroles why runs/QNLI" in text
    assert LOUD in text
    assert "all roles of heads" in text


def test_text_from_data_is_escaped_everywhere(html: str) -> None:
    assert "<b>loud" not in html
    assert "<i>model" not in html


def test_the_embedded_verdicts_are_those_of_the_tests(run: Labelling, html: str) -> None:
    data, part = _embedded(html, "origins"), _part(run)
    heads = run.findings.count.shape[2]
    for role in data["roles"]:
        name = role["name"].removeprefix("vertical:")
        own = {row.layer * heads + row.head: row for row in part.origins if row.role == name}
        for cell, code in enumerate(role["codes"]):
            word = data["verdicts"][int(code)] if int(code) < len(data["verdicts"]) else ""
            assert word == (own[cell].verdict if cell in own else "")
        assert role["few"] == [cell for cell, row in own.items() if row.few == "few neurons"]
        assert run.findings.sieves[role["column"]] == role["name"]
    for cell, sentence in data["sentences"].items():
        assert sentence == head_sentence(run, *divmod(int(cell), heads))
    assert len(data["sentences"]) == len({(row.layer, row.head) for row in part.origins})


def test_the_numbers_of_a_head_hold_all_its_removals(run: Labelling, html: str) -> None:
    data, part = _embedded(html, "origins"), _part(run)
    lines = sum(len(more) for rows in data["heads"].values() for *_, more in rows)
    assert lines == 4 * len(part.origins) + len(part.knockouts)


def test_sections_stand_only_where_the_run_has_something_to_say(html: str) -> None:
    for section in ("profiles", "shares", "neurons", "removals"):
        assert f'<section id="{section}"' in html
    bare = why_page(why_run(held=False))
    for section in ("profiles", "shares", "neurons", "removals"):
        assert f'<section id="{section}"' not in bare
        assert f'href="#{section}"' not in bare
    assert '<section id="removals"' not in why_page(why_run(removed=False))


def test_rotary_models_are_told_why_nothing_was_rotated() -> None:
    text = _text(why_page(why_run(rotary=True)))
    assert "Rotary positions fix the dimensions of these heads" in text
    assert "All found frequency pairs" in text
    assert "A frame: few neurons" not in text


def test_a_run_of_one_layer_and_one_without_facts_have_pages(run: Labelling) -> None:
    small = why_run((25, 1, 3), removed=False)
    assert why_page(replace(small, manifest={})).startswith("<!doctype html>")
    assert why_page(replace(run, assessment=None)).startswith("<!doctype html>")


def test_the_page_embeds_the_tables_of_the_run(run: Labelling, html: str) -> None:
    files = _embedded(html, "files")
    texts = kind_of(run).downloads(run)
    assert {"origins.csv", "dimensions.csv", "knockouts.csv"} <= files.keys()
    for name, text in texts.items():
        assert files[name] == text


def test_methods_name_every_test_with_its_numbers(run: Labelling) -> None:
    text = methods_text(run)
    families = len(_part(run).origins)
    for words in (
        f"We asked where {families} roles of heads come from in queries and keys",
        "as decided on 40 units",
        "were measured on 40 other units, and scores without parts of queries on 40 further units",
        "mean query over 200 inputs of the units that decided roles",
        "Intervals of the vertical share are those of Fieller for a ratio (Fieller, 1954).",
        f"0.05 × {families} / 120",
        "(Benjamini and Bogomolov, 2014)",
        "999 random rotations of the head’s space by Haar measure (Mezzadri, 2007)",
        "over 19 re-deals",
        "(Lee et al., 2026)",
        "“falls” below it, “holds” above it",
        "over all roles of heads",
    ):
        assert words in text, words
    assert "The verdict “not”" not in text


@pytest.mark.parametrize(
    ("made", "lacking"),
    [
        ({}, ()),
        ({"rotary": True}, ("Mezzadri, 2007",)),
        ({"redeals": 0}, ("Lee et al., 2026",)),
        ({"held": False, "redeals": 0}, WORKS[1:]),
    ],
)
def test_works_are_cited_where_the_methods_name_them(made: dict[str, Any], lacking: tuple[str, ...]) -> None:
    labelling = why_run(**made)
    text, cited = methods_text(labelling), citation_bibtex(labelling)
    for short in WORKS:
        assert (short in text) == (short not in lacking)
        assert (BY_SHORT[short].key in cited) == (short not in lacking)
    assert works_of_origins(labelling) == tuple(short for short in WORKS if short not in lacking)
    assert "E. C. Fieller (1954)" in reference_list(labelling)


def test_a_notebook_shows_answer_and_tables_without_scripts(run: Labelling) -> None:
    html = kind_of(run).notebook(run)
    assert "<script" not in html
    assert "attend where they do?" in html
    assert "<b>loud" not in html
    assert html.count("<table") == 3
    assert kind_of(run).notebook(why_run(held=False)).count("<table") == 0
