"""Folders change whole or not at all: killed at every call, read meanwhile, repaired, and locked."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import report
from headroles.storage import (
    ABANDONED,
    AFTER,
    HOST,
    MANIFEST,
    RUN,
    check_files,
    check_free,
    clear_leftovers,
    digest_of,
    is_switching,
    lock_run_folder,
    partial_path,
    repair_run_folder,
    replace_files,
    restore_earlier_run,
    stage_folder,
    write_files,
    write_report,
    write_results,
)
from tests.storage.conftest import surface_run, with_grid
from tests.support.crashing import Shards
from tests.support.folders import contents, names, verify

Label = Callable[..., Labelling]
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
DEAD = 999_999_999
EARLIER_RUN = ".before"
MARK = '{"headroles": "0.1.0"}'
"""What a plan or a manifest of headroles says at least."""
BUSY = r"a run folder is written by one command at a time, but another one is writing '.*'; wait until"
reading = sys.modules[digest_of.__module__]


def killed_before(number: int, folder: Path, action: Callable[[], Any]) -> bool:
    """Run an action in a process that is killed before its n-th change of a file; whether it was killed."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    count = 0

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in CHANGES or writes) and str(given[0]).startswith(str(folder)):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        action()
    finally:
        os._exit(0)


def moments(step: int, start: int) -> "Any":
    """Yield the numbers of changes to kill before: every n-th, from the start on."""
    number = start
    while True:
        yield number
        number += step


