"""The command line: the same options as the keywords, exit codes, and what goes where."""

import errno
import json
import os
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

import pytest

import headroles
from headroles.catalogue import Entry
from headroles.errors import BadInput
from headroles.sieves import BUILT_IN, PATTERNS
from tests.conftest import Command
from tests.support import table as rows_of

SIEVES = ("--sieve", "local", "--sieve", "block")
BASIC = "-data-pairs-max-length-48-sieve-local+block"
"""What the options of a small run add to the name of its folder."""
UNNEEDED = ("pandas", "datasets", "statsmodels", "pingouin", "sklearn", "plotly", "ray")
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


def test_label_prints_results_and_nothing_else_and_does_what_the_function_does(
    command: Command, basic: list[str], planted: Path, table: Path, tmp_path: Path
) -> None:
    code, out, err = command("label", *basic, "--limit", 40, "--out", tmp_path / "run")
    assert (code, err) == (0, "40 inputs: no head can be called “not” below 50.\n")
    assert out.splitlines()[-1] == f"report  {tmp_path}/run/report.html"
    assert out.startswith("6 heads of planted on ")
    options: dict[str, Any] = {"max_length": 48, "sieve": ["local", "block"], "limit": 40}
    found = headroles.label("QNLI", model=planted, data=table, **options)
    assert found.frame().to_csv(index=False) == _text(tmp_path / "run")
    assert found.labels().to_csv(index=False) == _text(tmp_path / "run", "labels.csv")
    assert found.manifest == headroles.load(tmp_path / "run").manifest
    again = ("label", *basic, "--limit", 40, "--out", tmp_path / "run")
    assert command(*again, "--quiet") == (0, f"{tmp_path}/run/report.html\n", "")
    code, out, err = command(*again, "--json")
    assert (code, err[:9], json.loads(out)["kind"]) == (0, "40 inputs", "label")
    assert found.manifest == headroles.load(tmp_path / "run").manifest  # where no option of display stands


def test_the_command_in_the_manifest_gives_the_same_run_whatever_names_hold(
    command: Command, planted: Path, table: Path, tmp_path: Path
) -> None:
    file = tmp_path / "it's; a $(file).tsv"
    file.write_text(table.read_text().replace("sentence", "--my column", 1))
    words = ["--model", planted, "--data", file, "--text-a", "--my column", "--group", "document", *SIEVES]
    words += ["--statistic", "bias", "--seed", 3, "--limit", 33, "--correction", "holm", "--max-length", 48]
    assert command("label", *words, "--out", tmp_path / "one")[0] == 0
    program, *again = shlex.split(_manifest(tmp_path / "one")["command"])
    assert program == "headroles"
    assert command(*again, "--out", tmp_path / "two")[0] == 0
    for name in ("findings.csv", "labels.csv", "manifest.json", "report.html"):
        assert _text(tmp_path / "one", name) == _text(tmp_path / "two", name)


