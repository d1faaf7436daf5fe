"""Folders that come from somebody else: no reader changes, runs or waits for anything that they name."""

import json
import os
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.storage import AFTER
from tests.conftest import Command
from tests.contract.recorded import RECORDED
from tests.support.folders import change_manifest, contents

READERS: tuple[tuple[str, ...], ...] = (
    ("show", "run"), ("verify", "run"), ("show", "run", "--table"), ("share", "run", "--out", "shared"),
    ("view", "--run", "run"), ("compare", "run", "other", "--out", "compared"),
    ("atlas", "run", "other", "--out", "atlas"), ("compare", "run", "other", "--replicate"), ("why", "run"),
    ("ablate", "--roles", "run"), ("prune", "run", "--bound", "0.1"),
    ("prune", "run", "--check", "--data", "x"),
    ("show", "run", "--page", "page.html"), ("show", "run", "--table", "--out", "t.csv"),
    ("show", "file://{here}/run"), ("share", "file://{here}/run", "--out", "shared"),
)  # fmt: skip
"""Commands that read a finished run."""
WRITERS: tuple[tuple[str, ...], ...] = (
    ("judge", "run", "--alpha", "0.2"), ("show", "run", "--page"), ("show", "run", "--figures", "svg"),
)  # fmt: skip
"""Commands that write into the folder of a run, and finish what a stopped one left."""


