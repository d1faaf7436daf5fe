"""The command line: the same options as the keywords, exit codes, and what goes where."""

import errno
import inspect
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import headroles
from headroles.catalogue import Entry
from headroles.cli.main import cli
from headroles.errors import BadInput
from headroles.sieves import BUILT_IN, PATTERNS
from headroles.tasks import TASKS
from tests.conftest import Command
from tests.support import table as rows_of

SIEVES = ("--sieve", "local", "--sieve", "block")
BASIC = "-data-pairs-max-length-48-sieve-local+block"
"""What the options of a small run add to the name of its folder."""
UNNEEDED = ("numba", "pandas", "datasets", "statsmodels", "pingouin", "sklearn", "plotly", "ray")
"""Libraries that a plain label run never loads."""
LABEL = headroles.label.__module__


@pytest.fixture
def basic(planted: Path, table: Path) -> list[str]:
    """Options of a small run on planted heads."""
    return ["--task", "QNLI", "--model", str(planted), "--data", str(table), "--max-length", "48", *SIEVES]


def _manifest(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return facts


def _text(folder: Path, name: str = "findings.csv") -> str:
    return (folder / name).read_text()


def test_every_option_is_a_keyword_of_its_function_with_the_same_default() -> None:
    names = "label probe surface cluster ablate why prune view extract compare atlas replicate table share"
    functions = {name: getattr(headroles, name) for name in (*names.split(), "convert")}
    functions["judge"] = headroles.judge_scores
    faults = []
    for name, function in functions.items():
        keywords = inspect.signature(function).parameters
        described = inspect.getdoc(function) or ""
        for option in cli.commands[name].params:
            keyword = str(option.name)
            if keyword in ("json", "quiet", "verbose", "grid", "open", "watch", "also", "folder"):
                continue
            if keyword not in keywords and not any(p.kind is p.VAR_KEYWORD for p in keywords.values()):
                faults.append(f"{name}: {keyword} is no keyword")
            elif keyword in keywords and not option.required and option.param_type_name == "option":
                usual = keywords[keyword].default
                if option.default not in (None, usual) and not isinstance(option.default, tuple):
                    faults.append(f"{name}: {keyword} is {option.default!r} here and {usual!r} in Python")
                if option.opts[-1] != "--" + keyword.rstrip("_").replace("_", "-"):
                    faults.append(f"{name}: {option.opts}")
            if name in ("label", "view") and f"``{keyword}``" not in described:
                faults += [] if f"{keyword}:" in described else [f"{name}: {keyword} is not described"]
    assert faults == []


def test_an_option_arrives_as_its_keyword_and_changes_no_other(
    command: Command, basic: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = rows_of("""
        task SST-2                          | task       | 'SST-2'
        text-a sentence                     | text_a     | 'sentence'
        text-b question --text-a question   | text_b     | 'question'
        group document                      | group      | 'document'
        limit 50                            | limit      | 50
        sieve delimiter                     | sieve      | ('local', 'block', 'delimiter')
        preset published                    | preset     | 'published'
        statistic bias                      | statistic  | 'bias'
        margin 0.3                          | margin     | 0.3
        test t                              | test       | 't'
        correction holm                     | correction | 'holm'
        family run                          | family     | 'run'
        interval bca                        | interval   | 'bca'
        dtype bfloat16                      | dtype      | 'bfloat16'
        max-length 16                       | max_length | 16
        alpha 1e-100                        | alpha      | 1e-100
        seed 1                              | seed       | 1
        model another                       | model      | 'another'
        data shorter.tsv                    | data       | 'shorter.tsv'
        device cpu                          | device     | 'cpu'
        parser en_other                     | parser     | 'en_other'
    """)
    arrived: list[dict[str, Any]] = []

    def label(**options: Any) -> None:
        arrived.append({name: value for name, value in options.items() if name != "progress"})
        raise BadInput("seen")

    monkeypatch.setattr("headroles.runs.checks.check_run", lambda options: None)  # values need not exist
    monkeypatch.setattr(import_module(LABEL), "label", label)
    assert command("label", *basic, "--out", "run") == (1, "", "headroles: seen\n")
    usual = arrived.pop()
    for words, keyword, value in given:
        assert command("label", *basic, "--out", "run", *f"--{words}".split())[0] == 1
        after = arrived.pop()
        assert after[keyword] == eval(value), words
        changed = {name for name in usual if after[name] != usual[name]}
        assert changed == ({"text_a", "text_b"} if keyword == "text_b" else {keyword}), words


def test_label_prints_results_and_nothing_else_and_does_what_the_function_does(
    command: Command, basic: list[str], planted: Path, table: Path, tmp_path: Path
) -> None:
    code, out, err = command("label", *basic, "--limit", 40, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"report  {tmp_path}/run/report.html"
    assert out.startswith("6 heads of planted on ")
    found = headroles.label(
        "QNLI", model=planted, data=table, max_length=48, sieve=["local", "block"], limit=40
    )
    assert found.frame().to_csv(index=False) == _text(tmp_path / "run")
    assert found.labels().to_csv(index=False) == _text(tmp_path / "run", "labels.csv")
    assert found.manifest == headroles.load(tmp_path / "run").manifest


@pytest.mark.parametrize(
    "more",
    [
        "--preset published --limit 40",
        "--text-a sentence --group document --statistic bias --seed 3 --limit 33 --correction holm",
    ],
)
def test_the_command_in_the_manifest_gives_the_same_run(
    command: Command, basic: list[str], more: str, tmp_path: Path
) -> None:
    command("label", *basic, *more.split(), "--out", tmp_path / "one")
    program, *words = shlex.split(_manifest(tmp_path / "one")["command"])
    assert program == "headroles"
    assert command(*words, "--out", tmp_path / "two")[0] == 0
    for name in ("findings.csv", "labels.csv", "manifest.json", "report.html"):
        assert _text(tmp_path / "one", name) == _text(tmp_path / "two", name)


def test_the_command_in_the_manifest_of_a_judged_run_gives_the_same_run(
    command: Command, run: Path, tmp_path: Path
) -> None:
    code, out, err = command("judge", run, "--alpha", 0.01, "--correction", "holm", "--margin", 0.2, "-v")
    assert (code, err) == (0, "")
    assert "t-skew, holm over the heads of one sieve, alpha 0.01" in out
    _, *words = shlex.split(_manifest(run)["command"])
    assert command(*words, "--out", tmp_path / "two")[0] == 0
    assert _text(run) == _text(tmp_path / "two")
    one, two = _manifest(run), _manifest(tmp_path / "two")
    for facts in (one, two):  # plan.json says how a run was begun
        del facts["files"]["plan.json"], facts["sha256"]
    assert one == two


def test_an_option_of_judge_changes_the_table_it_is_about(command: Command, run: Path) -> None:
    changes = rows_of("""
                          | --bayes                            | precision.csv
        --interval bca    | --interval bca --resample-seed 5   | findings.csv
        --test bootstrap-t| --test bootstrap-t --resamples 999 | findings.csv
    """)
    for words, more, changed in changes:
        assert command("judge", run, *words.split())[::2] == (0, "")
        before = _text(run, changed)
        assert command("judge", run, *more.split())[::2] == (0, "")
        assert _text(run, changed) != before, more


def test_names_with_blanks_and_quotes_survive_in_the_command(
    command: Command, planted: Path, tmp_path: Path
) -> None:
    file = tmp_path / "it's; a $(file).tsv"
    rows = [f"the cat {k} sat in house {k}" for k in range(9)]
    file.write_text("--my column\n" + "\n".join(rows) + "\n")
    words = ["--model", planted, "--data", file, "--text-a", "--my column", "--sieve", "local"]
    assert command("label", *words, "--max-length", 32, "--out", tmp_path / "one")[::2] == (0, "")
    _, *again = shlex.split(_manifest(tmp_path / "one")["command"])
    assert command(*again, "--out", tmp_path / "two")[0] == 0
    assert _text(tmp_path / "one") == _text(tmp_path / "two")


def test_commands_typed_one_after_the_other_never_meet_in_one_folder(
    command: Command, basic: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in ("", "--alpha 0.01 --correction holm", "--seed 1"):
        code, out, err = command("label", *basic, *more.split())
        assert (code, err) == (0, "")
        hint = f"headroles judge runs/QNLI-planted{BASIC} --alpha 0.01 --correction holm"
        assert (hint in out.replace("\n", "")) is ("--alpha" in more)
    code, _, err = command(
        "label", *basic, "--alpha", "0.01", "--bayes", "--out", f"runs/QNLI-planted{BASIC}"
    )
    assert code == 1
    assert f"headroles judge runs/QNLI-planted{BASIC} --alpha 0.01 --bayes decides it again" in err
    (tmp_path / "other").mkdir()
    same_name = [shutil.copy(word, tmp_path / "other") if word.endswith(".tsv") else word for word in basic]
    assert command("label", *same_name)[0] == 0
    names = {folder.name for folder in (tmp_path / "runs").iterdir()}
    assert len(names) == 4
    assert {f"QNLI-planted{BASIC}", f"QNLI-planted-alpha-0.01-correction-holm{BASIC}"} < names
    assert [name for name in names if re.fullmatch(f"QNLI-planted{re.escape(BASIC)}-[0-9a-f]{{6}}", name)]


@pytest.mark.with_report
def test_report_writes_where_it_is_told(command: Command, run: Path, tmp_path: Path) -> None:
    before = _text(run, "report.html")
    (run / "report.html").unlink()
    assert command("report", run) == (0, f"report  {run}/report.html\n", "")
    out = tmp_path / "[b]x.html"
    assert command("report", run, "--out", out) == (0, f"report  {out}\n", "")
    assert _text(run, "report.html") == out.read_text() == before


def test_sieves_and_tasks_are_listed_in_parts_and_as_json(command: Command) -> None:
    code, out, err = command("sieves")
    assert (code, err) == (0, "")
    default = [line.split()[0] for line in out.splitlines() if line.split()[1:2] == ["default"]]
    assert default == sorted(BUILT_IN)
    assert [line.split()[0] for line in command("tasks")[1].splitlines()] == list(TASKS)
    for name, members in (("default", {*BUILT_IN}), ("patterns", {*PATTERNS})):
        assert {entry["name"] for entry in json.loads(command("sieves", name, "--json")[1])} == members
    out = command("sieves", "families")[1]
    names = [line.split()[0] for line in out.splitlines()[1:-1] if line[:1].strip()]
    assert names == ["local:<tokens>", "offset:<tokens>", "punctuation:<marks>", "syntactic:<relation>"]
    (entry,) = json.loads(command("sieves", "offset:-2", "--json")[1])
    assert (entry["name"], entry["origin"], entry["margin"]) == ("offset:-2", "headroles", 0.1)
    assert "contrast  0.02 beyond the head's own distance profile" in command("sieves", "block")[1]


def test_what_a_sieve_counts_is_drawn_or_written(command: Command, planted: Path, tmp_path: Path) -> None:
    words = ("sieves", "block", "--show", "the dog", "--show", "the cat", "--model", planted)
    code, out, err = command(*words)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "What the sieve block counts"
    assert "██" in out
    file = tmp_path / "block.svg"
    assert command(*words, "--svg", file)[1].split() == ["picture", str(file)]
    assert file.read_text(encoding="utf-8").startswith("<svg ")


def test_a_broken_sieve_is_listed_with_its_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Entry("good", "them", "Is it [red]?", "a book"), Entry("bad", "them", error="it is broken")]
    monkeypatch.setattr("headroles.catalogue.entries_of", lambda name: listed)
    code, out, _ = command("sieves")
    _, good, bad, *_ = out.splitlines()
    assert code == 0
    assert good.split() == ["good", "Is", "it", "[red]?", "a", "book", "them"]
    assert bad == "bad  broken: it is broken"


def test_exit_codes_are_0_for_answers_1_for_mistakes_and_2_for_wrong_usage(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = rows_of("""
        0 | --version              | headroles, version
        0 | --help                 | Usage:
        0 | label -h               | Usage: headroles label
        0 | judge --help           | no model is needed
        2 | lable                  | No such command 'lable'
        2 | label --taks QNLI      | No such option
        2 | label --alpha small    | 'small' is not a valid float
        2 | label --limit 2.5      | '2.5' is not a valid integer
        2 | report                 | Missing argument 'FOLDER'
        2 | tasks now              | unexpected extra argument
        2 |                        | Usage:
    """)
    for expected, words, fragment in cases:
        code, out, err = command(*words.split())
        told, silent = (err, out) if code else (out, err)
        assert (code, silent) == (int(expected), ""), words
        assert fragment in told, words
    assert command("--version")[1].strip().endswith(version("headroles"))

    def fail(**_: object) -> None:
        raise BadInput("a library\nspoke in\n  several lines")

    monkeypatch.setattr(import_module(LABEL), "label", fail)
    told = "headroles: a library\\nspoke in\\n several lines\n"
    assert command("label", "--task", "QNLI") == (1, "", told)


def test_missing_memory_is_code_1_and_one_line_and_a_bug_is_not(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("a bug"),
    ]

    def fail(**_: object) -> None:
        raise errors[0]

    monkeypatch.setattr(import_module(LABEL), "label", fail)
    while len(errors) > 1:
        code, out, err = command("label", "--task", "QNLI")
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert err.startswith("headroles: the run needs more memory or threads than this machine")
        errors.pop(0)
    with pytest.raises(RuntimeError, match="a bug"):
        command("label", "--task", "QNLI")


@pytest.fixture
def signals() -> Iterator[None]:
    """Put the handlers of signals back that a command sets."""
    kept = {how: signal.getsignal(how) for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for how, handler in kept.items():
        signal.signal(how, handler)


@pytest.mark.usefixtures("signals")
def test_a_hangup_that_nohup_ignores_stays_ignored(command: Command) -> None:
    for before, after in (
        (signal.SIG_IGN, signal.SIG_IGN),
        (signal.SIG_DFL, signal.default_int_handler),
    ):
        signal.signal(signal.SIGHUP, before)
        assert command("--version")[0] == 0
        assert signal.getsignal(signal.SIGHUP) is after


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_interrupted_before_its_first_shard_says_so_and_leaves_nothing(
    command: Command, basic: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        signal.raise_signal(how)

    monkeypatch.setattr("headroles.runs.label.work.stream_tokenised", interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    code, out, err = command("label", *basic, "--out", tmp_path / "runs" / "run")
    assert (code, out, err.strip()) == (130, "", "headroles: stopped; nothing was written")
    assert list(tmp_path.iterdir()) == []


def test_a_label_run_in_a_new_process_loads_no_library_that_other_runs_need(
    basic: list[str], tmp_path: Path
) -> None:
    script = (
        "import sys\n"
        "from headroles.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as leaving:\n"
        f"    print(leaving.code, [name for name in {UNNEEDED} if name in sys.modules])\n"
    )
    options = basic[: -len(SIEVES)]  # all sieves, with the parser
    words = [sys.executable, "-c", script, "label", *options, "--quiet", "--out", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=480, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_show_in_a_new_process_loads_no_model_and_writes_letters_a_terminal_has(finished: Path) -> None:
    code = (
        "import sys; sys.argv = ['headroles', 'show', sys.argv[1]]\n"
        "from headroles.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'spacy', 'scipy', 'plotly', 'sklearn'} & sys.modules.keys()\n"
        "print('loaded', sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(finished)],
        env={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=480,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == b"loaded []"
    assert b"? 1 head stays in the query's own text" in done.stdout


@pytest.mark.ci
def test_the_installed_command_ends_quietly_when_its_reader_leaves_early() -> None:
    script = Path(sys.executable).with_name("headroles")
    words = f"{shlex.quote(str(script))} sieves | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=240, check=True)
    assert (done.stdout.split()[:2], done.stderr) == (["sieve", "set"], "")


def test_options_of_display_decide_what_is_printed_and_are_no_settings(
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
    settings = _manifest(tmp_path / "run")
    assert not {"json", "quiet", "verbose", "grid", "open"} & settings["settings"].keys()
    assert "--json" not in settings["command"]


def test_open_opens_the_report_after_it_is_printed(
    command: Command, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def opened(address: str) -> bool:
        asked.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", opened)
    code, out, err = command("show", finished, "--open")
    assert (code, err, asked) == (0, "", [(finished / "report.html").resolve().as_uri()])
    assert out.endswith("report.html\n")
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    told = f"no browser could be opened; open {finished}/report.html in one\n"
    assert command("show", finished, "--open", "--quiet") == (0, f"{finished}/report.html\n", told)


def test_json_has_the_counts_and_the_strongest_heads_of_the_findings(
    command: Command, finished: Path
) -> None:
    code, out, err = command("show", finished, "--json")
    assert (code, err) == (0, "")
    facts, run = json.loads(out), headroles.load(finished)
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
    shown = command("show", finished)[1]
    assert all(f"• {sentence}\n" in shown for sentence in facts["sentences"])


def test_every_command_has_one_whole_line_of_help(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = command("--help")[1]
    for name, shown in cli.commands.items():
        (line,) = [line for line in out.splitlines() if line.split()[:1] == [name]]
        assert len(line) <= 80
        summary = " ".join((shown.help or "").split()).partition(". ")[0].removesuffix(".")
        assert line.endswith(f"  {summary}")
        assert isinstance(shown, click.Command)


def test_the_source_hub_is_asked_for_the_task_and_its_dataset(
    command: Command, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.records import Passage

    asked = []

    def read(task: object, repository: str, name: str, *, stream: bool) -> Iterator[Passage]:
        assert not stream
        asked.append((getattr(task, "config", ""), repository))
        return (Passage(f"{name}/{k}", (f"who is cat {k} ?", f"it sat in house {k} .")) for k in range(9))

    monkeypatch.setattr("headroles.inputs.passages.stream_hub", read)
    words = ["--task", "QNLI", "--model", planted, "--source", "hub", "--max-length", 32, *SIEVES]
    assert command("label", *words, "--out", tmp_path / "one")[0] == 0
    assert command("label", *words, "--data", "me/glue", "--out", tmp_path / "two")[0] == 0
    assert list(dict.fromkeys(asked)) == [("qnli", "nyu-mll/glue"), ("qnli", "me/glue")]
    source = _manifest(tmp_path / "two")["source"]
    assert source.items() >= {"kind": "hub", "name": "me/glue", "rows": 9}.items()
