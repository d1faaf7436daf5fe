"""A run that is stopped at any moment goes on where it was, and never mixes what does not belong together."""

import json
import os
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
from headroles.storage import place_of, write_results
from tests.storage.conftest import FEW
from tests.support.crashing import Shards, replace_everywhere
from tests.support.folders import contents, hash_again, verify

Label = Callable[..., Labelling]
QUICK: dict[str, Any] = {"maps": 0, "sieve": ["local", "delimiter"]}
SUMMED: dict[str, Any] = QUICK | {"keep": 20, "shard_size": 4}
BEFORE = ".before"


@pytest.fixture(scope="session")
def calm(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 30 inputs in three shards that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "calm"
    headroles.label("QNLI", data=table, model=planted, max_length=48, out=folder, **QUICK, **CALM)
    return folder


CALM: dict[str, Any] = {"limit": 30, "shard_size": 10}


def test_shards_that_are_done_are_kept_and_not_done_again(
    label: Label, calm: Path, tmp_path: Path, shards: Shards
) -> None:
    run, told = tmp_path / "run", list[tuple[int, int]]()
    for trouble in (KeyboardInterrupt(), BadInput("a bad input"), RuntimeError("a bug")):
        raised = shards.stopped(2, lambda: label(out=run, **QUICK, **CALM), trouble)
        assert shards.scored == [0, 1]
        assert raised.type is not KeyboardInterrupt or "2 finished shards are kept" in str(raised.value)
        with pytest.raises(BadInput, match=r"is read when it is finished, but the run in '.*' is not; start"):
            headroles.load(run)
        more: dict[str, Any] = {"progress": lambda done, total: told.append((done, total))}
        assert shards.by(partial(label, out=run, **QUICK, **CALM, **more)) == [2]
        assert (told[0], told[-1]) == ((10, 30), (30, 30))
        assert contents(run) == contents(calm)
        told.clear()
        shutil.rmtree(run)


def test_a_finished_run_is_verified_and_what_is_damaged_done_again_and_nothing_else(
    label: Label, calm: Path, tmp_path: Path, shards: Shards
) -> None:
    run, whole = Path(shutil.copytree(calm, tmp_path / "run")), contents(calm)

    def again() -> None:
        label(out=run, **QUICK, **CALM)

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
    for name in (
        "scores/part-00007.parquet",
        "shards/.00003.json.999999999.partial",
        ".findings.csv.9.partial",
    ):
        (run / name).write_bytes(b"of another run, or half")
    assert shards.by(again) == []
    assert contents(run) == whole


def test_other_settings_inputs_or_weights_are_refused_and_named(
    label: Label, table: Path, planted: Path, even: Path, tmp_path: Path, shards: Shards
) -> None:
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    shutil.copy(table, data)
    model.symlink_to(planted)
    usual = QUICK | {"data": data, "model": model, "out": tmp_path / "run", "shard_size": 10}
    shards.stopped(2, lambda: label(**usual))
    before = contents(tmp_path / "run")
    with pytest.raises(BadInput, match=r"holds a run with other settings \(alpha, max_length\); give --over"):
        label(**usual, max_length=40, alpha=0.01)
    data.write_text(table.read_text().replace("cat", "dog"))
    with pytest.raises(BadInput, match=r"holds a run with other inputs; give --overwrite to replace it"):
        label(**usual)
    shutil.copy(table, data)
    model.unlink()
    model.symlink_to(even)
    with pytest.raises(BadInput, match=r"holds a run with other model weights; give --overwrite"):
        label(**usual)
    assert contents(tmp_path / "run") == before
    label(**usual, overwrite=True)
    label(**usual | {"out": tmp_path / "fresh"})
    assert contents(tmp_path / "run") == contents(tmp_path / "fresh")


def test_inputs_that_grew_and_frequencies_of_tokens_are_part_of_what_a_run_is(
    label: Label, table: Path, tmp_path: Path
) -> None:
    where, lines = "memory://grown", table.read_text().splitlines(keepends=True)
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(lines[:41]))
    label(data=data, out=where, shard_size=8, **QUICK)
    data.write_text("".join(lines[:49]))
    with pytest.raises(BadInput, match="holds a run with other inputs; give --overwrite"):
        label(data=data, out=where, shard_size=8, **QUICK)
    got = label(data=data, out=where, shard_size=8, overwrite=True, **QUICK)
    assert got.frame().equals(label(data=data, shard_size=8, **QUICK).frame())
    verify(where)
    options = SUMMED | {"stream": True, "sieve": ["rare"], "data": data, "out": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        label(progress=stop_at(40), **options)
    assert json.loads((tmp_path / "run" / "plan.json").read_text())["components"]["frequencies"]
    data.write_text("".join(lines))
    with pytest.raises(BadInput, match="holds a run with other frequencies of tokens in the inputs"):
        label(**options)


def stop_at(count: int) -> Callable[[int, int], None]:
    """Return a function for progress that interrupts a run when so many inputs are done."""

    def progress(done: int, total: int) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return progress


def test_a_shard_by_a_worker_unlike_the_first_is_refused(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.shards import Worker

    score = Worker.score
    monkeypatch.setattr(
        Worker,
        "score",
        lambda self, task, advance: replace(score(self, task, advance), identity="other" * task.number),
    )
    with pytest.raises(BadInput, match=r"same model, code, .* shard \d was scored by one that has others"):
        label(out=tmp_path / "run", **QUICK, **CALM)


def test_a_run_that_replaces_another_goes_on_after_its_first_shard(
    label: Label, calm: Path, tmp_path: Path, shards: Shards
) -> None:
    run = Path(shutil.copytree(calm, tmp_path / "run"))
    new = QUICK | CALM | {"max_length": 40, "out": run}
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


def test_what_a_lost_worker_left_half_written_is_gone_at_the_end(
    label: Label, tmp_path: Path, shards: Shards
) -> None:
    def half(task: Any) -> None:
        for name in ("shards/.00001.json", "scores/.part-00001.parquet"):
            partial = tmp_path / "run" / f"{name}.{os.getppid()}.partial"  # its number is another's by now
            partial.parent.mkdir(exist_ok=True)
            partial.write_bytes(b"half")

    shards.before = half
    for keep in (100_000, 20):
        label(out=tmp_path / "run", keep=keep, overwrite=True, **QUICK, **CALM)
        assert not list((tmp_path / "run").rglob("*.partial"))


def test_shards_whose_plan_is_lost_are_not_scored_again_and_come_back_when_nothing_replaces_them(
    label: Label, calm: Path, tmp_path: Path, shards: Shards
) -> None:
    run = tmp_path / "run"
    for plan in (None, b"", b"{", b"[1]", b'{"headroles": "0.1.0"}'):
        shards.stopped(2, lambda: label(out=run, **QUICK, **CALM))
        (run / "plan.json").unlink()
        if plan is not None:
            (run / "plan.json").write_bytes(plan)
        before = contents(run)
        with pytest.raises(BadInput, match=r"holds a run with another model, code or settings, and no plan"):
            label(out=run, **QUICK | CALM | {"limit": 20})
        assert contents(run) == before
        shards.stopped(
            0, lambda: label(out=run, overwrite=True, **QUICK | CALM | {"limit": 20}), BadInput("no")
        )
        kept = {name: data for name, data in contents(run).items() if name != "plan.json"}
        assert kept == {name: data for name, data in before.items() if name != "plan.json"}
        assert shards.by(lambda: label(out=run, **QUICK, **CALM)) == [2]
        assert contents(run) == contents(calm)
        shutil.rmtree(run)


def test_another_decision_leaves_the_finished_run_whole_until_its_results_change(
    label: Label, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: Shards
) -> None:
    run = Path(shutil.copytree(calm, tmp_path / "run"))
    before = contents(run)

    def stopped(*given: Any, **more: Any) -> None:
        assert contents(run).items() >= before.items()
        verify(run)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        replace_everywhere(patched, write_results, stopped)
        with pytest.raises(KeyboardInterrupt):
            label(out=run, alpha=0.01, overwrite=True, **QUICK, **CALM)
    assert contents(run) == before
    assert shards.by(lambda: label(out=run, alpha=0.01, overwrite=True, **QUICK, **CALM)) == []
    assert headroles.load(run).decision.alpha == 0.01
    verify(run)


@pytest.mark.parametrize("gone", [".", "scores", "shards"])
def test_a_run_whose_folder_is_taken_away_is_one_sentence_and_blocks_nothing(
    label: Label, calm: Path, tmp_path: Path, shards: Shards, gone: str
) -> None:
    run = tmp_path / "run"
    shards.before = lambda task: shutil.rmtree(run / gone) if task.number == 2 else None
    with pytest.raises(BadInput, match=r"must stay in place|cannot be written") as error:
        label(out=run, **QUICK, **CALM)
    assert "\n" not in str(error.value)
    assert gone != "." or list(tmp_path.iterdir()) == []
    shards.before = lambda task: None
    label(out=run, **QUICK, **CALM)
    assert contents(run) == contents(calm)


@pytest.mark.parametrize("stop", [1, 50])
def test_a_run_that_keeps_sums_goes_on_to_the_same_bytes(
    stop: int, summed: Path, label: Label, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        label(out=tmp_path / "run", progress=stop_at(stop), **FEW)
    assert not (tmp_path / "run" / "manifest.json").exists()
    label(out=tmp_path / "run", **FEW)
    assert contents(tmp_path / "run") == contents(summed)


def test_a_finished_run_of_sums_scores_nothing_again_and_is_made_whole_where_a_file_is_lost(
    summed: Path, label: Label, tmp_path: Path, shards: Shards
) -> None:
    run, whole = Path(shutil.copytree(summed, tmp_path / "run")), contents(summed)
    assert shards.by(lambda: label(out=run, **FEW)) == []
    assert contents(run) == whole
    for name in ("manifest.json", "moments.npz", "scores/part-00000.parquet", "shards/00003.json"):
        (run / name).unlink()
        label(out=run, **FEW)
        assert contents(run) == whole, name
    other = label(out=tmp_path / "other", **FEW | {"max_length": 16})
    assert other.moments is not None
    shutil.copy(tmp_path / "other" / "moments.npz", run / "moments.npz")  # whole, but of another run
    label(out=run, **FEW)
    assert contents(run) == whole


@pytest.mark.parametrize("at", [write_results, drop_shards])
def test_a_run_of_sums_that_was_stopped_while_it_was_finished_scores_nothing_again(
    at: Any, summed: Path, label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: Shards
) -> None:
    def stop(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        replace_everywhere(patched, at, stop)
        with pytest.raises(KeyboardInterrupt):
            label(out=tmp_path / "run", **FEW)
    left = list((tmp_path / "run" / "shards").glob("*.scores.parquet"))
    assert len(left) == (8 if at is write_results else 0)  # they leave as the results appear
    assert shards.by(lambda: label(out=tmp_path / "run", **FEW)) == []
    assert contents(tmp_path / "run") == contents(summed)


def test_altered_sums_are_found_by_their_own_hash_and_made_anew(
    summed: Path, label: Label, tmp_path: Path
) -> None:
    run, whole = Path(shutil.copytree(summed, tmp_path / "run")), contents(summed)
    with np.load(run / "moments.npz") as file:
        arrays = dict(file)
    np.savez(run / "moments.npz", **arrays | {"total": 2 * arrays["total"]})
    with pytest.raises(BadInput, match=r"moments\.npz' was altered"):
        verify(run)
    with pytest.raises(BadInput, match=r"moments\.npz was altered"):
        headroles.load(run)
    label(out=run, **FEW)
    assert contents(run) == whole
    np.savez(run / "moments.npz", **arrays | {"total": 2 * arrays["total"]})
    hash_again(run)
    with pytest.raises(BadInput, match="not what they were when they were written"):
        headroles.load(run)


def test_sums_are_verified_judged_again_and_saved(summed: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(summed, tmp_path / "run"))
    before = contents(run)
    changed = headroles.judge_again(run, test="t", alpha=0.01)
    assert changed.manifest["kept"]["examples"] == verify(run).examples == 60
    assert contents(run)["moments.npz"] == before["moments.npz"]
    assert contents(run)["findings.csv"] != before["findings.csv"]
    headroles.judge_again(run, test="t-skew", alpha=0.05)
    assert contents(run)["findings.csv"] == before["findings.csv"]
    headroles.save(headroles.load(run), tmp_path / "saved")
    assert (tmp_path / "saved" / "moments.npz").read_bytes() == before["moments.npz"]


@pytest.mark.parametrize("stop", [True, pytest.param(False, marks=pytest.mark.ci)])
def test_overwriting_sums_at_an_address_begins_anew(label: Label, stop: bool) -> None:
    where, one = f"memory://sums-{stop}", SUMMED | {"shard_size": 1, "limit": 24, "keep": 8}
    try:
        label(out=where, progress=stop_at(20 if stop else 99), **one)
    except KeyboardInterrupt:
        assert stop
    assert "moments.npz" in place_of(where).names()
    got = label(out=where, overwrite=True, max_length=16, **one)
    want = label(max_length=16, **one)
    assert got.frame().equals(want.frame())
    assert got.moments is not None
    assert want.moments is not None
    assert got.moments.tokens == want.moments.tokens
    verify(where)
