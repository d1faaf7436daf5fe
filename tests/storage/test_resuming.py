"""A run that is stopped at any moment goes on where it was, and never mixes what does not belong together."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from headroles.shards import drop_shards
from headroles.storage import write_results
from tests.storage.conftest import FEW
from tests.support.crashing import Shards, replace_everywhere
from tests.support.folders import contents, hash_again, verify

Label = Callable[..., Labelling]
CALM: dict[str, Any] = {"maps": 0, "sieve": ["local", "delimiter"], "limit": 30, "shard_size": 10}
BEFORE = ".before"


@pytest.fixture(scope="session")
def calm(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 30 inputs in three shards that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "calm"
    headroles.label("QNLI", data=table, model=planted, max_length=48, out=folder, **CALM)
    return folder


def stop_at(count: int) -> Callable[[int, int], None]:
    """Return a function for progress that interrupts a run when so many inputs are done."""

    def progress(done: int, total: int) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return progress


def test_done_shards_are_not_done_again(label: Label, calm: Path, tmp_path: Path, shards: Shards) -> None:
    run = tmp_path / "run"
    for trouble in (KeyboardInterrupt(), BadInput("a bad input"), RuntimeError("a bug")):
        raised = shards.stopped(2, lambda: label(out=run, **CALM), trouble)
        assert shards.scored == [0, 1]
        assert raised.type is not KeyboardInterrupt or "2 finished shards are kept" in str(raised.value)
        with pytest.raises(BadInput, match=r"is read when it is finished, but the run in '.*' is not; start"):
            headroles.load(run)
        assert shards.by(partial(label, out=run, **CALM)) == [2]
        assert contents(run) == contents(calm)
        shutil.rmtree(run)


def test_only_what_is_damaged_is_done_again(label: Label, calm: Path, tmp_path: Path, shards: Shards) -> None:
    run, whole = Path(shutil.copytree(calm, tmp_path / "run")), contents(calm)
    again = partial(label, out=run, **CALM)
    assert shards.by(again) == []
    assert contents(run) == whole
    for name in ("scores/part-00001.parquet", "shards/00001.parquet", "shards/00001.json"):
        data = whole[name]
        half = len(data) // 2
        for changed in (None, data[:half], data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]):
            (run / name).unlink()
            if changed is not None:
                (run / name).write_bytes(changed)
            assert shards.by(again) == [1], name
            assert contents(run) == whole
    for name in ("scores/part-00007.parquet", "shards/.00003.json.999999999.partial", ".plan.json.9.partial"):
        (run / name).write_bytes(b"of another run, or half")
    assert shards.by(again) == []
    assert contents(run) == whole
    assert shards.by(partial(again, alpha=0.01, overwrite=True)) == []
    assert headroles.load(run).decision.alpha == 0.01
    verify(run)


def test_other_settings_inputs_or_weights_are_refused_and_named(
    label: Label, table: Path, planted: Path, even: Path, tmp_path: Path, shards: Shards
) -> None:
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    lines = table.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[:41]))
    model.symlink_to(planted)
    usual = CALM | {"data": data, "model": model, "out": tmp_path / "run", "limit": None}
    shards.stopped(2, lambda: label(**usual))
    before = contents(tmp_path / "run")
    with pytest.raises(BadInput, match=r"holds a run with other settings \(alpha, max_length\); give --over"):
        label(**usual, max_length=40, alpha=0.01)
    for others in (lines[:50], [line.replace("cat", "dog") for line in lines[:41]]):
        data.write_text("".join(others))
        with pytest.raises(BadInput, match=r"holds a run with other inputs; give --overwrite to replace it"):
            label(**usual)
    data.write_text("".join(lines[:41]))
    model.unlink()
    model.symlink_to(even)
    with pytest.raises(BadInput, match=r"holds a run with other model weights; give --overwrite"):
        label(**usual)
    assert contents(tmp_path / "run") == before
    label(**usual, overwrite=True)
    label(**usual | {"out": tmp_path / "fresh"})
    assert contents(tmp_path / "run") == contents(tmp_path / "fresh")
    rare = usual | {"stream": True, "sieve": ["rare"], "out": tmp_path / "rare", "keep": 20}
    with pytest.raises(KeyboardInterrupt):
        label(progress=stop_at(30), **rare)
    assert json.loads((tmp_path / "rare" / "plan.json").read_text())["components"]["frequencies"]
    data.write_text("".join(lines))
    with pytest.raises(BadInput, match="holds a run with other frequencies of tokens in the inputs"):
        label(**rare)


def test_a_shard_by_a_worker_unlike_the_first_is_refused(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.shards import Worker

    score = Worker.score

    def unlike(worker: Any, task: Any, advance: Any) -> Any:
        return replace(score(worker, task, advance), identity="other" * task.number)

    monkeypatch.setattr(Worker, "score", unlike)
    with pytest.raises(BadInput, match=r"same model, code, .* shard \d was scored by one that has others"):
        label(out=tmp_path / "run", **CALM)


def test_a_run_that_replaces_another_goes_on_after_its_first_shard(
    label: Label, calm: Path, tmp_path: Path, shards: Shards
) -> None:
    run = Path(shutil.copytree(calm, tmp_path / "run"))
    new = CALM | {"max_length": 40, "out": run}
    shards.stopped(0, lambda: label(**new, overwrite=True))
    assert contents(run) == contents(calm)
    shards.stopped(1, lambda: label(**new, overwrite=True))
    assert not (run / BEFORE).exists()
    assert shards.by(lambda: label(**new)) == [1, 2]
    (run / BEFORE).mkdir()
    (run / BEFORE / "diary.txt").write_text("mine")
    before = contents(run)
    assert shards.by(lambda: label(**new)) == []
    with pytest.raises(BadInput, match=rf"'.*run/{BEFORE}' holds something else; move it away"):
        label(**new | {"limit": 20}, overwrite=True)
    assert contents(run) == before


@pytest.mark.parametrize("plan", [None, b"{", b'{"headroles": "0.1.0"}'])
def test_shards_whose_plan_is_lost_come_back_when_nothing_replaces_them(
    label: Label, calm: Path, tmp_path: Path, shards: Shards, plan: bytes | None
) -> None:
    run = tmp_path / "run"
    shards.stopped(2, lambda: label(out=run, **CALM))
    kept = {name: data for name, data in contents(run).items() if name != "plan.json"}
    (run / "plan.json").unlink()
    if plan is not None:
        (run / "plan.json").write_bytes(plan)
    other, before = CALM | {"limit": 20, "out": run}, contents(run)
    with pytest.raises(BadInput, match=r"holds a run with another model, code or settings, and no plan"):
        label(**other)
    assert contents(run) == before
    shards.stopped(0, lambda: label(overwrite=True, **other), BadInput("no"))
    assert {name: data for name, data in contents(run).items() if name != "plan.json"} == kept
    assert shards.by(lambda: label(out=run, **CALM)) == [2]
    assert contents(run) == contents(calm)


@pytest.mark.parametrize("gone", [".", "shards"])
def test_a_run_whose_folder_is_taken_away_is_one_sentence_and_blocks_nothing(
    label: Label, calm: Path, tmp_path: Path, shards: Shards, gone: str
) -> None:
    run = tmp_path / "run"
    shards.before = lambda task: shutil.rmtree(run / gone) if task.number == 2 else None
    with pytest.raises(BadInput, match=r"must stay in place|cannot be written"):
        label(out=run, **CALM)
    shards.before = lambda task: None
    label(out=run, **CALM)
    assert contents(run) == contents(calm)


@pytest.mark.parametrize("at", ["1 input", "50 inputs", write_results, drop_shards])
def test_a_run_that_keeps_sums_goes_on_to_the_same_bytes(
    at: Any, summed: Path, label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: Shards
) -> None:
    def stop(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        options = dict(FEW)
        if isinstance(at, str):
            options["progress"] = stop_at(int(at.split()[0]))
        else:
            replace_everywhere(patched, at, stop)
        with pytest.raises(KeyboardInterrupt):
            label(out=run, **options)
    if not isinstance(at, str):  # scores leave as the results appear
        assert len([*(run / "shards").glob("*.scores.parquet")]) == (8 if at is write_results else 0)
    again = shards.by(lambda: label(out=run, **FEW))
    assert bool(again) == isinstance(at, str)
    assert contents(run) == contents(summed)


def test_lost_or_altered_sums_are_made_again(
    summed: Path, label: Label, tmp_path: Path, shards: Shards
) -> None:
    run, whole = Path(shutil.copytree(summed, tmp_path / "run")), contents(summed)
    assert shards.by(lambda: label(out=run, **FEW)) == []
    assert contents(run) == whole
    for name in ("manifest.json", "moments.npz", "scores/part-00000.parquet", "shards/00003.json"):
        (run / name).unlink()
        label(out=run, **FEW)
        assert contents(run) == whole, name
    label(out=tmp_path / "other", **FEW | {"max_length": 16})
    shutil.copy(tmp_path / "other" / "moments.npz", run / "moments.npz")  # whole, but of another run
    label(out=run, **FEW)
    assert contents(run) == whole
    with np.load(run / "moments.npz") as file:
        arrays = dict(file)
    np.savez(run / "moments.npz", **arrays | {"total": 2 * arrays["total"]})
    altered = (run / "moments.npz").read_bytes()
    for read in (verify, headroles.load):
        with pytest.raises(BadInput, match=r"moments\.npz'? was altered"):
            read(run)
    label(out=run, **FEW)
    assert contents(run) == whole
    (run / "moments.npz").write_bytes(altered)
    hash_again(run)
    with pytest.raises(BadInput, match="not what they were when they were written"):
        headroles.load(run)


def test_sums_are_verified_and_judged_again(summed: Path, tmp_path: Path) -> None:
    run, before = Path(shutil.copytree(summed, tmp_path / "run")), contents(summed)
    changed = headroles.judge_again(run, test="t", alpha=0.01)
    assert changed.manifest["kept"]["examples"] == verify(run).examples == 60
    after = contents(run)
    assert after["moments.npz"] == before["moments.npz"]
    assert after["findings.csv"] != before["findings.csv"]
    headroles.judge_again(run, test="t-skew", alpha=0.05)
    assert contents(run)["findings.csv"] == before["findings.csv"]
