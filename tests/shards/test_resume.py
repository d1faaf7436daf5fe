"""A run that is stopped at any moment goes on where it was, and ends in the same bytes."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.extraction.stream import FreeMemory
from headroles.shards.files import receipt_of
from headroles.shards.verify import verify
from headroles.shards.worker import Worker
from headroles.storage.folder import EARLIER_RUN, check_free
from headroles.storage.integrity.repair import repair_run_folder, restore_earlier_run
from tests.support.crashing import Nursery, after, after_shards, killed

Label = Callable[..., Labelling]
MARK = '{"headroles": "0.1.0"}'
"""What a plan or a manifest of headroles says at least."""


def _contents(folder: Path) -> dict[str, bytes]:
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    return {name: file.read_bytes() for name, file in sorted(found.items())}


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of shards as they are scored in this process."""
    numbers: list[int] = []
    score = Worker.score

    def told(self: Worker, task: Any, advance: Any = None) -> Any:
        numbers.append(task.number)
        return score(self, task, advance)

    monkeypatch.setattr(Worker, "score", told)
    return numbers


def _stop_after(monkeypatch: pytest.MonkeyPatch, shards: int, trouble: BaseException) -> None:
    """Have a run stopped when some shards are done."""
    done: list[int] = []
    score = Worker.score

    def stopped(self: Worker, task: Any, advance: Any = None) -> Any:
        if len(done) == shards:
            raise trouble
        done.append(task.number)
        return score(self, task, advance)

    monkeypatch.setattr(Worker, "score", stopped)


@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), BadInput("a bad input"), RuntimeError("a bug")])
def test_shards_that_are_done_are_kept_and_not_done_again(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scored: list[int], trouble: BaseException
) -> None:
    label(out=tmp_path / "calm", shard_size=10)
    scored.clear()
    with monkeypatch.context() as patched:
        _stop_after(patched, 2, trouble)
        with pytest.raises(type(trouble)):
            label(out=tmp_path / "run", shard_size=10)
    assert scored == [0, 1]
    with pytest.raises(
        BadInput, match=r"is read when it is finished, but the run in '.*' is not; start the same"
    ):
        headroles.load(tmp_path / "run")
    told: list[tuple[int, int]] = []
    label(out=tmp_path / "run", shard_size=10, progress=lambda done, total: told.append((done, total)))
    assert scored == [0, 1, 2, 3, 4, 5]
    assert (told[0], told[-1]) == ((10, 60), (60, 60))
    assert _contents(tmp_path / "run") == _contents(tmp_path / "calm")


def test_free_memory_is_returned_after_the_last_shard(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scored: list[int]
) -> None:
    returned: list[int] = []
    monkeypatch.setattr(FreeMemory, "trim", lambda self: None)
    monkeypatch.setattr(FreeMemory, "release", lambda self: returned.append(len(scored)))
    for _ in range(2):
        label(out=tmp_path / "run", shard_size=25)
    assert returned == [len(scored)]


def test_a_finished_run_is_verified_and_written_anew_without_scoring(
    label: Label, tmp_path: Path, scored: list[int]
) -> None:
    label(out=tmp_path / "run", shard_size=25)
    before = _contents(tmp_path / "run")
    assert scored == [0, 1, 2]
    label(out=tmp_path / "run", shard_size=25)
    assert scored == [0, 1, 2]
    assert _contents(tmp_path / "run") == before


