"""Heads, roles, arrays and places of a run by name, as a user asks for them in Python."""

import sys
import webbrowser
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jedi
import numpy as np
import pytest

from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.shown.brief import MOST_LINES
from headroles.storage.run import write_results
from tests.support.clustered_runs import labelled


@pytest.fixture(scope="module")
def run() -> Labelling:
    """A run of three sieves on 2 layers of 6 heads."""
    return labelled(2, 6)


def test_the_evidence_holds_the_numbers_of_the_findings(run: Labelling) -> None:
    table, findings = run.evidence(), run.findings
    assert len(table) == 3 * 12
    for row in table.to_dict("records"):
        place = findings.of(str(row["sieve"])), row["layer"], row["head"]
        assert row["mean"] == findings.mean[place]
        assert row["q"] == findings.q[place]
        assert row["threshold"] == findings.null[place] + findings.margin[place]
        assert row["verdict"] == DECISIONS[findings.decision[place]]
        assert (row["low"], row["high"]) == tuple(float(ends[place]) for ends in run.mean_intervals())
        assert np.isnan(row["contrast"])


def test_a_head_has_the_roles_of_the_labels_with_their_evidence(run: Labelling) -> None:
    labels = run.labels().set_index(["layer", "head"])["roles"]
    for layer in range(2):
        for number in range(6):
            head = run.head(layer, number)
            assert sorted(head.roles) == sorted(name for name in labels[layer, number].split(";") if name)
            table = head.to_pandas()
            assert [*table["sieve"][: len(head.roles)]] == [*head.roles]
            assert table["mean"][: len(head.roles)].is_monotonic_decreasing
            assert head.sentence.startswith(f"{layer}-{number} ")
            assert head.sentence in " ".join(line.strip() for line in repr(head).splitlines())
            assert escape(head.sentence) in head._repr_html_()
            assert len(repr(head).splitlines()) <= MOST_LINES


def test_a_role_has_its_heads_strongest_first_and_counts_all_heads(run: Labelling) -> None:
    assert [*run.roles] == [*run.findings.roles]
    assert len(run.roles) == 3
    for name, role in run.roles.items():
        place = run.findings.of(name)
        held = np.argwhere(run.findings.decision[place] == 0)
        assert sorted(role.heads) == sorted(map(tuple, held.tolist()))
        means = [float(run.findings.mean[place][head]) for head in role.heads]
        assert means == sorted(means, reverse=True)
        assert role.strongest == role.heads[0]
        assert sum(role.counts.values()) == len(role.frame()) == 12
        assert next(iter(role.counts)) == "role"
        assert f"{len(role.heads)} role" in repr(role)
        assert f"{len(role.heads)}, strongest {'{}-{}'.format(*role.heads[0])}" in repr(run.roles)
    assert run.roles["local"].title == "neighbours (±2)"


def test_a_role_that_no_head_holds_says_so(run: Labelling) -> None:
    decision = np.ones_like(run.findings.decision)
    role = replace(run, findings=replace(run.findings, decision=decision)).roles["local"]
    assert role.strongest is None
    assert role.counts == {"not": 12}
    assert "12 not" in role._repr_html_()
    assert "<table" not in role._repr_html_()


def test_an_unknown_role_or_head_is_one_sentence(run: Labelling) -> None:
    with pytest.raises(UnknownName, match="no role of this run is called 'locl'; did you mean 'local'"):
        run.roles["locl"]
    assert "locl" not in run.roles
    assert run.roles.get("locl") is None
    assert run.roles.get("local") is not None
    for layer, head, fault in ((2, 0, "layers from 0 to 1, but got layer 2"), (0, -1, "heads from 0 to 5")):
        with pytest.raises(BadInput, match=fault):
            run.head(layer, head)