def test_a_judged_run_gives_the_command_that_makes_it_and_every_option_changes_its_table(
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
    for usual, more, changed in rows_of("""
                          | --bayes                            | precision.csv
        --interval bca    | --interval bca --resample-seed 5   | findings.csv
        --test bootstrap-t| --test bootstrap-t --resamples 999 | findings.csv
    """):
        assert command("judge", run, *usual.split())[::2] == (0, "")
        before = _text(run, changed)
        assert command("judge", run, *more.split())[::2] == (0, "")
        assert _text(run, changed) != before, more
    files = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    told = command("judge", run, "--margin", 0.95, "--out", tmp_path / "strict")[1]
    assert told.startswith("changed: local 2 → 0 heads")
    assert files == {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    assert command("verify", tmp_path / "strict")[0] == 0
    assert command("judge", run)[1].startswith("nothing changed\n")


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


def test_sieves_are_listed_in_parts_drawn_and_named_where_they_are_broken(
    command: Command, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, members in (("default", {*BUILT_IN}), ("patterns", {*PATTERNS})):
        assert {entry["name"] for entry in json.loads(command("sieves", name, "--json")[1])} == members
    (entry,) = json.loads(command("sieves", "offset:-2", "--json")[1])
    assert (entry["name"], entry["origin"], entry["margin"]) == ("offset:-2", "headroles", 0.1)
    assert "contrast  0.02 beyond the head's own distance profile" in command("sieves", "block")[1]
    words = ("sieves", "block", "--show", "the dog", "--show", "the cat", "--model", planted)
    code, out, err = command(*words)
    assert (code, err, out.splitlines()[0]) == (0, "", "What the sieve block counts")
    assert "██" in out
    file = tmp_path / "block.svg"
    assert command(*words, "--svg", file)[1].split() == ["picture", str(file)]
    assert file.read_text(encoding="utf-8").startswith("<svg ")
    listed = [Entry("good", "them", "Is it [red]?", "a book"), Entry("bad", "them", error="it is broken")]
    monkeypatch.setattr("headroles.catalogue.entries_of", lambda name: listed)
    _, good, bad, *_ = command("sieves")[1].splitlines()
    assert good.split() == ["good", "Is", "it", "[red]?", "a", "book", "them"]
    assert bad == "bad  broken: it is broken"


def test_exit_codes_are_0_for_answers_1_for_mistakes_and_2_for_wrong_usage(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for expected, words, fragment in rows_of("""
        0 | --version           | headroles, version
        0 | label -h            | Usage: headroles label
        2 | label --alpha small | 'small' is not a valid float
        2 | show                | Missing argument 'FOLDER'
        2 | sieves local now    | unexpected extra argument
        2 |                     | Usage:
    """):
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
    for before, after in ((signal.SIG_IGN, signal.SIG_IGN), (signal.SIG_DFL, signal.default_int_handler)):
        signal.signal(signal.SIGHUP, before)
        assert command("--version")[0] == 0
        assert signal.getsignal(signal.SIGHUP) is after  # a hangup that nohup ignores stays ignored


def _ended(
    words: list[str], unneeded: tuple[str, ...], stdin: int | None = None, **environment: str
) -> bytes:
    """Run a command in a new process; return its output, and at the end its code and what it loaded."""
    script = (
        "import sys\n"
        "from headroles.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as leaving:\n"
        f"    print(leaving.code, [name for name in {unneeded} if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", script, *words]
    kept = os.environ | environment
    return subprocess.run(command, stdin=stdin, capture_output=True, timeout=480, check=True, env=kept).stdout


@pytest.mark.ci
def test_a_new_process_loads_no_library_it_does_not_need_and_writes_letters_a_terminal_has(
    basic: list[str], finished: Path, tmp_path: Path
) -> None:
    options = basic[: -len(SIEVES)]  # all sieves, with the parser
    out = _ended(["label", *options, "--quiet", "--out", str(tmp_path / "run")], UNNEEDED)
    assert out.splitlines()[-1] == b"0 []"
    heavy = ("torch", "transformers", "spacy", "scipy", "plotly", "sklearn")
    out = _ended(["show", str(finished)], heavy, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert out.splitlines()[-1] == b"0 []"
    assert b"? 2 heads look at" in out


def test_too_few_inputs_are_told_before_a_model_is_loaded_and_asked_about_where_they_decide_nothing(
    command: Command, basic: list[str], finished: Path, tmp_path: Path
) -> None:
    few, out = [*basic, "--limit", "12"], ["--out", str(tmp_path / "run")]
    screen, keys = os.openpty()
    os.write(screen, b"n\n")
    assert _ended(["label", *few, *out], ("torch", "transformers"), stdin=keys).splitlines() == [b"130 []"]
    assert list(tmp_path.iterdir()) == []
    said = "12 inputs: no head can get a role below 20; no head can be called “not” below 50.\n"
    assert command("label", *few, *out, "--yes")[::2] == (0, said)
    asked = command("why", finished, "--redeals", 0, "--rotations", 99, "--out", tmp_path / "why")
    assert asked[::2] == (0, "60 inputs: nothing can be decided about queries and keys below 79.\n")
    grouped = tmp_path / "grouped.csv"
    grouped.write_text("text,book\n" + "".join(f"The cat {row} sat.,b{row % 30}\n" for row in range(90)))
    model = _manifest(finished)["settings"]["model"]
    words = ["--data", grouped, "--text-a", "text", "--group", "book", "--roles", finished, "--model", model]
    err = command("ablate", *words, "--outcome", "tokens", "--out", tmp_path / "ablate")[2]
    assert err.startswith("30 units in 90 inputs: nothing can be called negligible below 75; no role")


@pytest.mark.ci
def test_the_installed_command_ends_quietly_when_its_reader_leaves_early() -> None:
    script = Path(sys.executable).with_name("headroles")
    words = f"{shlex.quote(str(script))} sieves | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=240, check=True)
    assert (done.stdout.split()[:2], done.stderr) == (["sieve", "set"], "")


@pytest.mark.with_report
def test_a_report_is_written_where_it_is_told_and_opened_after_it_is_printed(
    command: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "[b]x.html"
    (run / "report.html").unlink()
    assert command("show", run, "--page") == (0, f"report  {run}/report.html\n", "")
    assert command("show", run, "--page", "--out", out) == (0, f"report  {out}\n", "")
    assert command("show", run, "--page", out) == (0, f"report  {out}\n", "")
    assert _text(run, "report.html") == out.read_text()
    assert 'id="findings-columns"' in out.read_text()
    asked: list[str] = []

    def opened(address: str) -> bool:
        asked.append(address)
        return len(asked) == 2

    monkeypatch.setattr(webbrowser, "open", opened)
    told = f"no browser could be opened; open {run}/report.html in one\n"
    assert command("show", run, "--open", "--quiet") == (0, f"{run}/report.html\n", told)
    code, printed, err = command("show", run, "--open")
    assert (code, err, asked) == (0, "", [(run / "report.html").resolve().as_uri()] * 2)
    assert printed.endswith("report.html\n")


def test_show_says_what_a_head_does_by_each_of_its_names(command: Command, run: Path) -> None:
    text = f"{headroles.load(run).head(1, 0)!r}\n"
    for name in ("1-0", "1.0", "L1H0", "l1h0"):
        assert command("show", run, "--head", name) == (0, text, "")
    card = json.loads(command("show", run, "--head", "1-0", "--json")[1])
    assert (card["layer"], card["head"], [*card["roles"]]) == (1, 0, ["local", "delimiter", "block"])
    code, out, err = command("show", run, "--head", "99-0")
    assert (code, out, "name one of those" in err) == (1, "", True)
