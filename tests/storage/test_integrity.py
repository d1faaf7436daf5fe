"""Folders that change whole or not at all: killed at every call, read meanwhile, and repaired."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import report, save
from headroles.storage.comparison import load_comparison, write_comparison
from headroles.storage.folder import (
    COMPARISON,
    EARLIER_RUN,
    MANIFEST,
    RUN,
    check_free,
    stage_folder,
    write_files,
)
from headroles.storage.integrity import reading
from headroles.storage.integrity.leftovers import ABANDONED, HOST, clear_leftovers, partial_path
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.integrity.reading import TICK_NS, check_files, digest_of
from headroles.storage.integrity.switch import AFTER, is_switching, replace_files
from headroles.storage.run import load, write_report, write_results
from tests.support.made_runs import surface_labelling

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
DEAD = 999_999_999


def _contents(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(files.items())}


def _killed_before(number: int, folder: Path, action: Callable[[], Any]) -> bool:
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


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of surface statistics."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run = surface_labelling((12, 1, 2), gradients=False)
    model = dict(run.manifest["model"]) | {"layers": 1, "heads": 2}
    save(replace(run, manifest={**run.manifest, "model": model}), folder)
    return folder


@pytest.fixture
def copy(stored: Path, tmp_path: Path) -> Path:
    """The run, to be changed."""
    return Path(shutil.copytree(stored, tmp_path / "run"))


def _relabelled(folder: Path) -> Labelling:
    """Return the run of a folder with other notes, fewer parts and no assessment, as if judged again."""
    run = load(folder)
    return replace(run, skipped=("another note",), assessment=None)


@pytest.mark.parametrize("change", ["judge", "report", "save"])
def test_a_kill_at_any_call_leaves_the_old_run_or_the_new_one(
    change: str, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = _relabelled(copy)
    (copy / "figures").mkdir()
    (copy / "figures" / "matrix.svg").write_text("drawn of the old run")
    actions: dict[str, Callable[[], Any]] = {
        "judge": lambda: write_results(copy, other, "another page"),
        "report": lambda: write_report(copy, "another page"),
        "save": lambda: save(other, copy, overwrite=True),
    }
    old, kept = _contents(copy), shutil.copytree(copy, tmp_path / "kept")
    actions[change]()
    new, seen, number = _contents(copy), set(), 0
    assert old != new
    while True:
        number += 1
        shutil.rmtree(copy)
        shutil.copytree(kept, copy)
        if not _killed_before(number, copy, actions[change]):
            break
        with monkeypatch.context() as patched:  # a reader that may not write reads through
            patched.setattr(reading, "repair_if_free", _refuse)
            before = _contents(copy)
            through = load(copy).skipped
            assert _contents(copy) == before
        assert load(copy).skipped == through
        assert not is_switching(copy)
        with lock_run_folder(copy):
            pass
        left = _contents(copy)
        assert left in (old, new)
        seen.add(left == new)
        assert not [path for path in copy.rglob("*") if path.is_dir() and not any(path.iterdir())]
    assert seen == {False, True}
    assert number > 5


def _refuse(folder: Path) -> None:
    raise BadInput("a read-only file system")


def _repair(folder: Path) -> None:
    with lock_run_folder(folder):
        pass


def test_a_repair_that_is_killed_at_any_call_is_repeated(copy: Path, tmp_path: Path) -> None:
    replace_files(copy, {"scores/part-00001.parquet": b"gone soon"}, (), MANIFEST)
    staged = tmp_path / "staged"
    shutil.copytree(copy, staged)
    waiting = {"findings.csv": "new", MANIFEST: '{"headroles": "new"}', "shards/00000.json": "new"}
    for name, text in waiting.items():
        (staged / AFTER / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / AFTER / name).write_text(text)
    journal = {"gone": ["noop.csv", "layers.csv", "scores/part-00001.parquet"], "last": MANIFEST}
    (staged / AFTER / "journal.json").write_text(json.dumps(journal))
    want = {name: data for name, data in _contents(copy).items() if name not in journal["gone"]}
    want |= {name: text.encode() for name, text in waiting.items()}
    number, killed = 0, True
    while killed:
        number += 1
        folder = Path(shutil.copytree(staged, tmp_path / f"run{number}"))
        killed = _killed_before(number, folder, lambda folder=folder: _repair(folder))  # type: ignore[misc]
        _repair(folder)
        assert _contents(folder) == dict(sorted(want.items()))
        assert not (folder / AFTER).exists()
    assert number > 6


def test_the_empty_folder_that_a_kill_leaves_after_its_last_move_is_removed_by_a_reader(copy: Path) -> None:
    before = {path.name for path in copy.iterdir()}
    (copy / AFTER / "scores").mkdir(parents=True)
    load(copy)
    assert {path.name for path in copy.iterdir()} == before


def test_a_folder_of_somebody_else_that_is_called_so_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / AFTER).mkdir()
    (tmp_path / AFTER / "diary.txt").write_text("mine")
    _repair(tmp_path)
    with pytest.raises(BadInput, match="holds files that are no run"):
        check_free(tmp_path, {}, overwrite=True)
    assert _contents(tmp_path) == {f"{AFTER}/diary.txt": b"mine"}


def test_links_in_a_folder_are_replaced_and_what_they_lead_to_stays(copy: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    shutil.copytree(copy / "scores", theirs)
    before = _contents(theirs)
    shutil.rmtree(copy / "scores")
    (copy / "scores").symlink_to(theirs)
    save(_relabelled(copy), copy, overwrite=True)
    assert not (copy / "scores").is_symlink()
    assert _contents(theirs) == before
    assert load(copy).skipped == ("another note",)


def test_a_folder_that_fails_while_it_is_staged_stays_as_it_was(copy: Path, tmp_path: Path) -> None:
    before = _contents(copy)
    for folder in (copy, tmp_path / "new" / "er"):
        with pytest.raises(FileNotFoundError), stage_folder(folder) as staging:
            (staging / "no folder" / "findings.csv").write_text("half")
    assert _contents(copy) == before
    assert not (tmp_path / "new").exists()


def test_a_reader_waits_for_the_end_of_a_change(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, check = _relabelled(copy), reading.check_files
    changed: list[bool] = []

    def meanwhile(*given: Any) -> None:
        if not changed:
            changed.append(True)
            write_results(copy, other, "another page")
        check(*given)

    monkeypatch.setattr("headroles.storage.run.check_files", meanwhile)
    assert load(copy).skipped == ("another note",)


@pytest.mark.parametrize("name", ["differences.csv", "labels.csv", "layers.csv", "manifest.json"])
def test_an_altered_comparison_is_refused(name: str, copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    compared = headroles.compare(copy, copy, swaps=0, out=out)
    assert load_comparison(out).manifest == compared.manifest
    data = (out / name).read_bytes()
    (out / name).write_bytes(data.replace(b"0", b"1", 1))
    with pytest.raises(BadInput, match=rf"the comparison in '.*' is damaged .*{name} was altered since it"):
        headroles.exporting.table(out)
    with pytest.raises(BadInput, match=r"this needs a comparison, but '.*' is a run"):
        load_comparison(copy)


def test_a_comparison_that_is_killed_at_any_call_blocks_no_other(copy: Path, tmp_path: Path) -> None:
    compared, out = headroles.compare(copy, copy, swaps=0), tmp_path / "compared"
    settings: dict[str, Any] = dict(compared.manifest["settings"])

    def compare() -> None:
        with lock_run_folder(out):
            check_free(out, settings, False, COMPARISON)
            write_comparison(out, compared, "a page")

    number, killed, wanted = 0, True, None
    while killed:
        number += 1
        killed = _killed_before(number, tmp_path, compare)
        compare()
        wanted = wanted or _contents(out)
        assert _contents(out) == wanted
        if number % 2:
            shutil.rmtree(out)
    assert number > 5


def test_every_command_that_writes_a_folder_holds_its_lock(copy: Path, tmp_path: Path) -> None:
    before, run = _contents(copy), load(copy)
    (tmp_path / "compared").mkdir()
    with lock_run_folder(copy), lock_run_folder(tmp_path / "compared"):
        for write in (
            lambda: headroles.judge_again(copy, alpha=0.01),
            lambda: report(copy),
            lambda: headroles.figures(copy),
            lambda: save(run, copy, overwrite=True),
            lambda: headroles.compare(copy, copy, swaps=0, out=tmp_path / "compared"),
        ):
            with pytest.raises(BadInput, match="is written by one command at a time, but another one is"):
                write()
    assert _contents(copy) == before
    report(copy, tmp_path / "elsewhere.html")


def test_half_written_files_leave_with_their_process_and_stay_while_it_lives(tmp_path: Path) -> None:
    waiting = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child = waiting.pid
    other = f"{int(HOST, 16) ^ 1:08x}"
    days = time.time() - 2 * ABANDONED
    lasting = [f".a.csv.{child}.partial", f".a.csv.{HOST}.{child}.partial", f".a.csv.{other}.{DEAD}.partial"]
    going = [f".a.csv.{DEAD}.partial", f".a.csv.{HOST}.{DEAD}.partial", f".a.csv.{other}.12.partial"]
    going += [f".a.csv.{HOST}.{os.getppid()}.partial", f".a.csv.{DEAD}.whole.partial"]
    theirs = [f".b.csv.{DEAD}.partial", ".a.csv.partial", ".a.csv.x.partial"]
    for name in (*lasting, *going, *theirs):
        (tmp_path / name).write_text("half")
    for name in going[2:4]:  # abandoned elsewhere; and a number that another process has by now
        os.utime(tmp_path / name, (days, days) if name == going[2] else (1.0, 1.0))
    clear_leftovers(tmp_path, {"a.csv"}.__contains__)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((*lasting, *theirs))
    waiting.kill()
    while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    write_files({tmp_path / "a.csv": "whole"})  # the child has ended, though nobody waited for it
    waiting.communicate()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((lasting[2], *theirs, "a.csv"))


def test_a_file_that_did_not_change_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []

    def counted(file: Any, way: str) -> Any:
        hashed.append(file.name)
        return file_digest(file, way)

    monkeypatch.setattr(reading, "file_digest", counted)
    file = tmp_path / "a.csv"
    file.write_text("text")
    first = digest_of(file)
    assert digest_of(file) == first  # so young that it may change without another time
    assert len(hashed) == 2
    monkeypatch.setattr(reading, "TICK_NS", -TICK_NS)
    assert digest_of(file) == digest_of(file) == first
    assert len(hashed) == 3
    file.write_text("next")
    assert digest_of(file) != first
    file.unlink()
    with pytest.raises(FileNotFoundError):
        digest_of(file)


def test_files_that_nobody_hashed_are_refused_where_a_run_would_read_them(copy: Path) -> None:
    (copy / "scores" / "part-00007.parquet").write_bytes(b"of another run")
    with pytest.raises(BadInput, match=r"scores/part-00007\.parquet is no file of it; move it away"):
        load(copy)
    check_files(copy, None, lambda name: True)  # folders of older versions have no hashes


def test_names_of_half_written_files_are_no_part_of_a_folder(copy: Path) -> None:
    partial = partial_path(copy / "findings.csv").name.replace(f".{os.getpid()}.", f".{os.getppid()}.")
    (copy / partial).write_text("half")
    check_free(copy, {}, overwrite=True)
    save(load(copy), copy, overwrite=True)
    assert (copy / partial).read_text() == "half"
    assert {path.name for path in copy.iterdir()} <= {*RUN.holds, partial}


@pytest.mark.parametrize("moved", [1, 3, None])
@pytest.mark.parametrize("may_write", [False, True])
def test_an_earlier_run_that_waits_is_read_where_it_is_or_comes_back(
    copy: Path, monkeypatch: pytest.MonkeyPatch, moved: int | None, may_write: bool
) -> None:
    before, run = _contents(copy), load(copy)
    names = sorted((path.name for path in copy.iterdir()), key=lambda name: name == MANIFEST)
    (copy / EARLIER_RUN).mkdir()
    for name in names[:moved]:
        (copy / name).rename(copy / EARLIER_RUN / name)
    if moved is None:  # the run that replaces it has begun, and was killed before its first shard
        (copy / "plan.json").write_text('{"headroles": "0.1.0"}')
    if not may_write:
        monkeypatch.setattr(reading, "repair_if_free", _refuse)
    state = _contents(copy)
    assert repr(load(copy).findings) == repr(run.findings)
    assert load(copy).skipped == run.skipped
    assert _contents(copy) == (before if may_write else state)


def test_a_repair_that_may_not_write_is_one_sentence(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy / f".findings.csv.{HOST}.{DEAD}.partial").write_text("half")

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(BadInput, match=r"the run folder '.*' cannot be written \(Read-only file system\)"):
        headroles.judge_again(copy)