def test_verdicts_say_what_explains_a_score_and_who_is_absent(run: Labelling) -> None:
    rules = tuple(
        replace(rule, contrast="delimiter", weaker="block:swap") if rule.sieve == "local" else rule
        for rule in run.findings.rules
    )
    decision = np.full_like(run.findings.decision, 4)
    explained = replace(run, findings=replace(run.findings, rules=rules, decision=decision))
    table = explained.evidence()
    local = table[table["sieve"] == "local"]
    assert set(local["verdict"]) == {"explained by position or its contrast"}
    place = run.findings.of("delimiter")
    assert [*local["contrast"]] == [*run.findings.mean[place].ravel()]
    assert {*local["contrast_threshold"]} == {0.1}


def test_a_dataset_has_scores_and_findings_under_their_names(run: Labelling) -> None:
    data = run.to_xarray()
    assert dict(data.sizes) == {"sieve": 3, "input": 40, "layer": 2, "head": 6}
    assert data["score"].dims == ("sieve", "input", "layer", "head")
    assert data["score"].dtype == np.float32
    assert float(data["score"].sel(sieve="block", input="e7", layer=1, head=4)) == pytest.approx(
        float(run.scores.values[1, 7, 1, 4])
    )
    table = run.to_pandas().set_index(["sieve", "layer", "head"])
    for name in table.columns:
        for place in (("local", 0, 0), ("delimiter", 1, 5)):
            value = data[name].sel(sieve=place[0], layer=place[1], head=place[2]).item()
            assert value == table.loc[place, name] or np.isnan(value)
    assert data.attrs["model"] == "tiny/model"
    assert data.attrs["alpha"] == 0.05
    assert [*data["unit"].to_numpy()] == [*run.scores.units]


def test_the_report_of_a_run_is_found_and_shown(
    run: Labelling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert run.report_path is None
    with pytest.raises(BadInput, match="a run that was written to this machine has a report"):
        run.show()
    write_results(tmp_path, run, "<html></html>")
    kept = replace(run, folder=str(tmp_path))
    assert kept.report_path == tmp_path / "report.html"
    assert f"<code>{tmp_path / 'report.html'}</code>" in kept._repr_html_()
    assert kept.head(1, 2).link == f"{tmp_path / 'report.html'}#head-1-2"
    kept.show()
    assert opened == [(tmp_path / "report.html").as_uri()]


def test_a_text_of_a_run_has_the_answer_and_stays_short() -> None:
    many = labelled(12, 12, tuple(f"sieve{number}" for number in range(60)), units=12)
    assert len(repr(many).splitlines()) <= MOST_LINES
    few = labelled(2, 6)
    from headroles.kinds import kind_of

    joined = " ".join(line.strip() for line in repr(few).splitlines())
    for sentence in kind_of(few).answer(few).sentences:
        assert sentence.text.replace("\xa0", " ")[:60] in joined.replace("\xa0", " ")


def test_a_users_mistake_is_one_line_in_ipython_and_a_traceback_elsewhere() -> None:
    error: HeadrolesError = BadInput("alpha is a number, but got 'five'\x1b[31m")
    assert error._render_traceback_() == ["BadInput: alpha is a number, but got 'five'\\x1b[31m"]
    with pytest.raises(BadInput) as caught:
        raise error
    assert "test_heads.py" in str(caught.traceback[0].path)


def test_a_notebook_shows_the_run_itself(run: Labelling, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=shown.append))
    run.show()
    assert shown == [run]


def test_a_view_gets_the_run_and_every_other_keyword(run: Labelling, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("headroles.viewing.view", lambda *texts, **how: asked.append((texts, how)))
    run.view("It rains.", layers="0-2")
    run.view()
    assert asked == [
        (("It rains.", None), {"run": run, "layers": "0-2"}),
        ((None, None), {"run": run}),
    ]


def test_editors_complete_what_a_run_offers(run: Labelling) -> None:
    def names(code: str) -> set[str]:
        return {each.name for each in jedi.Interpreter(code, [{"run": run}]).complete()}

    assert {"head", "roles", "view", "show", "to_pandas", "to_xarray", "report_path"} <= names("run.")
    assert {"sentence", "roles", "frame", "link"} <= names("run.head(0, 1).")
    assert {"heads", "strongest", "counts", "title"} <= names('run.roles["local"].')
