"""Workers, kills and Ray change no byte of a run that stops."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.progress import ignore_advance
from headroles.shards.engines.processes import Processes
from headroles.shards.work import Order
from headroles.shards.worker import Worker
from tests.support.crashing import Nursery, after_shards, killed

Until = Callable[..., Labelling]


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _stop_after(monkeypatch: pytest.MonkeyPatch, shards: int) -> list[int]:
    """Have a run in this process stopped when some shards are done; gives the numbers of scored shards."""
    done: list[int] = []
    score = Worker.score

    def stopped(self: Worker, task: Any, advance: Any = None) -> Any:
        if len(done) == shards:
            raise KeyboardInterrupt
        done.append(task.number)
        return score(self, task, advance)

    monkeypatch.setattr(Worker, "score", stopped)
    return done


def test_a_run_in_this_process_scores_no_shard_beyond_its_stop(
    until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = _stop_after(monkeypatch, -1)
    run = until()
    assert done == [*range(run.manifest["until"]["looks"])]


@pytest.mark.parametrize("shards", [1, 3])
def test_a_run_that_was_stopped_by_hand_goes_on_to_the_same_bytes(
    until: Until, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    with monkeypatch.context() as patched:
        _stop_after(patched, shards)
        with pytest.raises(KeyboardInterrupt):
            until(out=tmp_path / "run")
    with monkeypatch.context() as patched:
        again = _stop_after(patched, -1)
        until(out=tmp_path / "run")
    assert again[0] == shards
    assert _contents(tmp_path / "run") == _contents(stopped)


def test_shards_that_were_scored_beyond_the_stop_are_dropped(
    until: Until, stopped: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    before = until(out=folder, alpha=1e-9, overwrite=True)  # a stricter level needs more units
    assert before.manifest["until"]["looks"] > headroles.load(stopped).manifest["until"]["looks"]
    until(out=folder, overwrite=True)
    assert _contents(folder) == _contents(stopped)


def test_the_same_command_again_scores_nothing_and_changes_nothing(
    until: Until, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    done = _stop_after(monkeypatch, -1)
    until(out=folder)
    assert done == []
    assert _contents(folder) == _contents(stopped)


@pytest.mark.slow
def test_two_and_three_workers_stop_at_the_same_bytes(until: Until, stopped: Path, tmp_path: Path) -> None:
    for workers in (2, 3):
        until(out=tmp_path / f"{workers}", workers=workers, threads=1)
        assert _contents(tmp_path / f"{workers}") == _contents(stopped)


class _Told:
    """A worker process that was told to score a shard."""

    def __init__(self, number: int) -> None:
        self.task: Any = number
        self.loaded, self.advanced, self.gone = True, {"score": 3}, False

    def dismiss(self) -> None:
        self.gone = True

    def wait(self) -> None:
        assert self.gone


def test_shards_in_flight_at_the_stop_are_waited_for_and_their_errors_dropped() -> None:
    engine = Processes(Order(record_of(LabelOptions, task="QNLI"), None), ignore_advance)
    workers = [_Told(number) for number in (4, 5, 6, 7)]
    engine._workers = [*workers]  # type: ignore[list-item]
    messages = [
        ("advance", (2, "score")),
        ("receipt", None),
        ("error", ("ValueError", "of no use", None)),
        ("lost", -9),
    ]
    for place, message in zip((0, 0, 1, 2), messages, strict=True):
        engine._messages.put((workers[place], message))  # type: ignore[arg-type]
    engine._messages.put((workers[3], ("receipt", None)))  # type: ignore[arg-type]
    engine.drop()
    assert [*map(id, engine._workers)] == [id(workers[0]), id(workers[3])]
    assert [worker.task for worker in workers[::3]] == [None, None]
    assert [worker.gone for worker in workers] == [False, True, True, False]
    assert workers[0].advanced == {}


@pytest.mark.slow
@pytest.mark.with_report
def test_kills_at_random_moments_change_no_byte(settings: dict[str, Any], tmp_path: Path) -> None:
    options = settings | {"units_per_look": 4}
    headroles.label(**options, out=tmp_path / "calm")
    calm = _contents(tmp_path / "calm")
    chance, folder, kills = random.Random(11), tmp_path / "run", 0
    with Nursery(**options, out=str(folder), workers=2) as nursery:
        while kills < 4:
            group = nursery.start()
            kills += killed(group, after_shards(folder, chance.randint(1, 9), chance))
            if nursery.ended() == 0:
                assert _contents(folder) == calm
                shutil.rmtree(folder)
        nursery.start()
        assert nursery.ended() == 0
    assert _contents(folder) == calm


@pytest.mark.slow
@pytest.mark.with_report
@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_run_on_ray_stops_at_the_same_bytes(settings: dict[str, Any], tmp_path: Path) -> None:
    headroles.label(**settings, out=tmp_path / "here", threads=1)
    temporary = Path(mkdtemp(prefix="hr-", dir="/tmp"))  # Ray's sockets want a short name
    given = settings | {"out": str(tmp_path / "run"), "engine": "ray", "workers": 2, "threads": 1}
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import headroles; headroles.label(**{given})"],
            env=os.environ | {"TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            timeout=480,
        )
    finally:
        shutil.rmtree(temporary)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert _contents(tmp_path / "run") == _contents(tmp_path / "here")
