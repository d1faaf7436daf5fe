"""What commands print of a result: options of display, one JSON object, and the report in the browser."""

import json
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.cli.main import cli
from headroles.cli.options import Commands
from headroles.cli.results import print_result
from headroles.exporting import save
from headroles.options.listed import DisplayOptions
from headroles.records.findings import Labelling
from headroles.storage.comparison import load_comparison
from tests.support.clustered_runs import clustered_run

Run = Callable[..., tuple[int, str, str]]
Made = Callable[..., Labelling]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was asked to open."""
    asked: list[str] = []

    def take(address: str) -> bool:
        asked.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", take)
    return asked


@pytest.fixture(scope="module")
def two_runs(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison."""
    folder = tmp_path_factory.mktemp("compared") / "two"
    headroles.compare(finished, finished, swaps=0, out=folder)
    return folder


def test_quiet_prints_the_path_of_the_report_alone(command: Run, finished: Path) -> None:
    assert command("show", finished, "--quiet") == (0, f"{finished}/report.html\n", "")
    assert command("show", finished, "-q")[1] == f"{finished}/report.html\n"


def test_a_new_run_that_must_be_quiet_prints_no_phases(
    planted: Path,
    table: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headroles.cli.main import main

    words = ["label", "--task", "QNLI", "--model", planted, "--data", table, "--max-length", 48]
    words += ["--sieve", "local", "--limit", 9, "--out", tmp_path / "run"]
    said = {}
    for more in (["--quiet"], ["--overwrite", "--json"]):
        monkeypatch.setattr("sys.argv", ["headroles", *map(str, words), *more])
        capfd.readouterr()
        with pytest.raises(SystemExit):
            main()
        said[more[-1]] = capfd.readouterr()
    assert said["--quiet"] == (f"{tmp_path}/run/report.html\n", "")
    assert json.loads(said["--json"].out)["kind"] == "label"
    assert said["--json"].err.startswith("load model  ")


def test_options_of_display_are_no_settings_of_a_run(
    command: Run, planted: Path, table: Path, tmp_path: Path
) -> None:
    words = ["--task", "QNLI", "--model", planted, "--data", table, "--max-length", 48, "--sieve", "local"]
    assert command("label", *words, "--limit", 9, "--out", tmp_path / "run", "--json")[0] == 0
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert not {"json", "quiet", "verbose", "grid", "open"} & settings["settings"].keys()
    assert "--json" not in settings["command"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--quiet", "--verbose"], "--quiet and --verbose exclude each other; give one of them"),
        (["--verbose", "--json"], "--verbose and --json exclude each other; give one of them"),
        (["--quiet", "--grid"], "--quiet prints no grid, so it excludes --grid; leave one of them out"),
        (["--json", "--grid"], "--json prints no grid, so it excludes --grid; leave one of them out"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    words: list[str], sentence: str, command: Run, finished: Path
) -> None:
    assert command("show", finished, *words) == (1, "", f"headroles: {sentence}\n")


def test_an_address_is_not_opened(command: Run) -> None:
    code, _, error = command("show", "s3://bucket/run", "--open")
    assert (code, error.startswith("headroles: --open shows a file of this machine")) == (1, True)


def test_open_opens_the_report_after_it_is_printed(
    command: Run, finished: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = command("show", finished, "--open")
    assert (code, err, opened) == (0, "", [(finished / "report.html").resolve().as_uri()])
    assert out.endswith("report.html\n")
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    code, _, err = command("show", finished, "--open", "--quiet")
    assert (code, err) == (0, f"no browser could be opened; open {finished}/report.html in one\n")


def test_json_has_the_counts_and_the_strongest_heads_of_the_findings(command: Run, finished: Path) -> None:
    code, out, err = command("show", finished, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    run = headroles.load(finished)
    frame = run.frame()
    assert (facts["layers"], facts["heads"]) == run.findings.count.shape[1:]
    assert list(facts["results"]) == list(run.findings.roles)
    for name, result in facts["results"].items():
        rows = frame[frame["sieve"] == name]
        decided = rows["decision"].value_counts()
        assert result["counts"] == {outcome: int(decided.get(outcome, 0)) for outcome in result["counts"]}
        best = rows[rows["decision"] == "role"].sort_values("mean").iloc[-1]
        assert (result["strongest"]["layer"], result["strongest"]["head"]) == (best["layer"], best["head"])
        assert np.isclose(result["strongest"]["mean"], best["mean"])
    assert facts["folder"] == str(finished)
    assert len(facts["notes"]) == len(set(facts["notes"]))
    _, shown, _ = command("show", finished)
    assert all(f"• {sentence}\n" in shown for sentence in facts["sentences"])


@pytest.mark.parametrize("kind", ["cluster", "probe", "surface"])
def test_every_kind_of_run_is_shown_and_has_json(
    kind: str, capsys: pytest.CaptureFixture[str], probed_run: Made, surface_run: Made
) -> None:
    made = {"cluster": clustered_run, "probe": probed_run, "surface": surface_run}
    run = made[kind]()
    print_result(run, "runs/x/", DisplayOptions())
    assert capsys.readouterr().out.splitlines()[-1] == "report  runs/x/report.html"
    print_result(run, "runs/x/", DisplayOptions(json=True))
    told = capsys.readouterr().out
    facts = json.loads(told)
    assert facts["kind"] == kind
    assert "NaN" not in told
    assert ("clusters" in facts, "best" in facts) == (kind == "cluster", kind == "probe")
    if kind == "cluster":
        print_result(run, "runs/x/", DisplayOptions(grid=True))
        assert "\nlayer " in capsys.readouterr().out
    else:
        with pytest.raises(headroles.HeadrolesError, match=f"every head, but a run of {kind} has none"):
            print_result(run, "runs/x/", DisplayOptions(grid=True))


def test_clusters_are_told_in_five_lines(command: Run, tmp_path: Path) -> None:
    run = clustered_run()
    save(run, tmp_path / "run")
    lines = command("show", tmp_path / "run")[1].splitlines()
    assert len(lines) <= 5
    assert sum(line.startswith("• ") for line in lines) == 2
    whole = command("show", tmp_path / "run", "--verbose")[1].splitlines()
    assert len(whole) > 30
    assert set(lines) - set(whole) <= {line for line in lines if line.startswith("notes ")}


def test_a_comparison_is_told_in_ten_lines_and_its_json_counts_its_table(
    command: Run, two_runs: Path
) -> None:
    code, out, err = command("show", two_runs)
    assert (code, err) == (0, "")
    assert len(out.splitlines()) <= 10
    facts = json.loads(command("show", two_runs, "--json")[1])
    comparison = load_comparison(two_runs)
    frame = comparison.frame()
    for name, result in facts["results"].items():
        counted = frame[frame["sieve"] == name]["outcome"].value_counts()
        assert result["counts"] == {outcome: int(counted.get(outcome, 0)) for outcome in result["counts"]}
    assert len(command("show", two_runs, "--verbose")[1].splitlines()) > 10
    code, _, err = command("show", two_runs, "--grid")
    assert (code, err) == (
        1,
        "headroles: --grid shows the roles of every head, but a comparison has none; leave it out\n",
    )


def test_show_loads_no_model(finished: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; sys.argv = ['headroles', 'show', sys.argv[1]]\n"
        "from headroles.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'spacy', 'scipy', 'plotly', 'sklearn'} & sys.modules.keys()\n"
        "print('loaded', sorted(heavy))"
    )
    words = [sys.executable, "-c", code, str(finished)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_every_command_has_one_whole_line_of_help(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = command("--help")[1]
    assert "…" not in out
    assert "..." not in out.partition("Label and ask")[2]
    for name, shown in cli.commands.items():
        (line,) = [line for line in out.splitlines() if line.split()[:1] == [name]]
        assert len(line) <= 80
        summary = " ".join((shown.help or "").split()).partition(". ")[0].removesuffix(".")
        assert line.endswith(f"  {summary}")
    assert isinstance(cli, Commands)


def test_the_options_of_display_exclude_each_other_in_python_too() -> None:
    assert DisplayOptions(verbose=True, grid=True).grid
    given: dict[str, Any] = {"quiet": True, "json": True}
    with pytest.raises(headroles.HeadrolesError, match="exclude each other"):
        DisplayOptions(**given)
