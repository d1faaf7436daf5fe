"""A run folder is written by one command at a time."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import report
from headroles.judging import again
from headroles.shards.verify import verify
from headroles.shards.worker import Worker
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.run import write_results

Label = Callable[..., Labelling]
SENTENCE = r"a run folder is written by one command at a time, but another one is writing '.*'; wait until"


def _contents(folder: Path) -> dict[str, bytes]:
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    return {name: file.read_bytes() for name, file in sorted(found.items())}


def test_a_second_command_is_refused_before_it_touches_anything(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label(out=tmp_path / "run", limit=20)
    score = Worker.score
    seen: list[int] = []

    def meanwhile(self: Worker, task: Any, advance: Any = None) -> Any:
        if not seen:  # the first shard of a run that replaces another, which waits in .before
            before = _contents(tmp_path / "run")
            seen.append(len(before))
            for overwrite in (False, True):
                with pytest.raises(BadInput, match=SENTENCE):
                    label(out=tmp_path / "run", limit=30, overwrite=overwrite)
            assert _contents(tmp_path / "run") == before
        return score(self, task, advance)

    monkeypatch.setattr(Worker, "score", meanwhile)
    label(out=tmp_path / "run", limit=30, overwrite=True)
    assert seen[0] > 5
    label(out=tmp_path / "calm", limit=30)
    assert _contents(tmp_path / "run") == _contents(tmp_path / "calm")


@pytest.mark.slow
def test_a_killed_command_holds_a_folder_no_longer_though_its_processes_live(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\nfrom headroles.storage.integrity.lock import lock_run_folder\n"
        f"with lock_run_folder({str(tmp_path / 'run')!r}):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "    print(child.pid, flush=True)\n    input()\n"
    )
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as other:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        with pytest.raises(BadInput, match=SENTENCE), lock_run_folder(tmp_path / "run"):
            pass
        os.kill(child, signal.SIGSTOP)
        other.kill()
        other.wait()
        with lock_run_folder(tmp_path / "run"):
            os.kill(child, 0)
        os.kill(child, signal.SIGKILL)


def test_a_folder_that_was_made_for_nothing_leaves_with_its_parents(tmp_path: Path) -> None:
    with lock_run_folder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
        with pytest.raises(BadInput, match=SENTENCE), lock_run_folder(tmp_path / "a" / "b"):
            pass
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []
    with lock_run_folder(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "plan.json").touch()
    assert [each.name for each in (tmp_path / "a" / "b").iterdir()] == ["plan.json"]


def test_where_there_are_no_locks_a_folder_is_held_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*given: object) -> None:
        raise OSError(95, "Operation not supported")

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", unknown)
        with lock_run_folder(tmp_path / "run"), lock_run_folder(tmp_path / "run"):
            pass
    monkeypatch.setattr(os, "open", unknown)  # as on Windows, where folders are not opened
    with lock_run_folder(tmp_path / "run"), lock_run_folder(tmp_path / "run"):
        assert (tmp_path / "run").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_taken_away_while_it_was_waited_for_is_made_and_held_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    times: list[int] = []

    def late(descriptor: int, how: int) -> None:
        if not times:  # between the look at the folder and the lock
            (tmp_path / "run").rmdir()
        times.append(how)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock_run_folder(tmp_path / "run"):
        assert len(times) == 2
        with pytest.raises(BadInput, match=SENTENCE), lock_run_folder(tmp_path / "run"):
            pass


def test_a_judge_that_is_held_at_its_first_write_keeps_other_commands_out(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    label(out=run, limit=20, sieve="local")
    refused: list[Callable[[], Any]] = []

    def held(*given: Any, **more: Any) -> None:
        before = _contents(run)
        for other in (
            lambda: label(out=run, limit=20, sieve="block", overwrite=True),
            lambda: headroles.judge_again(run, alpha=0.2),
            lambda: report(run),
        ):
            with pytest.raises(BadInput, match=SENTENCE):
                other()
            refused.append(other)
        assert _contents(run) == before
        write_results(*given)

    monkeypatch.setattr(again, "write_results", held)
    headroles.judge_again(run, alpha=0.01)
    assert len(refused) == 3
    verify(run)
    assert headroles.load(run).decision.alpha == 0.01