@pytest.mark.parametrize("name", ["scores/part-00001.parquet", "shards/00001.parquet", "shards/00001.json"])
@pytest.mark.parametrize("how", ["gone", "cut off", "altered"])
def test_a_damaged_shard_is_done_again_and_no_other(
    label: Label, tmp_path: Path, scored: list[int], name: str, how: str
) -> None:
    label(out=tmp_path / "run", shard_size=25)
    before = _contents(tmp_path / "run")
    file = tmp_path / "run" / name
    data = file.read_bytes()
    if how == "gone":
        file.unlink()
    else:
        changed = bytearray(data)
        changed[len(data) // 2] ^= 1
        file.write_bytes(data[: len(data) // 2] if how == "cut off" else bytes(changed))
    scored.clear()
    label(out=tmp_path / "run", shard_size=25)
    assert scored == [1]
    assert _contents(tmp_path / "run") == before


def test_shards_of_no_run_are_removed(label: Label, tmp_path: Path) -> None:
    label(out=tmp_path / "run", limit=20)
    before = _contents(tmp_path / "run")
    (tmp_path / "run" / "scores" / "part-00007.parquet").write_bytes(b"of another run")
    (tmp_path / "run" / "shards" / ".00003.json.999999999.partial").write_bytes(b"half")
    (tmp_path / "run" / ".findings.csv.999999999.partial").write_bytes(b"half")
    label(out=tmp_path / "run", limit=20)
    assert _contents(tmp_path / "run") == before


def test_other_settings_inputs_or_weights_are_refused_and_named(
    label: Label, table: Path, planted: Path, even: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    data.write_text(table.read_text())
    model.symlink_to(planted)
    usual = {"data": data, "model": model, "out": tmp_path / "run", "shard_size": 10}
    with monkeypatch.context() as patched:
        _stop_after(patched, 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt, match="2 finished shards are kept"):
            label(**usual)
    before = _contents(tmp_path / "run")
    with pytest.raises(BadInput, match=r"holds a run with other settings \(alpha, max_length\); give --over"):
        label(**usual, max_length=40, alpha=0.01)
    data.write_text(table.read_text().replace("cat", "dog"))
    with pytest.raises(BadInput, match=r"holds a run with other inputs; give --overwrite to replace it"):
        label(**usual)
    data.write_text(table.read_text())
    model.unlink()
    model.symlink_to(even)
    with pytest.raises(BadInput, match=r"holds a run with other model weights; give --overwrite"):
        label(**usual)
    assert _contents(tmp_path / "run") == before
    label(**usual, overwrite=True)
    label(data=data, model=model, shard_size=10, out=tmp_path / "fresh")
    assert _contents(tmp_path / "run") == _contents(tmp_path / "fresh")


def test_a_run_that_replaces_another_goes_on_after_its_first_shard(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scored: list[int]
) -> None:
    label(out=tmp_path / "run")
    scored.clear()
    with monkeypatch.context() as patched:
        _stop_after(patched, 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            label(out=tmp_path / "run", shard_size=30, max_length=40, overwrite=True)
    assert not (tmp_path / "run" / EARLIER_RUN).exists()
    label(out=tmp_path / "run", shard_size=30, max_length=40)
    assert scored == [0, 1]


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_put_aside_comes_back_from_every_moment_of_a_kill(tmp_path: Path, finished: bool) -> None:
    old = {"plan.json": MARK, "shards/00000.json": "old", "scores/part-00000.parquet": "old"}
    old |= {"manifest.json": MARK, "findings.csv": "old"} if finished else {}
    new_plan = {"plan.json": '{"headroles": "0.1.0", "new": true}'}

    def make(place: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)

    names = ["findings.csv", "scores", "shards", "plan.json", "manifest.json"][0 if finished else 1 :]
    names = [name for name in names if name.split("/")[0] in {each.split("/")[0] for each in old}]
    for moved in range(len(names) + 1):
        run = tmp_path / f"aside {moved}"
        make(run, old)
        (run / EARLIER_RUN).mkdir()
        for name in names[:moved]:
            (run / name).rename(run / EARLIER_RUN / name)
        if moved == len(names):
            make(run, new_plan)
            (run / "shards").mkdir()
        restore_earlier_run(run)
        assert {name: text.decode() for name, text in _contents(run).items()} == old, moved
    run = tmp_path / "won"
    make(run, old)
    (run / EARLIER_RUN).mkdir()
    for name in names:
        (run / name).rename(run / EARLIER_RUN / name)
    new = new_plan | {"shards/00000.json": "new", "scores/part-00000.parquet": "new"}
    make(run, new)
    repair_run_folder(run)
    assert {name: text.decode() for name, text in _contents(run).items()} == new


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("deleted", range(7))
def test_a_kill_while_an_earlier_run_is_deleted_leaves_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: bool, deleted: int
) -> None:
    new = {"plan.json": MARK, "shards/00000.json": "new", "scores/part-00000.parquet": "new"}
    old = ["plan.json", "shards/00000.json", "shards/00001.json", "scores/part-00000.parquet"]
    old += ["manifest.json", "findings.csv"] if finished else []
    for name, text in new.items() | {(f"{EARLIER_RUN}/{name}", MARK) for name in old}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    unlink, left = os.unlink, [deleted]

    def killed(*file: Any, **where: Any) -> None:
        if not left[0]:
            raise SystemExit
        left[0] -= 1
        unlink(*file, **where)

    with monkeypatch.context() as patched:
        for module in (os, Path):
            patched.setattr(module, "unlink", killed)
        if deleted < len(old):
            with pytest.raises(SystemExit):
                repair_run_folder(tmp_path)
    repair_run_folder(tmp_path)
    assert {name: text.decode() for name, text in _contents(tmp_path).items()} == new
    assert not (tmp_path / EARLIER_RUN).exists()


def test_a_folder_that_others_call_so_is_left_alone(label: Label, tmp_path: Path) -> None:
    theirs = {
        f"{EARLIER_RUN}/manifest.json": "{}",
        f"{EARLIER_RUN}/scores/match.txt": "3:1",
        "notes.txt": "mine",
    }
    for name, text in theirs.items():
        (tmp_path / "a" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / name).write_text(text)
    before = _contents(tmp_path / "a")
    with pytest.raises(BadInput, match=r"holds files that are no run of headroles"):
        label(out=tmp_path / "a")
    assert _contents(tmp_path / "a") == before
    label(out=tmp_path / "b", limit=20)
    (tmp_path / "b" / EARLIER_RUN).mkdir()
    (tmp_path / "b" / EARLIER_RUN / "diary.txt").write_text("mine")
    before = _contents(tmp_path / "b")
    label(out=tmp_path / "b", limit=20)
    with pytest.raises(BadInput, match=rf"'.*b/{EARLIER_RUN}' holds something else; move it away"):
        label(out=tmp_path / "b", limit=30, overwrite=True)
    assert _contents(tmp_path / "b") == before


@pytest.mark.parametrize("keep", [100_000, 30])
def test_what_a_lost_worker_left_half_written_is_gone_at_the_end(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    score = Worker.score

    def half(self: Worker, task: Any, advance: Any = None) -> Any:
        for name in ("shards/.00001.json", "scores/.part-00001.parquet"):
            partial = tmp_path / "run" / f"{name}.{os.getppid()}.partial"  # its number is another's by now
            partial.parent.mkdir(exist_ok=True)
            partial.write_bytes(b"half")
        return score(self, task, advance)

    monkeypatch.setattr(Worker, "score", half)
    label(out=tmp_path / "run", shard_size=20, keep=keep)
    assert not list((tmp_path / "run").rglob("*.partial"))


def test_what_others_left_half_written_is_theirs(tmp_path: Path) -> None:
    strange = [".notes.txt.999999999.partial", f".findings.csv.{os.getppid()}.partial"]
    for name in strange:
        (tmp_path / name).write_text("half")
    (tmp_path / ".findings.csv.999999999.partial").write_text("half")
    repair_run_folder(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(strange)


@pytest.mark.slow
def test_ctrl_c_says_what_is_kept_and_leaves_no_worker(planted: Path, table: Path, tmp_path: Path) -> None:
    words = ["label", "--task", "QNLI", "--data", table, "--model", planted, "--max-length", "48"]
    words += ["--sieve", "local", "--workers", "2", "--shard-size", "1", "--out", tmp_path / "run"]
    run = subprocess.Popen(
        [sys.executable, "-m", "headroles", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    shards = tmp_path / "run" / "shards"
    while not list(shards.glob("*.json")) and run.poll() is None:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=240)
    assert run.returncode == 130
    assert "are kept in" in said or "is kept in" in said
    assert "start the same command again, and the run goes on" in said
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)


def _many(tmp_path: Path) -> Path:
    """600 pairs of texts of several lengths."""
    chance = np.random.default_rng(3)
    words = ["the", "cat", "dog", "house", "rain", "who", "sat", "on", "small", "red", "is"]
    rows = ["question\tsentence"]
    for row in range(600):
        first, second = (" ".join(chance.choice(words, size=chance.integers(3, 20))) for _ in range(2))
        rows.append(f"{first} {row} ?\t{second} {row} .")
    file = tmp_path / "many.tsv"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.mark.with_report
@pytest.mark.slow
def test_nine_kills_at_random_moments_change_no_byte(planted: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "task": "QNLI", "data": str(_many(tmp_path)), "model": str(planted), "max_length": 48,
        "sieve": ["local", "delimiter", "block"], "shard_size": 4, "maps": 20,
    }  # fmt: skip
    headroles.label(**options, out=tmp_path / "calm")
    calm = _contents(tmp_path / "calm")
    chance, folder, kills = random.Random(17), tmp_path / "run", 0
    with Nursery(**options, out=str(folder), workers=2) as nursery:
        while kills < 9:  # tests/faults kills every kind of run before each change of a file
            group = nursery.start()
            if kills % 3 == 2:
                moment = after(chance.uniform(0.0, 3.0))  # anything from its start on
            else:
                moment = after_shards(folder, chance.randint(1, 9), chance)
            kills += killed(group, moment)
            if nursery.ended() == 0:  # faster than its kill: all is there, and another one is begun
                assert _contents(folder) == calm
                shutil.rmtree(folder)
            for receipt in folder.glob("shards/*.json"):
                assert receipt_of(receipt.read_bytes()) is not None  # whole or not at all
        nursery.start()
        assert nursery.ended() == 0
    assert _contents(folder) == calm
    assert sorted(each.name for each in tmp_path.iterdir()) == ["calm", "many.tsv", "run"]


@pytest.mark.parametrize("plan", [None, b"", b"{", b"[1]", b'{"headroles": "0.1.0"}'])
def test_shards_whose_plan_is_lost_are_not_scored_again(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scored: list[int], plan: bytes | None
) -> None:
    run = tmp_path / "run"
    label(out=tmp_path / "calm", limit=30, shard_size=10)
    with monkeypatch.context() as patched:
        _stop_after(patched, 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            label(out=run, limit=30, shard_size=10)
    if plan is None:
        (run / "plan.json").unlink()
    else:
        (run / "plan.json").write_bytes(plan)
    before = _contents(run)
    with pytest.raises(BadInput, match=r"holds a run with another model, code or settings, and no plan"):
        label(out=run, limit=20, shard_size=10)
    assert _contents(run) == before
    scored.clear()
    label(out=run, limit=30, shard_size=10)
    assert scored == [2]
    assert _contents(run) == _contents(tmp_path / "calm")


def test_a_run_whose_plan_is_lost_may_be_replaced_and_comes_back_when_nothing_replaces_it(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        _stop_after(patched, 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            label(out=run, limit=30, shard_size=10)
        (run / "plan.json").unlink()
        before = _contents(run)
        _stop_after(patched, 0, BadInput("no input can be read"))
        with pytest.raises(BadInput, match="no input can be read"):
            label(out=run, limit=20, overwrite=True)
    assert {name: data for name, data in _contents(run).items() if name != "plan.json"} == before
    label(out=run, limit=20, overwrite=True)
    label(out=tmp_path / "calm", limit=20)
    assert _contents(run) == _contents(tmp_path / "calm")


def test_folders_of_others_that_look_like_runs_without_a_plan_are_never_replaced(tmp_path: Path) -> None:
    for name, text in (("shards/00000.json", '{"identity": "x", "sha256": "y"}'), ("scores/part-0", "1:0")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    before = _contents(tmp_path)
    with pytest.raises(BadInput, match=r"holds files that are no run of headroles"):
        check_free(tmp_path, {}, overwrite=True)
    assert _contents(tmp_path) == before


def test_another_decision_leaves_the_finished_run_whole_until_its_results_change(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    label(out=run, limit=20)
    label(out=tmp_path / "calm", limit=20, alpha=0.01)
    before = _contents(run)

    def stopped(*given: Any) -> None:
        assert _contents(run).items() >= before.items()
        verify(run)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("headroles.runs.run.write_results", stopped)
        with pytest.raises(KeyboardInterrupt):
            label(out=run, limit=20, alpha=0.01, overwrite=True)
    assert _contents(run) == before
    label(out=run, limit=20, alpha=0.01, overwrite=True)
    assert _contents(run) == _contents(tmp_path / "calm")


@pytest.mark.parametrize("gone", [".", "scores", "shards"])
def test_a_run_whose_folder_is_taken_away_is_one_sentence_and_blocks_nothing(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    score = Worker.score

    def without(self: Worker, task: Any, advance: Any = None) -> Any:
        if task.number == 2:
            shutil.rmtree(tmp_path / "run" / gone)
        return score(self, task, advance)

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "score", without)
        with pytest.raises(BadInput, match=r"must stay in place|cannot be written") as error:
            label(out=tmp_path / "run", limit=30, shard_size=10)
    assert "\n" not in str(error.value)
    if gone == ".":
        assert list(tmp_path.iterdir()) == []
    label(out=tmp_path / "run", limit=30, shard_size=10)
    label(out=tmp_path / "calm", limit=30, shard_size=10)
    assert _contents(tmp_path / "run") == _contents(tmp_path / "calm")
