"""The command line: the same options as the keywords, exit codes, and what goes where."""

import csv
import errno
import inspect
import io
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import headroles
import headroles.exporting
import headroles.judging.again
import headroles.runs.label.run
from headroles.catalogue import Entry
from headroles.cli.main import cli
from headroles.cli.options import Command
from headroles.errors import BadInput
from headroles.options.described import shown
from headroles.options.label import LabelOptions
from headroles.options.listed import DisplayOptions
from headroles.planning import study
from headroles.records.passage import Passage
from headroles.shards.verify import verify
from headroles.sieves import BUILT_IN
from headroles.tasks import TASKS

Run = Callable[..., tuple[int, str, str]]
SIEVES = ("--sieve", "local", "--sieve", "block")
BASIC = "-data-pairs-max-length-48-sieve-local+block"
"""What the options of a small run add to the name of its folder."""
UNNEEDED = ("numba", "pandas", "datasets", "statsmodels", "pingouin", "sklearn", "plotly", "ray")
"""Libraries that a plain label run never loads."""


@pytest.fixture
def basic(planted: Path, table: Path) -> list[str]:
    """Options of a small run on planted heads."""
    return ["--task", "QNLI", "--model", str(planted), "--data", str(table), "--max-length", "48", *SIEVES]


@pytest.fixture(scope="module")
def usual(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of that run."""
    folder = tmp_path_factory.mktemp("usual") / "run"
    headroles.label("QNLI", model=planted, data=table, max_length=48, sieve=["local", "block"], out=folder)
    return folder


def _manifest(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return facts


def _text(folder: Path, name: str = "findings.csv") -> str:
    return (folder / name).read_text()


def test_the_options_of_label_are_the_keywords_of_label_with_the_same_defaults() -> None:
    label = cli.commands["label"]
    whole = cli.make_context("headroles", ["label"])
    given = label.make_context("label", ["--task", "QNLI"], parent=whole).params
    chosen = LabelOptions(task="QNLI")
    printed = {each.name: each.default for each in fields(DisplayOptions)}
    assert given == {each.name: getattr(chosen, each.name) for each in fields(LabelOptions)} | printed
    for option in label.params:
        assert option.opts[-1] == "--" + str(option.name).replace("_", "-")
        assert getattr(option, "help", ""), option.name
    described = inspect.getdoc(headroles.label) or ""
    assert not [
        name
        for name in given.keys() - printed
        if f"``{name}``" not in described and f"{name}:" not in described
    ]


def test_every_option_is_a_keyword_of_its_function() -> None:
    functions: dict[str, Callable[..., Any]] = {
        "label": headroles.label,
        "probe": headroles.probe,
        "surface": headroles.surface,
        "cluster": headroles.cluster,
        "view": headroles.view,
        "extract": headroles.extract,
        "judge": headroles.judge_scores,
        "convert": headroles.convert,
        "compare": headroles.compare,
        "atlas": headroles.atlas,
        "replicate": headroles.replicate,
        "table": headroles.table,
        "share": headroles.share,
        "verify": verify,
        "plan": study,
    }
    for name, function in functions.items():
        command = cli.commands[name]
        assert isinstance(command, Command)
        keywords = inspect.signature(function).parameters
        own = {option.name for option in shown(command.record)} - ({"folder"} if name == "judge" else set())
        for option in (option for option in command.params if option.name in own):
            assert option.name in keywords
            usual = keywords[option.name].default
            if option.param_type_name == "option" and not option.required and option.default is not None:
                assert usual == option.default, option.name


GIVEN: dict[str, tuple[tuple[object, ...], object]] = {
    "task": (("SST-2",), "SST-2"),
    "text-a": (("sentence",), "sentence"),
    "text-b": (("question", "--text-a", "question"), "question"),
    "group": (("document",), "document"),
    "limit": ((50,), 50),
    "sieve": (("delimiter",), ("local", "block", "delimiter")),
    "preset": (("published",), "published"),
    "statistic": (("bias",), "bias"),
    "margin": ((0.3,), 0.3),
    "test": (("t",), "t"),
    "correction": (("holm",), "holm"),
    "family": (("run",), "run"),
    "interval": (("bca",), "bca"),
    "dtype": (("bfloat16",), "bfloat16"),
    "max-length": ((16,), 16),
    "alpha": ((1e-100,), 1e-100),
    "seed": ((1,), 1),
    "model": (("another",), "another"),
    "data": (("shorter.tsv",), "shorter.tsv"),
    "device": (("cpu",), "cpu"),
    "parser": (("en_other",), "en_other"),
}
"""Words of an option, and the value that ``label`` gets; tests/runs/test_label.py sees what each changes."""


@pytest.mark.parametrize("option", sorted(GIVEN))
def test_an_option_arrives_as_its_keyword_and_changes_no_other(
    option: str, command: Run, basic: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: list[dict[str, Any]] = []

    def label(**given: Any) -> None:
        del given["progress"]
        arrived.append(given)
        raise BadInput("seen")

    monkeypatch.setattr("headroles.runs.checks.check_run", lambda options: None)  # the values need not exist
    monkeypatch.setattr("headroles.runs.label.run.label", label)
    words, value = GIVEN[option]
    for more in ((), (f"--{option}", *words)):
        assert command("label", *basic, "--out", "run", *more) == (1, "", "headroles: seen\n")
    before, after = arrived
    assert after[option.replace("-", "_")] == value
    expected = {option.replace("-", "_")} | ({"text_a"} if option == "text-b" else set())
    assert {name for name, each in before.items() if after[name] != each} == expected


@pytest.mark.parametrize(
    ("words", "more", "changed"),
    [
        ([], ["--bayes"], "precision.csv"),
        (["--interval", "bca"], ["--resample-seed", 5], "findings.csv"),
        (["--test", "bootstrap-t"], ["--resamples", 999], "findings.csv"),
    ],
)
def test_an_option_of_judge_changes_the_table_it_is_about(
    words: list[str], more: list[Any], changed: str, command: Run, usual: Path, tmp_path: Path
) -> None:
    shutil.copytree(usual, tmp_path / "run")
    assert command("judge", tmp_path / "run", *words)[::2] == (0, "")
    before = _text(tmp_path / "run", changed)
    assert command("judge", tmp_path / "run", *more)[::2] == (0, "")
    assert _text(tmp_path / "run", changed) != before


def test_the_source_hub_is_asked_for_the_task_and_its_dataset(
    command: Run, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert _manifest(tmp_path / "two")["source"] == _manifest(tmp_path / "two")["source"] | {
        "kind": "hub",
        "name": "me/glue",
        "rows": 9,
    }


def test_label_prints_results_and_nothing_else(command: Run, basic: list[str], tmp_path: Path) -> None:
    code, out, err = command("label", *basic, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"report  {tmp_path}/run/report.html"
    assert out.startswith("6 heads of planted on ")
    (row,) = [line.split() for line in out.splitlines() if line.startswith("L ")]
    assert row[1:4] == ["neighbours", "(±2)", "2"]
    assert row[-2:] == ["–", "0"]  # nothing explains a score without a contrast


def test_the_command_line_does_what_the_function_does(
    command: Run, basic: list[str], planted: Path, table: Path, tmp_path: Path
) -> None:
    command("label", *basic, "--limit", 40, "--out", tmp_path / "run")
    found = headroles.label(
        "QNLI", model=planted, data=table, max_length=48, sieve=["local", "block"], limit=40
    )
    assert found.frame().to_csv(index=False) == _text(tmp_path / "run")
    assert found.labels().to_csv(index=False) == _text(tmp_path / "run", "labels.csv")
    assert found.manifest == headroles.load(tmp_path / "run").manifest


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--preset", "published", "--limit", 40),
        ("--text-a", "sentence", "--group", "document", "--statistic", "bias", "--seed", 3, "--limit", 33),
    ],
)
def test_the_command_in_the_manifest_gives_the_same_run(
    command: Run, basic: list[str], more: tuple[object, ...], tmp_path: Path
) -> None:
    command("label", *basic, *more, "--out", tmp_path / "one")
    program, *words = shlex.split(_manifest(tmp_path / "one")["command"])
    assert program == "headroles"
    assert command(*words, "--out", tmp_path / "two")[0] == 0
    for name in ("findings.csv", "labels.csv", "manifest.json", "report.html"):
        assert _text(tmp_path / "one", name) == _text(tmp_path / "two", name)


def test_the_command_in_the_manifest_of_a_judged_run_gives_the_same_run(
    command: Run, run: Path, tmp_path: Path
) -> None:
    code, out, err = command("judge", run, "--alpha", 0.01, "--correction", "holm", "--margin", 0.2, "-v")
    assert (code, err) == (0, "")
    assert "t-skew, holm over the heads of one sieve, alpha 0.01" in out
    _, *words = shlex.split(_manifest(run)["command"])
    assert command(*words, "--out", tmp_path / "two")[0] == 0
    assert _text(run) == _text(tmp_path / "two")
    one, two = _manifest(run), _manifest(tmp_path / "two")
    for each in (one, two):  # which says how a run was begun
        del each["files"]["plan.json"], each["sha256"]
    assert one == two


def test_names_with_blanks_and_quotes_survive_in_the_command(
    command: Run, planted: Path, tmp_path: Path
) -> None:
    file = tmp_path / "it's; a $(file).tsv"
    rows = [f"the cat {k} sat in house {k}" for k in range(9)]
    file.write_text("--my column\n" + "\n".join(rows) + "\n")
    words = ["--model", planted, "--data", file, "--text-a", "--my column", "--sieve", "local"]
    code, _, err = command("label", *words, "--max-length", 32, "--out", tmp_path / "one")
    assert (code, err) == (0, "")
    _, *again = shlex.split(_manifest(tmp_path / "one")["command"])
    assert command(*again, "--out", tmp_path / "two")[0] == 0
    assert _text(tmp_path / "one") == _text(tmp_path / "two")


def test_without_out_a_run_goes_to_a_folder_named_after_inputs_and_model(
    command: Run, basic: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("label", *basic)
    assert code == 0
    folder = f"QNLI-planted{BASIC}"
    assert out.splitlines()[-1] == f"report  runs/{folder}/report.html"
    assert (tmp_path / "runs" / folder / "findings.csv").is_file()
    assert [each.name for each in (tmp_path / "runs").iterdir()] == [folder]


def test_commands_typed_one_after_the_other_never_meet_in_one_folder(
    command: Run, basic: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--margin", "0.2"], ["--alpha", "0.01", "--correction", "holm"], ["--seed", "1"]):
        code, out, err = command("label", *basic, *more)
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
    names = {each.name for each in (tmp_path / "runs").iterdir()}
    assert len(names) == 5
    assert {f"QNLI-planted{BASIC}", f"QNLI-planted-alpha-0.01-correction-holm{BASIC}"} < names
    assert [name for name in names if re.fullmatch(f"QNLI-planted{re.escape(BASIC)}-[0-9a-f]{{6}}", name)]


@pytest.mark.with_report
def test_report_writes_where_it_is_told(command: Run, run: Path, tmp_path: Path) -> None:
    before = _text(run, "report.html")
    (run / "report.html").unlink()
    assert command("report", run) == (0, f"report  {run}/report.html\n", "")
    assert command("report", run, "--out", tmp_path / "[b]x.html") == (
        0,
        f"report  {tmp_path}/[b]x.html\n",
        "",
    )
    assert _text(run, "report.html") == _text(tmp_path, "[b]x.html") == before


def test_sieves_and_tasks_are_listed(command: Run) -> None:
    code, out, err = command("sieves")
    assert (code, err) == (0, "")
    default = [line.split()[0] for line in out.splitlines() if line.split()[1:2] == ["default"]]
    assert default == sorted(BUILT_IN)
    assert "Pande et al. 2021" in out
    code, out, err = command("tasks")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(TASKS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--version"], f"headroles, version {version('headroles')}"),
        (["--help"], "Usage: "),
        (["label", "-h"], "Usage: headroles label"),
        (["judge", "--help"], "no model is needed"),
    ],
)
def test_questions_about_itself_are_answered_with_code_0(
    command: Run, words: list[str], expected: str
) -> None:
    code, out, err = command(*words)
    assert (code, err) == (0, "")
    assert expected in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["lable"], "No such command 'lable'"),
        (["label", "--taks", "QNLI"], "No such option"),
        (["label", "--alpha", "small"], "'small' is not a valid float"),
        (["label", "--limit", "2.5"], "'2.5' is not a valid integer"),
        (["report"], "Missing argument 'FOLDER'"),
        (["tasks", "now"], "unexpected extra argument"),
        ([], "Usage: "),
    ],
)
def test_wrong_usage_is_code_2(command: Run, words: list[str], expected: str) -> None:
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert expected in err


def test_a_mistake_is_code_1_and_one_line_on_stderr(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BadInput("a library\nspoke in\n  several lines")

    monkeypatch.setattr("headroles.runs.label.run.label", fail)
    assert command("label", "--task", "QNLI") == (
        1,
        "",
        "headroles: a library\\nspoke in\\n several lines\n",
    )


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_missing_memory_is_code_1_and_one_line(
    error: Exception, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("headroles.runs.label.run.label", fail)
    code, out, err = command("label", "--task", "QNLI")
    assert (code, out) == (1, "")
    assert err.startswith("headroles: the run needs more memory or threads than this machine or its limit")
    assert err.count("\n") == 1


def test_other_errors_are_not_taken_for_missing_memory(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("headroles.runs.label.run.label", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        command("label", "--task", "QNLI")


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_under_a_memory_limit_arrow_starts_no_thread_once_the_run_reads_files(tmp_path: Path) -> None:
    """A thread that cannot be started later leaves the reader waiting for ever."""
    script = (
        "import os, resource, sys\n"
        "import pyarrow as pa, pyarrow.parquet as pq\n"
        "from headroles.cli import main\n"
        "threads = lambda: len(os.listdir('/proc/self/task'))\n"
        "table = pa.table({name: range(5000) for name in 'abcdefgh'})\n"
        "pq.write_table(table, sys.argv[1], row_group_size=500)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**35, 2**35))\n"
        "main._start_arrow_threads()\n"
        "before = threads()\n"
        "pq.read_table(sys.argv[1])\n"
        "print(threads() - before)\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "table.parquet")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout == "0\n"


@pytest.fixture
def signals() -> Iterator[None]:
    """Put the handlers of signals back that a command sets."""
    kept = {how: signal.getsignal(how) for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for how, handler in kept.items():
        signal.signal(how, handler)


@pytest.mark.usefixtures("signals")
def test_a_hangup_that_nohup_ignores_stays_ignored(command: Run) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert command("--version")[0] == 0
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert command("--version")[0] == 0
    assert signal.getsignal(signal.SIGHUP) is signal.default_int_handler


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_interrupted_before_its_first_shard_says_so_and_leaves_nothing(
    command: Run, basic: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        signal.raise_signal(how)

    monkeypatch.setattr("headroles.runs.label.work.stream_tokenised", interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    code, out, err = command("label", *basic, "--out", tmp_path / "runs" / "run")
    assert (code, out, err.strip()) == (130, "", "headroles: stopped; nothing was written")
    assert list(tmp_path.iterdir()) == []


def test_a_label_run_loads_no_library_that_other_runs_need(basic: list[str], tmp_path: Path) -> None:
    """Each of them takes up to a second to load, and numba compiles on its first use."""
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


def test_a_terminal_without_the_letters_gets_question_marks(run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headroles", "judge", str(run)],
        env={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=480,
        check=False,
    )
    assert (done.returncode, done.stderr.split()[0]) == (0, b"judge")
    assert b"? 1 head stays in the query's own text" in done.stdout


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    words = f"{shlex.quote(sys.executable)} -m headroles sieves | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=240, check=True)
    assert (done.stdout.split()[:2], done.stderr) == (["sieve", "set"], "")


def test_the_table_of_counts_is_not_broken_where_there_is_no_terminal(run: Path, command: Run) -> None:
    _, out, _ = command("judge", run)
    (row,) = [line for line in out.splitlines() if line.startswith("B ")]
    assert re.search(r" 1-1  0\.\d\d \[0\.\d\d, 0\.\d\d\] {2,}\d+ {2,}\d+$", row)


def test_a_broken_sieve_is_listed_with_its_error(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Entry("good", "them", "Is it [red]?", "a book"), Entry("bad", "them", error="it is broken")]
    monkeypatch.setattr("headroles.catalogue.entries_of", lambda name: listed)
    code, out, _ = command("sieves")
    assert code == 0
    heading, good, bad, *_ = out.splitlines()
    assert heading.split() == [
        "sieve",
        "set",
        "needs",
        "contrast",
        "does",
        "the",
        "head",
        "…",
        "source",
        "from",
    ]
    assert good.split() == ["good", "Is", "it", "[red]?", "a", "book", "them"]
    assert bad == "bad  broken: it is broken"


def test_tables_can_be_read_by_anything(run: Path) -> None:
    rows = list(csv.reader(io.StringIO(_text(run, "labels.csv"))))
    assert {len(row) for row in rows} == {6}
