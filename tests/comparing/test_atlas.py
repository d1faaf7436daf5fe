"""Several runs in an atlas: what is read and refused, what the folder holds, and what the page says of it."""

import csv
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import headroles
from headroles import Atlas, Labelling, atlas
from headroles.comparing.collect import ReadRun, atlas_of
from headroles.errors import BadInput, UnknownName
from headroles.records.assessment import MIDDLE, count_extreme_p
from headroles.reports.answer.atlas import answer_of, same_heads
from headroles.reports.atlas_page import SHADES, atlas_page, role_maps
from headroles.reports.figures.atlas import atlas_panels, largest_means, p_counts
from headroles.reports.print.figures import figures_of
from headroles.reports.words.methods import methods_text
from headroles.reports.words.several import middle_row
from headroles.stats.comparing.agreement import cohen_kappa
from tests.support.hostile_runs import charted, labelled

Command = Callable[..., tuple[int, str, str]]
FILES = [
    "agreement.csv", "consensus.csv", "findings.csv", "manifest.json", "report.html", "several.csv",
    "trends.csv",
]  # fmt: skip
NAMES = ("local", "block", "delimiter")


@pytest.fixture(scope="module")
def short(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same model on fewer of the inputs of ``finished``."""
    folder = tmp_path_factory.mktemp("runs") / "short"
    sieves = ["local", "delimiter", "block"]
    headroles.label("QNLI", data=table, model=planted, max_length=48, sieve=sieves, limit=52, out=folder)
    return folder


@pytest.fixture(scope="module")
def both(finished: Path, short: Path) -> Atlas:
    """The atlas of both runs."""
    return atlas([finished, short])


@pytest.fixture(scope="module")
def made() -> Atlas:
    """An atlas of three made-up runs, one with a role less."""
    return charted(NAMES, (60, 6, 4))


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_findings_are_those_of_the_runs(both: Atlas, finished: Path, short: Path) -> None:
    for place, folder in enumerate((finished, short)):
        run = headroles.load(folder)
        found, table = both.findings[place], run.evidence()
        assert found.verdict.ravel().tolist() == table["verdict"].tolist()
        np.testing.assert_array_equal(found.numbers["mean"].ravel(), table["mean"])
        np.testing.assert_array_equal(found.numbers["low"].ravel(), table["low"])
        np.testing.assert_array_equal(found.held.ravel(), table["verdict"] == "role")
        assert run.assessment is not None
        assert [repr(row) for row in both.several[place]] == [repr(row) for row in run.assessment.several]
        manifest = (folder / "manifest.json").read_bytes()
        assert both.runs[place].manifest_sha256 == sha256(manifest).hexdigest()
        assert both.runs[place].weights == run.manifest["model"]["weights_sha256"]
    assert both.groups == ("calibrated",)
    assert [run.name for run in both.runs] == ["QNLI finished", "QNLI short"]


def test_kappa_is_that_of_the_labels_of_the_runs(both: Atlas) -> None:
    one, other = (found.held for found in both.findings)
    for row in both.agreement:
        if row.sieve and row.run_a:
            place = both.findings[0].of(row.sieve)
            own = cohen_kappa(one[place].reshape(1, -1), other[place].reshape(1, -1))[0]
            assert row.kappa == pytest.approx(own, nan_ok=True)


def test_the_folder_holds_the_atlas_and_gives_it_back(
    finished: Path, short: Path, both: Atlas, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "atlas"
    before = [file.read_bytes() for folder in (finished, short) for file in sorted(folder.glob("*.csv"))]
    atlas([finished, short], out=out)
    assert sorted(file.name for file in out.iterdir()) == FILES
    rows = _rows(out / "findings.csv")
    assert list(rows[0]) == [
        "run", "sieve", "layer", "head", "depth", "count", "mean", "low", "high", "threshold", "effect", "p",
        "q", "p_not", "q_not", "stability", "verdict",
    ]  # fmt: skip
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert facts["kind"] == "atlas"
    assert facts["command"] == f"headroles atlas {finished} {short}"
    assert [run["name"] for run in facts["runs"]] == [run.name for run in both.runs]
    from headroles.exporting import load_result

    again = load_result(out)
    assert isinstance(again, Atlas)
    assert again.runs == both.runs
    assert again.frame().equals(both.frame())
    assert repr(again.several) == repr(both.several)
    assert repr(again.agreement) == repr(both.agreement)
    assert repr(again.consensus) == repr(both.consensus)
    assert again.steps == ()
    assert atlas_page(again) == (out / "report.html").read_text(encoding="utf-8")
    after = [file.read_bytes() for folder in (finished, short) for file in sorted(folder.glob("*.csv"))]
    assert after == before


def test_what_is_there_is_replaced_only_when_it_may_be(finished: Path, short: Path, tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    atlas([finished, short], out=out)
    atlas([finished, short], out=out)
    with pytest.raises(BadInput, match="with other settings"):
        atlas([short, finished], out=out)
    atlas([short, finished], out=out, overwrite=True)
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    with pytest.raises(BadInput, match="no atlas of headroles"):
        atlas([short, finished], out=run, overwrite=True)


def test_other_commands_say_what_an_atlas_is(finished: Path, short: Path, tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    atlas([finished, short], out=out)
    for function in (headroles.load, headroles.judge_again):
        with pytest.raises(BadInput, match="is an atlas of several runs; show, report --figures and table"):
            function(out)
    with pytest.raises(BadInput, match="is an atlas of several runs"):
        atlas([out, finished])
    assert headroles.table(out).startswith("Roles a head")
    assert headroles.table(out, "agreement", "csv").splitlines()[0].startswith("group,sieve,run_a")
    assert headroles.table(out, "consensus", "csv").splitlines()[0].startswith("group,sieve,layer,head,runs")
    with pytest.raises(UnknownName, match="known: agreement, consensus, findings, in-runs, p-values"):
        headroles.table(out, "changes")
    bibtex = headroles.methods(out, "bibtex")
    assert re.findall(r"@article{([a-z]+)", bibtex) == ["cohen", "benjamini"]


def test_damage_is_named(finished: Path, short: Path, tmp_path: Path) -> None:
    out = tmp_path / "atlas"
    atlas([finished, short], out=out)
    (out / "several.csv").write_text("run\n", encoding="utf-8")
    with pytest.raises(BadInput, match="make the atlas again"):
        headroles.table(out)


def test_runs_of_other_models_are_compared_by_counts_only() -> None:
    runs = [
        labelled(NAMES, shape, seed=seed) for seed, shape in enumerate(((40, 3, 4), (40, 6, 2), (40, 3, 4)))
    ]
    facts = [{"model": {"name": name, "weights_sha256": name}, "preset": "calibrated"} for name in "aba"]
    read = [
        ReadRun(f"runs/{number}", "", replace(run, manifest=fact))
        for number, (run, fact) in enumerate(zip(runs, facts, strict=True))
    ]
    found = atlas_of(read)
    assert [run.group for run in found.runs] == ["a, calibrated", "b, calibrated", "a, calibrated"]
    assert {row.group for row in found.agreement} == {"a, calibrated"}
    assert any("no other run of the same model and rule" in remark for remark in found.remarks)
    panels = {panel.key: panel for panel in atlas_panels(found)}
    assert "relative depth" in str(panels["several"].figure["layout"]["xaxis"]["title"])
    assert same_heads(found, "b, calibrated") is None
    page = atlas_page(found)
    assert page.count('aria-label="Roles of every head"') == 2


def test_an_atlas_takes_label_runs_only(
    finished: Path, probed_run: Callable[..., Labelling], tmp_path: Path
) -> None:
    headroles.save(probed_run(("all", "case"), shape=(60, 2, 3)), tmp_path / "probe")
    with pytest.raises(BadInput, match=r"an atlas shows label runs, but .* is a run of probe"):
        atlas([finished, tmp_path / "probe"])


def test_sentences_are_those_of_the_tables(made: Atlas) -> None:
    text = " ".join(sentence.text for sentence in answer_of(made).sentences)
    whole = count_extreme_p(np.concatenate([made.p_values(place) for place in range(3)]))
    assert f"{whole.near:,} of {whole.tests:,} below 0.05" in text
    held = [found.held[:2] for found in made.findings]
    same = int(((held[0] == held[1]) & (held[0] == held[2])).all(axis=0).sum())
    assert f"{same} of 24 heads" in text
    rows = [middle_row(several) for several in made.several]
    surplus = sum(row is not None and row.several_low > 0 for row in rows)
    assert f"in {surplus} of 3 runs" in text
    mean = next(row for row in made.agreement if not row.sieve)
    assert f"kappa {mean.kappa:.2f} [{mean.low:.2f}," in text
    assert any("delimiter was not tested on" in remark for remark in made.remarks)
    assert "Cohen's kappa" in methods_text(made)


def test_figures_and_maps_draw_the_findings(made: Atlas) -> None:
    shares = p_counts(made)
    for place in range(3):
        counts = count_extreme_p(made.p_values(place))
        assert shares[place].sum() == pytest.approx(1)
        assert shares[place][0] * counts.tests == pytest.approx(counts.low)
    panels = {panel.key: panel for panel in atlas_panels(made)}
    first = panels["several"].figure["data"][0]
    assert first["y"] == [row.mean for row in made.several[0] if row.scope.startswith("layer")]
    for drawn, found in zip(role_maps(made)[0].drawings, made.findings, strict=True):
        held = found.held[found.of("local")]
        assert drawn.held.count("M") == held.sum()
        assert drawn.count.split()[0] == str(held.sum())
        means = found.numbers["mean"][found.of("local")]
        assert sum(path.count("M") for _, path in drawn.shades) == (means > 0).sum()
        assert all(0 < opacity <= 1 for opacity, _ in drawn.shades)
        assert len(drawn.shades) <= SHADES
    assert len(role_maps(made)[2].drawings) == 2
    printed = figures_of(made)
    assert list(printed) == ["maps", "agreement", "p-values", "several"]
    assert all(figure.layout.meta["sentence"] for figure in printed.values())
    assert len(printed["several"].data) == 6


def test_maps_of_models_of_other_sizes_are_drawn_on_one_scale() -> None:
    shapes = {"small": (40, 2, 3), "large": (40, 4, 6)}
    runs = [
        replace(labelled(NAMES, shape), manifest={"model": {"name": name}}) for name, shape in shapes.items()
    ]
    made = atlas_of([ReadRun(name, "0" * 64, run) for name, run in zip(shapes, runs, strict=True)])
    bars = [trace for trace in figures_of(made)["maps"].data if trace.type == "bar" and trace.name == "local"]
    assert [len(bar.x) for bar in bars] == [6, 24]
    assert {bar.marker.cmax for bar in bars} == {largest_means(made, "local")[made.runs[0].statistic]}


def test_the_page_shows_every_table_and_is_the_same_each_time(made: Atlas) -> None:
    html = atlas_page(made)
    assert html == atlas_page(made)
    words = unescape(re.sub("<[^>]*>", " ", html))
    for sentence in answer_of(made).sentences:
        assert sentence.lead in words
    for place, run in enumerate(made.runs):
        row = middle_row(made.several[place])
        assert row is not None
        assert row.scope == MIDDLE
        assert run.name in words
    assert not re.findall(r'(?:src|href)="(?!#)', re.sub(r"<script.*?</script>", "", html, flags=re.S))


def test_the_command_prints_the_answer_or_json(
    command: Command, finished: Path, short: Path, tmp_path: Path
) -> None:
    out = tmp_path / "atlas"
    code, printed, _ = command("atlas", finished, short, "--out", out)
    assert code == 0
    assert "Do the heads of" in printed
    assert "roles a head" in printed
    code, printed, _ = command("show", out, "--json")
    facts = json.loads(printed)
    assert (facts["kind"], len(facts["runs"])) == ("atlas", 2)
    assert (
        facts["runs"][0]["p"]["tests"]
        == count_extreme_p(headroles.load(finished).findings.p[[0, 1, 2]]).tests
    )
    assert "null" in printed
    assert "NaN" not in printed
    for key, name in (("agreement", "agreement"), ("in_runs", "in-runs"), ("consensus", "consensus")):
        table = list(csv.DictReader(headroles.table(out, name, "csv").splitlines()))
        assert len(facts[key]) == len(table) > 0
        for row, line in zip(facts[key], table, strict=True):
            assert {column: "" if cell is None else str(cell) for column, cell in row.items()} == line
    assert facts["trends"] == []
    code, _, error = command("show", out, "--grid")
    assert (code, "an atlas has none" in error) == (1, True)
    assert command("show", out, "--verbose")[1].count("kappa") > 1


def test_an_atlas_shows_itself_in_a_notebook_and_as_text(both: Atlas) -> None:
    assert repr(both).startswith("Atlas of 2 runs")
    assert len(repr(both)) < 5000
    assert "<strong>" in both._repr_html_()
    assert list(both.by_layer())[:2] == ["run", "scope"]
    assert len(both.agreements()) == len(both.agreement)
