"""Folders change whole or not at all: killed at every call, read meanwhile, repaired, and locked."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import headroles
from headroles import Labelling, storage
from headroles.errors import BadInput
from headroles.exporting import report
from headroles.storage import AFTER, HOST, MANIFEST
from tests.storage.conftest import surface_run, with_grid
from tests.support.crashing import Shards
from tests.support.folders import contents, names, verify

Label = Callable[..., Labelling]
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
DEAD = 999_999_999
EARLIER_RUN = ".before"
MARK = '{"headroles": "0.1.0"}'
"""What a plan or a manifest of headroles says at least."""
STOPPED = "a command was stopped while it changed .* start that command again"
BUSY = r"a run folder is written by one command at a time, but another one is writing '.*'; wait until"
reading = sys.modules[storage.digest_of.__module__]


def killed_before(number: int, folder: Path, action: Callable[[], Any]) -> bool:
    """Run an action in a process that is killed before its n-th change of a file; whether it was killed."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    changes = 0

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal changes
        writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in CHANGES or writes) and str(given[0]).startswith(str(folder)):
            changes += 1
            if changes == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        action()
    finally:
        os._exit(0)


def make(folder: Path, files: dict[str, str]) -> None:
    """Write some files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of surface statistics."""
    folder = tmp_path_factory.mktemp("small") / "run"
    headroles.save(with_grid(surface_run(gradients=False, shape=(12, 1, 2))), folder)
    return folder


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    """The run, to be changed."""
    return Path(shutil.copytree(small, tmp_path / "run"))


def relabelled(folder: Path) -> Labelling:
    """Return the run of a folder with other notes and no assessment, as if judged again."""
    return replace(headroles.load(folder), skipped=("another note",), assessment=None)


def repair(folder: Path) -> None:
    """Repair a folder as every command does that takes its lock."""
    with storage.lock_run_folder(folder):
        pass


