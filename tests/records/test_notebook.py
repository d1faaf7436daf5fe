"""Tables of results in a notebook: they say what the records say, and nothing in them runs."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

from headroles.records.comparison import Comparison, Differences
from headroles.records.example import Scores
from headroles.records.findings import COLUMNS, DECISIONS, Findings, Labelling
from headroles.records.replication import Replication, ReplicationCounts
from headroles.records.rules.rule import Decision, Rule
from headroles.records.shown.notebook import MOST_ROWS
from headroles.records.surface import SurfaceResults
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.notebook import tables_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202eabc", "y" * 10_000)
FACTS = {
    "model": {"name": "tiny/<i>model</i>"},
    "task": "QNLI",
    "source": {"name": "dev.tsv"},
    "counts": {"examples": 1200, "units": 1},
}


def _findings(names: tuple[str, ...], layers: int = 2, heads: int = 3, seed: int = 5) -> Findings:
    """Random outcomes of roles, each with its contrast beside it."""
    chance = np.random.default_rng(seed)
    rules = [
        rule for name in names for rule in (Rule(name, contrast=f"{name}:c"), Rule(f"{name}:c", role=False))
    ]
    shape = (len(rules), layers, heads)
    grids: dict[str, Any] = {name: chance.random(shape) for name in COLUMNS}
    grids["count"] = np.full(shape, 9)
    grids["low"], grids["high"] = grids["mean"] - 0.1, grids["mean"] + 0.1
    decision = chance.integers(0, 4, shape)
    decision[decision == 3] = np.resize([3, 4], int((decision == 3).sum()))
    decision[[not rule.role for rule in rules]] = -1
    return Findings(tuple(rules), decision=decision, **grids)


def _labelling(names: tuple[str, ...] = ("local", "block"), **how: Any) -> Labelling:
    found = _findings(names, **how)
    columns, (layers, heads) = len(found.rules), found.count.shape[1:]
    scores = Scores(
        found.sieves, ("a", "b"), ("a", "b"), np.full(2, 5), np.zeros((columns, 2)),
        np.zeros((columns, 2, layers, heads), dtype=np.float32), np.zeros((columns, 2)),
    )  # fmt: skip
    return Labelling(scores, found, Decision(), FACTS)


def _comparison(names: tuple[str, ...] = ("local", "block"), **how: Any) -> Comparison:
    before, after = (_findings(names, seed=seed, **how) for seed in (1, 2))
    chance, shape = np.random.default_rng(3), before.count.shape
    grids = {name: chance.normal(size=shape) for name in Differences.__dataclass_fields__ if name != "rules"}
    whole = {"count": np.full(shape, 9), "outcome": chance.integers(0, 4, shape)}
    found = Differences(before.rules, **grids | whole)
    facts = {
        "a": {**FACTS, "model": {"name": "one"}},
        "b": {"model": {"name": "two"}},
        "counts": FACTS["counts"],
    }
    return Comparison(found, before, after, Decision(), 0.05, manifest=facts)


def _shown(run: Labelling) -> str:
    """The tables of a run, which stand in place of its maps where there is no room for them."""
    return tables_html(run, Answer("What?", "One line.", (Sentence("1 head", "does it."),), ("Mind this.",)))


def _tables(html: str) -> list[list[list[str]]]:
    """Texts of the cells of each table, row by row; the markup must be well formed."""
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    return [
        [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
        for table in tree.iter("table")
    ]


def test_a_role_has_its_counts_its_strongest_head_and_its_interval() -> None:
    run = _labelling()
    found = run.findings
    counts, _ = _tables(_shown(run))
    assert counts[0] == ["", *DECISIONS, "strongest head", "mean [95 %]", "mark"]
    for row, name, mark in zip(counts[1:], ("local", "block"), ("L", "B"), strict=True):
        place = found.of(name)
        held = np.where(found.decision[place] == 0, found.mean[place], -1)
        assert held.max() > 0
        at = (place, *(int(each) for each in np.unravel_index(held.argmax(), held.shape)))
        told = f"{found.mean[at]:.2f} [{found.low[at]:.2f}, {found.high[at]:.2f}]".replace("-", "−")
        numbers = [str(int((found.decision[place] == code).sum())) for code in range(5)]
        assert row == [name, *numbers, f"{at[1]}-{at[2]}", told, mark]


def test_the_matrix_holds_the_marks_of_the_roles_of_every_head() -> None:
    run = _labelling()
    _, matrix = _tables(_shown(run))
    marks = {"local": "L", "block": "B"}
    held = run.labels().set_index(["layer", "head"])["roles"]
    assert matrix[0] == ["", "0", "1", "2"]
    for layer, row in enumerate(matrix[1:]):
        told = [" ".join(marks[name] for name in held[layer, head].split(";") if name) for head in range(3)]
        assert row == [str(layer), *(each or "·" for each in told)]


def test_the_words_above_say_model_inputs_units_correction_and_level() -> None:
    shown = _shown(_labelling())
    assert "<strong>tiny/&lt;i&gt;model&lt;/i&gt;</strong>. QNLI, dev.tsv, 1,200 inputs, 1 unit. " in shown
    assert "t-skew, fdr_bh over the heads of one sieve, alpha 0.05." in shown
    rules = tuple(replace(rule, together="row") for rule in _labelling().findings.rules)
    rowed = _shown(replace(_labelling(), findings=replace(_labelling().findings, rules=rules)))
    assert "over the heads of one sieve, both directions of a row together, alpha 0.05." in rowed
    assert "t-skew, no correction, alpha" in _shown(
        replace(_labelling(), decision=Decision(correction="none"))
    )
    bare = _shown(replace(_labelling(), manifest={}))
    assert "a model without a name</strong>. t-skew" in bare


def test_a_run_of_surface_statistics_says_above_and_below() -> None:
    run = replace(_labelling(), surface=SurfaceResults(()))
    assert _tables(run._repr_html_())[0][0][1:3] == ["above", "below"]


def test_a_comparison_shows_the_largest_change_and_the_roles_that_moved() -> None:
    found = _comparison()
    counts, matrix = _tables(found._repr_html_())
    differences = found.differences
    assert [row[0] for row in counts[1:]] == list(differences.sieves)
    for place, row in enumerate(counts[1:]):
        assert row[1:5] == [str(each) for each in differences.counts(place)]
        size = np.where(differences.outcome[place] == 0, np.abs(differences.difference[place]), -1)
        assert row[5] == ("{}-{}".format(*divmod(int(size.argmax()), 3)) if size.max() > 0 else "none")
        assert bool(row[9]) == differences.rules[place].role
    labels = {(row["layer"], row["head"]): row for row in found.labels().to_dict("records")}
    marks = {"local": "L", "block": "B", "": ""}
    for layer, own in enumerate(matrix[1:]):
        for head, cell in enumerate(own[1:]):
            moved = labels[layer, head]
            told = [f"{sign}{marks[name]}" for sign, column in (("+", "gained"), ("−", "lost"))
                    for name in moved[column].split(";") if name]  # fmt: skip
            assert cell == (" ".join(told) or "·")
    assert "A is one, B is two. QNLI, dev.tsv, 1,200 inputs, 1 unit. Within ± 0.05" in found._repr_html_()


def test_a_comparison_in_which_nothing_moved_says_so() -> None:
    found = _comparison()
    assert "No head gained or lost a role." in replace(found, after=found.before)._repr_html_()


@pytest.mark.parametrize("shown", [_labelling(HOSTILE), _comparison(HOSTILE)])
def test_names_are_text_and_nothing_runs_or_reaches_out(shown: Labelling | Comparison) -> None:
    html = _shown(shown) if isinstance(shown, Labelling) else shown._repr_html_()
    tags = set(re.findall(r"<([a-z]+)", html))
    tables = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi"}
    assert tags <= tables | {"p", "strong", "ul", "li", "details", "summary"}
    assert not re.search(r"<[^>]*\b(on\w+|src|href|class|id)=", html)
    cells = [cell for table in _tables(html) for row in table for cell in row]
    assert HOSTILE[0] in cells
    assert HOSTILE[1] in cells
    assert max(map(len, cells)) == 80


def test_many_heads_and_roles_take_little() -> None:
    names = tuple(f"<{chr(97 + k)}>{'é' * 90}" for k in range(20))
    many = {"layers": 32, "heads": 32}
    for html in (_shown(_labelling(names, **many)), _comparison(names, **many)._repr_html_()):
        assert len(html.encode()) < 200_000


def test_with_more_roles_than_marks_can_tell_heads_show_how_many_they_hold() -> None:
    run = _labelling(tuple(f"role{k}" for k in range(70)))
    counts, matrix = _tables(_shown(run))
    assert len(counts) == 1 + MOST_ROWS
    assert "mark" not in counts[0]
    assert "10 more rows are left out here; .frame() has them all." in _shown(run)
    held = (run.findings.decision == 0).sum(axis=0)
    assert [row[1:] for row in matrix[1:]] == [[str(each) for each in row] for row in held.tolist()]
    moved = _tables(_comparison(tuple(f"role{k}" for k in range(70)))._repr_html_())[1]
    assert re.fullmatch(r"\+\d+ −\d+", moved[1][1])


def test_a_replication_counts_the_roles_that_hold_again() -> None:
    counts = ReplicationCounts("local", 1, 5, 3, 1, 1, 0, 0, 6, 0.5)
    shown = Replication(Decision(), (), (counts,), (counts,), notes=("A <note>.",))._repr_html_()
    ((heads, row),) = _tables(shown)
    assert dict(zip(heads, row, strict=True)) == {
        "": "local", "roles of A": "5", "role in B": "3", "not": "1", "undetermined": "1", "untestable": "0",
        "explained": "0", "heads": "6", "r of means": "0.50", "mark": "L",
    }  # fmt: skip
    assert "A &lt;note&gt;." in shown


def test_the_answer_stands_above_the_tables_of_a_comparison() -> None:
    from headroles.reports.answer.comparison import answer_of

    found = _comparison()
    text = "".join(ElementTree.fromstring(f"<div>{found._repr_html_()}</div>").itertext())
    for sentence in answer_of(found).sentences:
        assert sentence.text in text
    assert text.index(answer_of(found).sentences[0].text) < text.index("Heads by sieve")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_results_on_one_page_are_accessible_and_in_the_colours_around_them(
    browser: "Browser",
    scheme: str,
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    ground = {"light": ("#fff", "#222"), "dark": ("#111", "#eee")}[scheme]
    body = "<hr>".join(
        (_shown(_labelling()), _comparison(HOSTILE)._repr_html_(), _shown(_labelling(HOSTILE)))
    )
    page = browser.new_page(viewport={"width": 400, "height": 700})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.set_content(
        f'<html lang="en"><title>n</title><body style="background:{ground[0]};color:{ground[1]}">'
        f"<main><h1>Notebook</h1>{body}</main></body></html>"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    told = "[...document.querySelectorAll('td, th, caption')].map(each => getComputedStyle(each).color)"
    colours = set(page.evaluate(told))
    assert len(colours) == 1
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    assert problems == []
    page.close()