@pytest.fixture
def received(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder ``run`` in the present folder, with another run and the user's own file beside it."""
    for name in ("run", "other"):
        shutil.copytree(finished, tmp_path / name)
    (tmp_path / "victim.txt").write_text("years of work")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def _wait(folder: Path, gone: list[str], new: dict[str, bytes] | None = None) -> None:
    """Leave a journal and new files in a folder, as a command that is stopped does."""
    for name, data in (new or {}).items():
        (folder / AFTER / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / AFTER / name).write_bytes(data)
    (folder / AFTER).mkdir(exist_ok=True)
    (folder / AFTER / "journal.json").write_text(json.dumps({"gone": gone, "last": "manifest.json"}))


ATTACKS = (
    "a name above", "an absolute name", "a name behind a link", "a file of somebody else",
    "a link among new files", "a name of control characters", "a note among figures",
    "a folder in place of a file", "a linked folder of new files", "many names", "deep nesting", "a pipe",
    "no journal",
)  # fmt: skip


def _attack(run: Path, kind: str) -> None:
    """Leave a journal in a run that would delete or replace what is not its own."""
    journal, victim = run / AFTER / "journal.json", run.parent / "victim.txt"
    names = {
        "a name above": ["../victim.txt"],
        "an absolute name": [str(victim)],
        "a name behind a link": ["figures/victim.txt"],
        "a file of somebody else": ["thesis.tex"],
        "a name of control characters": ["figures/\x1b[2J\n../../victim.txt"],
        "a note among figures": ["figures/notes.txt"],
        "many names": [f"../{number}" for number in range(50_000)],
    }
    if kind == "a linked folder of new files":
        _wait(run.parent / "other", ["manifest.json"])
        (run / AFTER).symlink_to(run.parent / "other" / AFTER)
        return
    _wait(run, names.get(kind, []))
    match kind:
        case "a name behind a link":
            (run / "figures").symlink_to(run.parent)
        case "a file of somebody else":
            (run / "thesis.tex").write_text("more")
        case "a link among new files":
            (run / AFTER / "report.html").symlink_to(victim)
        case "a note among figures":
            (run / "figures").mkdir()
            (run / "figures" / "notes.txt").write_text("mine")
        case "a folder in place of a file":
            (run / AFTER / "a" / "b").mkdir(parents=True)
            (run / AFTER / "a" / "b" / "c").symlink_to(run.parent)
        case "deep nesting":
            journal.write_text("[" * 99_999)
        case "a pipe":
            journal.unlink()
            os.mkfifo(journal)
        case "no journal":
            journal.write_text("[1]")


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_journal_deletes_no_file_whatever_it_names_and_whoever_reads(
    received: Path, command: Command, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    _attack(received, attack)
    before = contents(received.parent)
    for words in READERS:
        code, _, err = command(*(word.replace("{here}", str(received.parent)) for word in words))
        other = words[0] == "prune" or "//" in words[1]  # refused for another reason, too
        assert (code, "start that command again" in err or other) == (1, True), (words, err)
    for words in WRITERS:
        code, _, err = command(*words)
        assert (code, "leaves only its own files in" in err) == (1, True), (words, err)
    after = contents(received.parent)
    assert {name: after.get(name) for name in before} == before


def test_a_half_changed_folder_is_finished_by_a_command_that_writes_and_by_no_other(
    received: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    headroles.judge_again(received, alpha=0.2)
    new = {name: data for name, data in contents(received).items() if data != contents(Path("other"))[name]}
    shutil.rmtree(received)
    shutil.copytree("other", received)
    _wait(received, ["report.html"], new)
    before = contents(received)
    with pytest.raises(
        BadInput, match=r"start that command again, or headroles judge run, and it is finished"
    ):
        headroles.load("run")
    assert contents(received) == before
    assert command("judge", "run", "--alpha", "0.2")[0] == 0
    assert not (received / AFTER).exists()
    assert headroles.load(received).decision.alpha == 0.2


def test_maps_that_are_half_replaced_or_a_pipe_are_refused(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("victim.txt").write_text("years of work")
    Path("m.json").write_text('[{"tokens": ["a", "b"]}]')
    words = ("label", "--attention", "m.npz", "--sieve", "local", "--out", "out")
    os.mkfifo("m.npz")
    code, _, err = command(*words)
    assert (code, "it is no plain file" in err) == (1, True), err
    Path("m.npz").unlink()
    maps: Any = {"0": np.full((1, 1, 2, 2), 0.5, np.float32)}
    np.savez("m.npz", **maps)
    Path(".m.npz.after").mkdir()
    Path(".m.npz.after/journal.json").write_text('{"gone": ["victim.txt"], "last": "m.npz"}')
    code, _, err = command(*words)
    assert (code, "was stopped while it replaced" in err) == (1, True), err
    code, _, err = command("convert", "old", "m.npz", "--out", "m.npz", "--overwrite")
    assert (code, Path("victim.txt").exists()) == (1, True), err


@pytest.fixture
def with_file(label: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in the folder ``run`` whose sieve came from the file ``mine.py``."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from pathlib import Path\n"
        "from headroles import sieve\n"
        "Path('ran').write_text('')\n"
        "@sieve('firsts')\n"
        "def firsts(example):\n"
        '    """Does the head look at the first token?"""\n'
        "    import numpy as np\n"
        "    cells = np.zeros((example.size, example.size), dtype=bool)\n"
        "    cells[:, 0] = True\n"
        "    return cells\n"
    )
    label(sieve=["local", "mine.py:firsts"], out="run", maps=4)
    Path("ran").unlink()
    return tmp_path / "run"


def test_no_command_runs_a_file_that_a_stored_run_names(with_file: Path, command: Command) -> None:
    words: tuple[str, ...]
    for words in (
        ("view", "the cat sat", "--run", "run", "--out", "a.html"),
        ("view", "--run", "run", "--out", "b.html"),
        ("why", "run"),
        ("ablate", "--roles", "run"),
    ):
        code, out, err = command(*words)
        assert not Path("ran").exists(), words
        assert (code, "--sieve FILE:" in out + err) in ((0, True), (1, True)), (words, out, err)
    code, out, _ = command(
        "view", "the cat sat", "--run", "run", "--sieve", "mine.py:firsts", "--out", "c.html"
    )
    assert (code, "Keys are not known" in out) == (0, False)
    for words in (("view", "the cat", "--run", "run"), ("why", "run")):
        code, _, err = command(*words, "--sieve", "mine.py:lasts")
        assert (code, "sieve of the run" in err or "mine.py" in err) == (1, True), (words, err)
    other = Path("other.py")
    other.write_text(Path("mine.py").read_text().replace("[:, 0]", "[:, 1]"))
    for words in (("view", "the cat", "--run", "run"), ("why", "run"), ("ablate", "--roles", "run")):
        code, _, err = command(*words, "--sieve", "other.py:firsts")
        assert (code, "is not the code with which the run" in err) == (1, True), (words, err)


@pytest.mark.ci
def test_no_command_runs_what_the_settings_of_a_received_run_add(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("from pathlib import Path\nPath('ran').write_text('')\n")
    added = {"sieve": ["evil.py:x"], "out": "victim", "overwrite": True, "address": "10.0.0.1:6379"}
    for kind in ("label", "cluster", "surface", "probe", "ablate", "why"):
        run = Path(shutil.copytree(RECORDED / kind / "run", tmp_path / kind))
        roles = {"roles": "label"} if kind == "ablate" else {"folder": "label"} if kind == "why" else {}

        def change(record: Any, more: Any = added | roles) -> None:
            record["settings"].update(more)

        change_manifest(run, change)
        for words in (
            ("show",), ("verify",), ("show", "--table"), ("show", "--page"), ("share",),
            ("judge", "--alpha", "0.2"),
            ("prune", "--bound", "0.1", "--out", "pruned"), ("prune", "--check", "--data", "label"),
            ("view", "--run"),
            ("compare", "label", "--replicate"), ("compare", "label", "--out", "c"),
            ("atlas", "label", "--out", "a"),
            ("why",), ("ablate", "--roles"), ("cluster", "--roles"),
        ):  # fmt: skip
            first = 2 if words[-1].startswith("--") else 1
            command(*words[:first], kind, *words[first:])
            assert not Path("ran").exists(), (kind, words)
            assert not Path("victim").exists(), (kind, words)


def test_only_plain_files_are_opened(received: Path, command: Command) -> None:
    table = received / "findings.csv"
    table.rename("kept.csv")
    for make in (os.mkfifo, lambda path: Path(path).symlink_to(Path("kept.csv").resolve())):
        make(table)
        for words in (*READERS[:3], *WRITERS):
            code, _, err = command(*words)
            assert (code, "is a link, a pipe or a device" in err) == (1, True), (words, err)
        table.unlink()
    os.mkfifo("pipe.tsv")
    assert command("label", "--data", "pipe.tsv", "--text-a", "sentence")[0] == 1


# Files that take far more memory than room on the disk.


def test_a_small_file_of_gigabytes_is_refused_before_it_takes_memory(received: Path, tmp_path: Path) -> None:
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    from headroles.storage import read_archive, read_parquet

    content = BytesIO()
    np.savez_compressed(content, a=np.zeros(3 * 2**28, dtype=np.uint8))
    with pytest.raises(ValueError, match=r"takes at most 50 times as many in memory, or 536,870,912"):
        read_archive(content.getvalue(), "sums.npz")
    table = pa.table(
        {"score": pa.DictionaryArray.from_arrays(np.zeros(2**27, np.int8), [0.5]).dictionary_decode()}
    )
    pq.write_table(table, tmp_path / "scores.parquet")
    del table
    with pytest.raises(ValueError, match="takes at most 50 times as many in memory"):
        read_parquet(tmp_path / "scores.parquet")
    with gzip.open(tmp_path / "line.tsv.gz", "wb", 1) as file:
        file.write(b"sentence\n" + b"a" * 2**24 + b"b" * 99)
    with pytest.raises(BadInput, match="a line has at most 16,777,216 bytes"):
        headroles.label(data=tmp_path / "line.tsv.gz", text_a="sentence")
    change_manifest(received)  # as it was: a run is still read
    assert headroles.load(received).findings.count.size
