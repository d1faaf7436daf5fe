"""Runs with more examples than scores are kept of: their folder, judged again, stopped and gone on with."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from headroles import Labelling
from headroles.errors import BadInput
from headroles.exporting import save
from headroles.judging.again import judge_again
from headroles.records.moments import GROUPS
from headroles.shards.verify import verify
from headroles.storage.run import load

pytestmark = pytest.mark.with_report
Label = Callable[..., Labelling]
FEW: dict[str, Any] = {"keep": 20, "shard_size": 8, "maps": 6}


def _files(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


@pytest.fixture(scope="module")
def summed(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of 60 pairs of which the scores of 20 are kept."""
    from headroles import label

    folder = tmp_path_factory.mktemp("runs") / "summed"
    sieves = ["local", "delimiter", "block"]
    label("QNLI", data=table, model=planted, max_length=48, sieve=sieves, group="document", out=folder, **FEW)
    return folder


def test_the_folder_holds_sums_and_a_random_subsample(summed: Path) -> None:
    run, manifest = load(summed), json.loads((summed / "manifest.json").read_text())
    assert manifest["kept"] == {"mode": "moments", "groups": GROUPS, "examples": 60, "subsample": 20}
    assert manifest["counts"].keys() == {"examples", "tokens", "truncated"}
    assert manifest["counts"]["examples"] == 60
    assert run.moments is not None
    assert (run.moments.examples, run.moments.start, run.moments.stop) == (60, 0, 8)
    rows = pq.read_table(summed / "scores" / "part-00000.parquet")
    assert rows["example"].to_pylist() == list(run.scores.examples)
    assert len(run.scores.examples) == 20
    assert all(unit.startswith("document ") for unit in run.scores.units)
    kinds = {name.partition(".")[2] for name in _files(summed / "shards")}
    assert kinds == {"json"}  # sums and rows of shards are gone
    report = (summed / "report.html").read_text()
    assert "sums over 256 random groups of all 60 examples were kept" in report


def test_its_means_are_those_of_all_examples(summed: Path, label: Label) -> None:
    run, whole = load(summed), label(group="document", maps=0, shard_size=8)
    values = whole.scores.values.astype(np.float64)
    np.testing.assert_allclose(run.findings.mean, np.nanmean(values, axis=1), atol=1e-9)
    chosen = [whole.scores.examples.index(key) for key in run.scores.examples]
    np.testing.assert_array_equal(run.scores.values, whole.scores.values[:, chosen])
    np.testing.assert_array_equal(run.scores.null, whole.scores.null[:, chosen])
    bounds = [[(rule.low, rule.high) for rule in each.findings.rules] for each in (run, whole)]
    assert bounds[0] == bounds[1]


def test_it_is_verified_judged_again_and_verified_again(summed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(summed, tmp_path / "run"))
    assert verify(folder).examples == 60
    before = _files(folder)
    changed = judge_again(folder, test="t", alpha=0.01)
    assert changed.moments is not None
    assert changed.manifest["kept"]["examples"] == 60
    assert verify(folder).examples == 60
    assert _files(folder)["moments.npz"] == before["moments.npz"]
    assert _files(folder)["findings.csv"] != before["findings.csv"]
    judge_again(folder, test="t-skew", alpha=0.05)
    assert _files(folder)["findings.csv"] == before["findings.csv"]
    save(load(folder), tmp_path / "saved")
    np.testing.assert_array_equal(load(tmp_path / "saved").moments.total, changed.moments.total)  # type: ignore[union-attr]


def test_altered_sums_are_found(summed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(summed, tmp_path / "run"))
    content = bytearray((folder / "moments.npz").read_bytes())
    content[-2000] ^= 1
    (folder / "moments.npz").write_bytes(bytes(content))
    with pytest.raises(BadInput, match=r"moments\.npz' was altered"):
        verify(folder)
    (folder / "moments.npz").unlink()
    with pytest.raises(BadInput, match="damaged"):
        load(folder)


@pytest.mark.parametrize("stop", [1, 50])
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(
    stop: int, summed: Path, label: Label, tmp_path: Path
) -> None:
    def until(done: int, total: int) -> None:
        if done >= stop:
            raise KeyboardInterrupt

    how: dict[str, Any] = {"group": "document", "out": tmp_path / "run", **FEW}
    with pytest.raises(KeyboardInterrupt):
        label(progress=until, **how)
    assert not (tmp_path / "run" / "manifest.json").exists()
    label(**how)
    assert _files(tmp_path / "run") == _files(summed)


@pytest.mark.parametrize(
    "damage", ["manifest.json", "moments.npz", "scores/part-00000.parquet", "shards/00003.json"]
)
def test_a_finished_run_in_which_a_file_is_lost_is_made_whole(
    damage: str, summed: Path, label: Label, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(summed, tmp_path / "run"))
    (folder / damage).unlink()
    label(group="document", out=folder, **FEW)
    assert _files(folder) == _files(summed)


def test_a_finished_run_that_is_started_again_scores_nothing(
    summed: Path, label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.shards.worker import Worker

    folder = Path(shutil.copytree(summed, tmp_path / "run"))
    monkeypatch.setattr(Worker, "score", lambda *given: pytest.fail("a shard was scored"))
    label(group="document", out=folder, **FEW)
    assert _files(folder) == _files(summed)


@pytest.mark.parametrize("at", ["write_results", "drop_shards"])
def test_a_run_that_was_stopped_while_it_was_finished_scores_nothing_again(
    at: str, summed: Path, label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.shards.worker import Worker

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    how: dict[str, Any] = {"group": "document", "out": tmp_path / "run", **FEW}
    with monkeypatch.context() as patched:
        patched.setattr(f"headroles.runs.run.{at}", stop)
        with pytest.raises(KeyboardInterrupt):
            label(**how)
    shards = list((tmp_path / "run" / "shards").glob("*.scores.parquet"))
    assert len(shards) == (8 if at == "write_results" else 0)  # they leave as the results appear
    monkeypatch.setattr(Worker, "score", lambda *given: pytest.fail("a shard was scored"))
    label(**how)
    assert _files(tmp_path / "run") == _files(summed)


def test_a_run_in_memory_is_that_of_a_folder(summed: Path, label: Label) -> None:
    found = label(group="document", **FEW)
    run = load(summed)
    np.testing.assert_array_equal(found.findings.p, run.findings.p)
    assert found.scores.examples == run.scores.examples


def test_the_first_of_a_stream_have_sums(label: Label) -> None:
    found = label(stream=True, first=30, **FEW)
    assert found.manifest["kept"]["examples"] == 30
    assert found.manifest["source"]["taken"] == "the first 30"
    assert label(stream=True, first=15, **FEW).moments is None


def test_the_terminal_says_what_was_kept(
    command: Callable[..., tuple[int, str, str]], planted: Path, table: Path, tmp_path: Path
) -> None:
    words = ["label", "--task", "QNLI", "--data", table, "--model", planted, "--max-length", 48]
    code, out, err = command(
        *words, "--sieve", "local", "--keep", 20, "--maps", 0, "-v", "--out", tmp_path / "run"
    )
    assert code == 0, err
    assert ": 60 examples\n" in out
    assert "sums over 256 random groups of all 60 examples were kept, and the scores of a random" in out
