"""Shards of runs that take heads out: the same bytes from any workers, and after any stop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.shards.verify import verify
from headroles.shards.worker import Worker

Ablate = Callable[..., Labelling]


def _contents(folder: Path) -> dict[str, bytes]:
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    return {name: file.read_bytes() for name, file in sorted(found.items())}


@pytest.fixture
def ablate(finished: Path) -> Ablate:
    """Take heads out of the planted model, with the roles of its run, on a third of its inputs."""

    def made(**options: Any) -> Labelling:
        usual: dict[str, Any] = {"by": ("mean", "cells"), "groups": True, "limit": 20, "shard_size": 7}
        return headroles.ablate(roles=finished, **usual | options)

    return made


@pytest.fixture
def stopped(ablate: Ablate, tmp_path: Path) -> Path:
    """The folder of a run that was stopped when two of its three shards were done."""
    score, done = Worker.score, list[int]()

    def stop(self: Worker, task: Any, advance: Any = None) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.number)
        return score(self, task, advance)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "score", stop)
        with pytest.raises(KeyboardInterrupt, match="2 finished shards are kept"):
            ablate(out=tmp_path / "run")
    return tmp_path / "run"


def test_a_stopped_run_goes_on_and_ends_in_the_same_bytes(
    ablate: Ablate, stopped: Path, tmp_path: Path
) -> None:
    ablate(out=tmp_path / "calm")
    score, done = Worker.score, list[int]()

    def count(self: Worker, task: Any, advance: Any = None) -> Any:
        done.append(task.number)
        return score(self, task, advance)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "score", count)
        ablate(out=stopped)
    assert done == [2]
    assert _contents(stopped) == _contents(tmp_path / "calm")
    assert verify(tmp_path / "calm")


@pytest.mark.slow
def test_two_workers_give_the_bytes_of_one(ablate: Ablate, tmp_path: Path) -> None:
    ablate(out=tmp_path / "one")
    ablate(out=tmp_path / "two", workers=2)
    assert _contents(tmp_path / "one") == _contents(tmp_path / "two")


def test_a_stopped_run_does_not_go_on_with_other_interventions(ablate: Ablate, stopped: Path) -> None:
    with pytest.raises(BadInput, match="other"):
        ablate(out=stopped, references=10)


def test_damaged_sets_of_a_shard_are_measured_again(ablate: Ablate, tmp_path: Path) -> None:
    ablate(out=tmp_path / "run")
    before = _contents(tmp_path / "run")
    assert "shards/00001.sets.npz" in before
    (tmp_path / "run" / "shards" / "00001.sets.npz").write_bytes(b"half")
    ablate(out=tmp_path / "run")
    assert _contents(tmp_path / "run") == before


def test_shards_of_any_size_hold_the_same_damage(ablate: Ablate) -> None:
    small, large = ablate(), ablate(shard_size=20)
    assert small.scores.values.tobytes() == large.scores.values.tobytes()
    assert small.ablated is not None
    assert large.ablated is not None
    assert small.ablated.sets is not None
    assert large.ablated.sets is not None
    assert small.ablated.sets.damage.tobytes() == large.ablated.sets.damage.tobytes()