def make(folder: Path, files: dict[str, str]) -> None:
    """Write some files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def texts(folder: Path) -> dict[str, str]:
    """Return the files of a folder as texts."""
    return {name: data.decode() for name, data in contents(folder).items()}


def refuse(folder: Path) -> None:
    """Refuse to repair a folder."""
    raise BadInput("a read-only file system")


def repair(folder: Path) -> None:
    """Repair a folder as every command does that takes its lock."""
    with lock_run_folder(folder):
        pass


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


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.ci)])
@pytest.mark.parametrize("change", ["judge", "report", "save"])
def test_a_kill_at_any_call_leaves_the_old_run_or_the_new_one(
    change: str, step: int, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = relabelled(copy)
    (copy / "figures").mkdir()
    (copy / "figures" / "matrix.svg").write_text("drawn of the old run")
    actions: dict[str, Callable[[], Any]] = {
        "judge": lambda: write_results(copy, other, "another page"),
        "report": lambda: write_report(copy, "another page"),
        "save": lambda: headroles.save(other, copy, overwrite=True),
    }
    old, kept = contents(copy), shutil.copytree(copy, tmp_path / "kept")
    actions[change]()
    new, seen = contents(copy), set()
    assert old != new
    for number in moments(step, 1 + time.time_ns() % step):
        shutil.rmtree(copy)
        shutil.copytree(kept, copy)
        if not killed_before(number, copy, actions[change]):
            break
        with monkeypatch.context() as patched:  # a reader that may not write reads through
            patched.setattr(reading, "repair_if_free", refuse)
            before = contents(copy)
            through = headroles.load(copy).skipped
            assert contents(copy) == before
        assert headroles.load(copy).skipped == through
        assert not is_switching(copy)
        repair(copy)
        left = contents(copy)
        assert left in (old, new)
        seen.add(left == new)
        assert not [path for path in copy.rglob("*") if path.is_dir() and not any(path.iterdir())]
    assert number > 5
    if step == 1:
        assert seen == {False, True}


def test_a_repair_that_is_killed_at_any_call_is_repeated(copy: Path, tmp_path: Path) -> None:
    replace_files(copy, {"scores/part-00001.parquet": b"gone soon"}, (), MANIFEST)
    staged = Path(shutil.copytree(copy, tmp_path / "staged"))
    waiting = {"findings.csv": "new", MANIFEST: '{"headroles": "new"}', "shards/00000.json": "new"}
    make(staged / AFTER, waiting)
    journal = {"gone": ["noop.csv", "layers.csv", "scores/part-00001.parquet"], "last": MANIFEST}
    (staged / AFTER / "journal.json").write_text(json.dumps(journal))
    want = {name: data for name, data in contents(copy).items() if name not in journal["gone"]}
    want |= {name: text.encode() for name, text in waiting.items()}
    for number in moments(1, 1):
        folder = Path(shutil.copytree(staged, tmp_path / f"run{number}"))
        killed = killed_before(number, folder, lambda folder=folder: repair(folder))  # type: ignore[misc]
        repair(folder)
        assert contents(folder) == dict(sorted(want.items()))
        assert not (folder / AFTER).exists()
        if not killed:
            break
    assert number > 6


def test_a_run_that_cannot_take_its_place_gives_it_back(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, rename, labelling = contents(copy), Path.rename, headroles.load(copy)

    def stubborn(self: Path, target: Path) -> Path:
        if Path(target).name == AFTER:
            raise OSError(18, os.strerror(18))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(BadInput, match=r"cannot be written \(Invalid cross-device link\)"):
        headroles.save(labelling, copy, overwrite=True)
    assert contents(copy) == before
    assert [*copy.parent.iterdir()] == [copy]


def test_what_is_called_like_something_of_headroles_is_left_alone(copy: Path, tmp_path: Path) -> None:
    before = names(copy)
    (copy / AFTER / "scores").mkdir(parents=True)  # as a kill after the last move leaves it
    headroles.load(copy)
    assert names(copy) == before
    theirs = tmp_path / "theirs"
    make(theirs, {f"{AFTER}/diary.txt": "mine"})
    repair(theirs)
    with pytest.raises(BadInput, match="holds files that are no run"):
        check_free(theirs, {}, overwrite=True)
    assert texts(theirs) == {f"{AFTER}/diary.txt": "mine"}


def test_links_in_a_folder_are_replaced_and_what_they_lead_to_stays(copy: Path, tmp_path: Path) -> None:
    theirs = shutil.copytree(copy / "scores", tmp_path / "theirs")
    before = contents(theirs)
    shutil.rmtree(copy / "scores")
    (copy / "scores").symlink_to(theirs)
    headroles.save(relabelled(copy), copy, overwrite=True)
    assert not (copy / "scores").is_symlink()
    assert contents(theirs) == before
    assert headroles.load(copy).skipped == ("another note",)


def test_a_folder_that_fails_while_it_is_staged_stays_as_it_was(copy: Path, tmp_path: Path) -> None:
    before = contents(copy)
    for folder in (copy, tmp_path / "new" / "er"):
        with pytest.raises(FileNotFoundError), stage_folder(folder) as staging:
            (staging / "no folder" / "findings.csv").write_text("half")
    assert contents(copy) == before
    assert not (tmp_path / "new").exists()


def test_a_reader_waits_for_the_end_of_a_change(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, changed = relabelled(copy), list[bool]()

    def meanwhile(*given: Any) -> None:
        if not changed:
            changed.append(True)
            write_results(copy, other, "another page")
        check_files(*given)

    monkeypatch.setattr(sys.modules[write_results.__module__], "check_files", meanwhile)
    assert headroles.load(copy).skipped == ("another note",)


@pytest.mark.parametrize("moved", [1, 3, None])
@pytest.mark.parametrize("may_write", [False, True])
def test_an_earlier_run_that_waits_is_read_where_it_is_or_comes_back(
    copy: Path, monkeypatch: pytest.MonkeyPatch, moved: int | None, may_write: bool
) -> None:
    before, run = contents(copy), headroles.load(copy)
    waiting = sorted(names(copy), key=lambda name: name == MANIFEST)
    (copy / EARLIER_RUN).mkdir()
    for name in waiting[:moved]:
        (copy / name).rename(copy / EARLIER_RUN / name)
    if moved is None:  # the run that replaces it has begun, and was killed before its first shard
        (copy / "plan.json").write_text(MARK)
    if not may_write:
        monkeypatch.setattr(reading, "repair_if_free", refuse)
    state = contents(copy)
    assert repr(headroles.load(copy).findings) == repr(run.findings)
    assert headroles.load(copy).skipped == run.skipped
    assert contents(copy) == (before if may_write else state)


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_put_aside_comes_back_from_every_moment_of_a_kill(tmp_path: Path, finished: bool) -> None:
    old = {"plan.json": MARK, "shards/00000.json": "old", "scores/part-00000.parquet": "old"}
    old |= {"manifest.json": MARK, "findings.csv": "old"} if finished else {}
    new_plan = {"plan.json": '{"headroles": "0.1.0", "new": true}'}
    moved = [*(["findings.csv"] if finished else []), "scores", "shards", "plan.json"]
    moved += ["manifest.json"] if finished else []

    def aside(name: str, count: int) -> Path:
        run = tmp_path / name
        make(run, old)
        (run / EARLIER_RUN).mkdir()
        for part in moved[:count]:
            (run / part).rename(run / EARLIER_RUN / part)
        return run

    for count in range(len(moved) + 1):
        run = aside(f"aside {count}", count)
        if count == len(moved):
            make(run, new_plan)
            (run / "shards").mkdir()
        restore_earlier_run(run)
        assert texts(run) == dict(sorted(old.items())), count
    won = aside("won", len(moved))
    new = new_plan | {"shards/00000.json": "new", "scores/part-00000.parquet": "new"}
    make(won, new)
    repair_run_folder(won)
    assert texts(won) == dict(sorted(new.items()))


@pytest.mark.parametrize("finished", [True, False])
def test_a_kill_while_an_earlier_run_is_deleted_leaves_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: bool
) -> None:
    new = {"plan.json": MARK, "shards/00000.json": "new", "scores/part-00000.parquet": "new"}
    old = ["plan.json", "shards/00000.json", "shards/00001.json", "scores/part-00000.parquet"]
    old += ["manifest.json", "findings.csv"] if finished else []
    unlink = os.unlink
    for deleted in range(len(old) + 1):
        folder, left = tmp_path / str(deleted), [deleted]
        make(folder, new | {f"{EARLIER_RUN}/{name}": MARK for name in old})

        def killed(*file: Any, left: list[int] = left, **where: Any) -> None:
            if not left[0]:
                raise SystemExit
            left[0] -= 1
            unlink(*file, **where)

        with monkeypatch.context() as patched:
            for module in (os, Path):
                patched.setattr(module, "unlink", killed)
            if deleted < len(old):
                with pytest.raises(SystemExit):
                    repair_run_folder(folder)
        repair_run_folder(folder)
        assert texts(folder) == dict(sorted(new.items()))
        assert not (folder / EARLIER_RUN).exists()


def test_half_written_files_leave_with_their_process_and_stay_while_it_lives(tmp_path: Path) -> None:
    waiting = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child, other = waiting.pid, f"{int(HOST, 16) ^ 1:08x}"
    days = time.time() - 2 * ABANDONED
    lasting = [f".a.csv.{child}.partial", f".a.csv.{HOST}.{child}.partial", f".a.csv.{other}.{DEAD}.partial"]
    going = [f".a.csv.{DEAD}.partial", f".a.csv.{HOST}.{DEAD}.partial", f".a.csv.{other}.12.partial"]
    going += [f".a.csv.{HOST}.{os.getppid()}.partial", f".a.csv.{DEAD}.whole.partial"]
    theirs = [f".b.csv.{DEAD}.partial", ".a.csv.partial", ".a.csv.x.partial"]
    make(tmp_path, dict.fromkeys((*lasting, *going, *theirs), "half"))
    os.utime(tmp_path / going[2], (days, days))  # abandoned elsewhere
    os.utime(tmp_path / going[3], (1.0, 1.0))  # a number that another process has by now
    clear_leftovers(tmp_path, {"a.csv"}.__contains__)
    assert names(tmp_path) == sorted((*lasting, *theirs))
    waiting.kill()
    while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    write_files({tmp_path / "a.csv": "whole"})  # the child has ended, though nobody waited for it
    waiting.communicate()
    assert names(tmp_path) == sorted((lasting[2], *theirs, "a.csv"))


def test_names_of_half_written_files_are_no_part_of_a_folder(copy: Path) -> None:
    partial = partial_path(copy / "findings.csv").name.replace(f".{os.getpid()}.", f".{os.getppid()}.")
    make(
        copy, {partial: "half", ".notes.txt.999999999.partial": "half", f".layers.csv.{DEAD}.partial": "half"}
    )
    check_free(copy, {}, overwrite=True)
    headroles.save(headroles.load(copy), copy, overwrite=True)
    assert {*names(copy)} <= {*RUN.holds, partial, ".notes.txt.999999999.partial"}
    assert (copy / partial).read_text() == "half"


def test_a_file_that_did_not_change_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, hash_file = list[str](), reading.file_digest

    def counted(file: Any, way: str) -> Any:
        hashed.append(file.name)
        return hash_file(file, way)

    monkeypatch.setattr(reading, "file_digest", counted)
    file = tmp_path / "a.csv"
    file.write_text("text")
    first = digest_of(file)
    assert digest_of(file) == first  # so young that it may change without another time
    assert len(hashed) == 2
    monkeypatch.setattr(reading, "TICK_NS", -reading.TICK_NS)
    assert digest_of(file) == digest_of(file) == first
    assert len(hashed) == 3
    file.write_text("next")
    assert digest_of(file) != first
    check_files(tmp_path, None, lambda name: True)  # folders of older versions have no hashes


def test_every_command_that_writes_a_folder_holds_its_lock(copy: Path, tmp_path: Path) -> None:
    before, run = contents(copy), headroles.load(copy)
    (tmp_path / "compared").mkdir()
    with lock_run_folder(copy), lock_run_folder(tmp_path / "compared"):
        for write in (
            lambda: headroles.judge_again(copy, alpha=0.01),
            lambda: report(copy),
            lambda: headroles.figures(copy),
            lambda: headroles.save(run, copy, overwrite=True),
            lambda: headroles.compare(copy, copy, swaps=0, out=tmp_path / "compared"),
        ):
            with pytest.raises(BadInput, match=BUSY):
                write()
    assert contents(copy) == before
    report(copy, tmp_path / "elsewhere.html")


def test_a_second_run_is_refused_before_it_touches_anything(
    label: Label, tmp_path: Path, shards: Shards
) -> None:
    folder, seen = tmp_path / "run", list[int]()
    label(out=folder, limit=20)

    def meanwhile(task: Any) -> None:
        before = contents(folder)  # the run that is replaced waits in .before
        seen.append(len(before))
        for overwrite in (False, True):
            with pytest.raises(BadInput, match=BUSY):
                label(out=folder, limit=30, overwrite=overwrite)
        assert contents(folder) == before

    shards.before = meanwhile
    label(out=folder, limit=30, overwrite=True)
    assert seen[0] > 5
    assert len(headroles.load(folder).scores.examples) == 30
    verify(folder)


@pytest.mark.ci
def test_a_killed_command_holds_a_folder_no_longer_though_its_processes_live(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\nfrom headroles.storage import lock_run_folder\n"
        f"with lock_run_folder({str(tmp_path / 'run')!r}):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "    print(child.pid, flush=True)\n    input()\n"
    )
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as other:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        with pytest.raises(BadInput, match=BUSY), lock_run_folder(tmp_path / "run"):
            pass
        os.kill(child, signal.SIGSTOP)
        other.kill()
        other.wait()
        with lock_run_folder(tmp_path / "run"):
            os.kill(child, 0)
        os.kill(child, signal.SIGKILL)


def test_a_folder_that_was_made_for_nothing_leaves_with_its_parents(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    with lock_run_folder(deep):
        assert deep.is_dir()
        with pytest.raises(BadInput, match=BUSY), lock_run_folder(deep):
            pass
        assert deep.is_dir()
    assert names(tmp_path) == []
    with lock_run_folder(deep):
        (deep / "plan.json").touch()
    assert names(deep) == ["plan.json"]


def test_where_there_are_no_locks_a_folder_is_held_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*given: object) -> None:
        raise OSError(95, "Operation not supported")

    for module, name in ((fcntl, "flock"), (os, "open")):  # the second as on Windows
        with monkeypatch.context() as patched:
            patched.setattr(module, name, unknown)
            with lock_run_folder(tmp_path / "run"), lock_run_folder(tmp_path / "run"):
                assert (tmp_path / "run").is_dir()
    assert names(tmp_path) == []


def test_a_folder_taken_away_while_it_was_waited_for_is_made_and_held_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, times = fcntl.flock, list[int]()

    def late(descriptor: int, how: int) -> None:
        if not times:  # between the look at the folder and the lock
            (tmp_path / "run").rmdir()
        times.append(how)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock_run_folder(tmp_path / "run"):
        assert len(times) == 2
        with pytest.raises(BadInput, match=BUSY), lock_run_folder(tmp_path / "run"):
            pass