def refused_or_read(folder: Path) -> tuple[str, ...] | None:
    """Read a run; None where its reader says that a command which was stopped has to finish it."""
    if not (storage.is_switching(folder) or (folder / EARLIER_RUN).is_dir()):
        return headroles.load(folder).skipped
    with pytest.raises(BadInput, match=STOPPED):
        headroles.load(folder)
    return None


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.release)])
@pytest.mark.parametrize("change", ["judge", "report", "save"])
def test_a_kill_at_any_call_leaves_the_old_run_or_the_new_one(
    change: str, step: int, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = relabelled(copy)
    make(copy, {"figures/matrix.svg": "drawn of the old run"})
    actions: dict[str, Callable[[], Any]] = {
        "judge": lambda: storage.write_results(copy, other, "another page"),
        "report": lambda: storage.write_report(copy, "another page"),
        "save": lambda: headroles.save(other, copy, overwrite=True),
    }
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    old, kept = contents(copy), shutil.copytree(copy, tmp_path / "kept")
    actions[change]()
    new, seen = contents(copy), set()
    assert old != new
    for number in count(1 + time.time_ns() % step, step):
        shutil.rmtree(copy)
        shutil.copytree(kept, copy)
        if not killed_before(number, copy, actions[change]):
            break
        before, through = contents(copy), refused_or_read(copy)
        assert contents(copy) == before
        repair(copy)
        left = contents(copy)
        assert left in (old, new)
        assert through in (None, headroles.load(copy).skipped)
        seen.add(left == new)
        assert not [path for path in copy.rglob("*") if path.is_dir() and not any(path.iterdir())]
    assert number > 5
    if step == 1:
        assert seen == {False, True}


def test_a_repair_that_is_killed_at_any_call_is_repeated(copy: Path, tmp_path: Path) -> None:
    storage.replace_files(copy, {"scores/part-00001.parquet": b"gone soon"}, (), MANIFEST)
    staged = Path(shutil.copytree(copy, tmp_path / "staged"))
    waiting = {"findings.csv": "new", MANIFEST: '{"headroles": "new"}', "shards/00000.json": "new"}
    gone = ["noop.csv", "layers.csv", "scores/part-00001.parquet"]
    make(
        staged / AFTER,
        waiting | {"journal.json": json.dumps({"gone": gone, "last": MANIFEST})},
    )
    want = {name: data for name, data in contents(copy).items() if name not in gone}
    want |= {name: text.encode() for name, text in waiting.items()}
    for number in count(1):
        folder = Path(shutil.copytree(staged, tmp_path / f"run{number}"))
        killed = killed_before(number, folder, partial(repair, folder))
        repair(folder)
        assert contents(folder) == dict(sorted(want.items()))
        assert not (folder / AFTER).exists()
        if not killed:
            break
    assert number > 6


def test_a_run_that_cannot_move_moves_back(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rename, labelling = contents(copy), Path.rename, headroles.load(copy)
    for folder in (copy, tmp_path / "new" / "er"):
        with pytest.raises(FileNotFoundError), storage.stage_folder(folder) as staging:
            (staging / "no folder" / "findings.csv").write_text("half")

    def stubborn(self: Path, target: Path) -> Path:
        if Path(target).name == AFTER:
            raise OSError(18, os.strerror(18))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(BadInput, match=r"cannot be written \(Invalid cross-device link\)"):
        headroles.save(labelling, copy, overwrite=True)
    assert contents(copy) == before
    assert [*copy.parent.iterdir()] == [copy]


def test_a_reader_waits_for_the_end_of_a_change(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, changed = relabelled(copy), list[bool]()

    def meanwhile(*given: Any) -> None:
        if not changed:
            changed.append(True)
            storage.write_results(copy, other, "another page")
        storage.check_files(*given)

    monkeypatch.setattr(sys.modules[storage.write_results.__module__], "check_files", meanwhile)
    assert headroles.load(copy).skipped == ("another note",)


@pytest.mark.parametrize("moved", [1, 3, None])
def test_an_earlier_run_that_waits_comes_back_by_a_command_that_writes_and_by_no_other(
    copy: Path, monkeypatch: pytest.MonkeyPatch, moved: int | None
) -> None:
    before = contents(copy)
    waiting = sorted(names(copy), key=lambda name: name == MANIFEST)
    (copy / EARLIER_RUN).mkdir()
    for name in waiting[:moved]:
        (copy / name).rename(copy / EARLIER_RUN / name)
    if moved is None:  # the run that replaces it has begun, and was killed before its first shard
        (copy / "plan.json").write_text(MARK)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    state = contents(copy)
    assert refused_or_read(copy) is None
    assert contents(copy) == state
    repair(copy)
    assert contents(copy) == before


def test_half_written_files_leave_with_their_process_and_stay_while_it_lives(tmp_path: Path) -> None:
    waiting = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child, other = waiting.pid, f"{int(HOST, 16) ^ 1:08x}"
    lasting = [f".a.csv.{child}.partial", f".a.csv.{HOST}.{child}.partial", f".a.csv.{other}.{DEAD}.partial"]
    going = [f".a.csv.{DEAD}.partial", f".a.csv.{HOST}.{DEAD}.partial", f".a.csv.{DEAD}.whole.partial"]
    abandoned, reused = f".a.csv.{other}.12.partial", f".a.csv.{HOST}.{os.getppid()}.partial"
    theirs = [f".b.csv.{DEAD}.partial", ".a.csv.partial", ".a.csv.x.partial"]
    make(tmp_path, dict.fromkeys((*lasting, *going, abandoned, reused, *theirs), "half"))
    os.utime(tmp_path / abandoned, times=(time.time() - 2 * storage.ABANDONED,) * 2)  # on another machine
    os.utime(tmp_path / reused, times=(1.0, 1.0))  # a number that another process has by now
    storage.clear_leftovers(tmp_path, {"a.csv"}.__contains__)
    assert names(tmp_path) == sorted((*lasting, *theirs))
    waiting.kill()
    while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    storage.write_files({tmp_path / "a.csv": "whole"})  # the child has ended, though nobody waited for it
    waiting.communicate()
    assert names(tmp_path) == sorted((lasting[2], *theirs, "a.csv"))


def test_a_file_that_did_not_change_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashing, file = Mock(wraps=reading.file_digest), tmp_path / "a.csv"
    monkeypatch.setattr(reading, "file_digest", hashing)
    file.write_text("text")
    first = storage.digest_of(file)
    assert storage.digest_of(file) == first  # so young that it may change without another time
    assert hashing.call_count == 2
    monkeypatch.setattr(reading, "TICK_NS", -reading.TICK_NS)
    assert storage.digest_of(file) == storage.digest_of(file) == first
    assert hashing.call_count == 3
    file.write_text("next")
    assert storage.digest_of(file) != first


def test_every_command_that_writes_a_folder_holds_its_lock(copy: Path, tmp_path: Path) -> None:
    before, run, compared = contents(copy), headroles.load(copy), tmp_path / "compared"
    compared.mkdir()
    with storage.lock_run_folder(copy), storage.lock_run_folder(compared):
        for write in (
            lambda: headroles.judge_again(copy, alpha=0.01),
            lambda: report(copy),
            lambda: headroles.figures(copy),
            lambda: headroles.save(run, copy, overwrite=True),
            lambda: headroles.compare(copy, copy, swaps=0, out=compared),
        ):
            with pytest.raises(BadInput, match=BUSY):
                write()
    assert contents(copy) == before
    report(copy, tmp_path / "elsewhere.html")


def test_a_second_run_is_refused_and_touches_nothing(label: Label, tmp_path: Path, shards: Shards) -> None:
    folder = tmp_path / "run"
    label(out=folder, limit=20)

    def meanwhile(task: Any) -> None:
        before = contents(folder)  # the run that is replaced waits in .before
        assert len(before) > 5
        for overwrite in (False, True):
            with pytest.raises(BadInput, match=BUSY):
                label(out=folder, limit=30, overwrite=overwrite)
        assert contents(folder) == before

    shards.before = meanwhile
    label(out=folder, limit=30, overwrite=True)
    assert verify(folder).examples == 30
