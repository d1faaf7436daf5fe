"""Shards of runs that ask what makes heads attend: the same bytes from any workers, and after any stop."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.runs import run as skeleton
from headroles.runs.why import knock
from headroles.shards.verify import verify
from headroles.shards.worker import Worker
from tests.runs.two_workers import two_workers

Ask = Callable[..., Labelling]


def _contents(folder: Path) -> dict[str, bytes]:
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    return {name: file.read_bytes() for name, file in sorted(found.items())}


@pytest.fixture
def ask(labelled: Path) -> Ask:
    """Ask about the roles of the planted model on 120 inputs, in three shards."""

    def made(**options: Any) -> Labelling:
        usual: dict[str, Any] = {"limit": 120, "shard_size": 50, "rotations": 99, "threads": 1}
        return headroles.why(labelled, **usual | options)

    return made


@pytest.fixture(scope="module")
def calm(labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same run, which nothing disturbed."""
    folder = tmp_path_factory.mktemp("calm") / "run"
    headroles.why(labelled, limit=120, shard_size=50, rotations=99, threads=1, out=folder)
    return folder


def test_the_run_has_a_file_of_products_for_every_shard_and_is_whole(calm: Path) -> None:
    names = _contents(calm)
    assert {f"shards/0000{number}.products.npz" for number in range(3)} <= names.keys()
    run = headroles.load(calm)
    assert run.origins is not None
    assert run.origins.knocked is not None
    assert len(run.origins.origins) == 4
    assert verify(calm).shards == 3


def test_a_stopped_run_goes_on_and_ends_in_the_same_bytes(ask: Ask, calm: Path, tmp_path: Path) -> None:
    score, done = Worker.score, list[int]()

    def stop(self: Worker, task: Any, advance: Any = None) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.number)
        return score(self, task, advance)

    def count(self: Worker, task: Any, advance: Any = None) -> Any:
        done.append(task.number)
        return score(self, task, advance)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "score", stop)
        with pytest.raises(KeyboardInterrupt, match="2 finished shards are kept"):
            ask(out=tmp_path / "run")
        patch.setattr(Worker, "score", count)
        ask(out=tmp_path / "run")
    assert done == [0, 1, 2]
    assert _contents(tmp_path / "run") == _contents(calm)


def test_a_run_that_was_stopped_while_it_scored_again_keeps_its_shards(
    ask: Ask, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knock, "score_again", stop)
        with pytest.raises(KeyboardInterrupt, match="3 finished shards are kept"):
            ask(out=tmp_path / "run")
    monkeypatch.setattr(Worker, "score", stop)
    ask(out=tmp_path / "run")
    assert _contents(tmp_path / "run") == _contents(calm)


def test_workers_without_a_model_in_this_process_end_in_the_same_bytes(
    ask: Ask, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton, "engine_of", two_workers)
    ask(out=tmp_path / "run")
    assert _contents(tmp_path / "run") == _contents(calm)


@pytest.mark.slow
def test_two_workers_give_the_bytes_of_one(ask: Ask, calm: Path, tmp_path: Path) -> None:
    ask(out=tmp_path / "two", workers=2)
    assert _contents(tmp_path / "two") == _contents(calm)


def test_damaged_products_of_a_shard_are_measured_again(ask: Ask, tmp_path: Path) -> None:
    ask(out=tmp_path / "run")
    before = _contents(tmp_path / "run")
    (tmp_path / "run" / "shards" / "00001.products.npz").write_bytes(b"half")
    ask(out=tmp_path / "run")
    assert _contents(tmp_path / "run") == before


def test_a_stopped_run_does_not_go_on_with_other_re_deals(ask: Ask, calm: Path) -> None:
    with pytest.raises(BadInput, match="other"):
        ask(out=calm, redeals=20)


def test_shards_of_any_size_say_the_same(ask: Ask, calm: Path) -> None:
    few, many = headroles.load(calm).origins, ask(shard_size=7).origins
    assert few is not None
    assert many is not None
    np.testing.assert_array_equal(few.products.parts, many.products.parts)
    np.testing.assert_allclose(few.products.outer, many.products.outer, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(few.products.redealt, many.products.redealt, rtol=1e-5)
    for one, other in zip(few.origins, many.origins, strict=True):
        for name, value in asdict(one).items():
            near = value if isinstance(value, str) else pytest.approx(value, rel=1e-5, nan_ok=True)
            assert getattr(other, name) == near, name


def test_progress_counts_the_inputs_that_are_scored_again(ask: Ask) -> None:
    seen: list[tuple[int, int]] = []
    ask(progress=lambda done, total: seen.append((done, total)))
    assert (120, 120) in seen
    last = seen[-1]
    assert last == (30, 30)
