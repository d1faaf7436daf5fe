"""What is never mixed in one run: other code, workers, inputs or counts, and sums that were altered."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import headroles
import headroles.sieves
from headroles import Labelling
from headroles.errors import BadInput
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.records.passage import Passage
from headroles.runs.run import score_shards
from headroles.shards import identity
from headroles.shards.files import read_checked_files, write_shard
from headroles.shards.moment_runs import read_subsample
from headroles.shards.receipts import Receipts
from headroles.shards.resume import Work
from headroles.shards.survey import count_inputs, cut_into_tasks
from headroles.shards.verify import verify
from headroles.shards.work import Receipt, Task
from headroles.storage.places import MemoryPlace, place_of
from headroles.storage.run import load
from tests.storage.manifests import hash_again

Label = Callable[..., Labelling]
QUICK: dict[str, Any] = {"maps": 0, "sieve": ["local", "delimiter"]}
SUMMED: dict[str, Any] = QUICK | {"keep": 20, "shard_size": 4}


def _receipt(number: int, **more: Any) -> Receipt:
    usual: dict[str, Any] = {"examples": 4, "tokens": 9, "truncated": 1, "digest": "d", "identity": "one"}
    return Receipt(number, **usual | {"files": {}, "low": (-0.5, None), "high": (0.5, None)} | more)


def _double_totals(folder: Path) -> None:
    """Alter the sums of a run; the hash in their own file stays as it was."""
    with np.load(folder / "moments.npz") as file:
        arrays = dict(file)
    np.savez(folder / "moments.npz", **arrays | {"total": 2 * arrays["total"]})


def _package(folder: Path) -> Path:
    """The package as an installed wheel lays it out: sieves are no link."""
    left_out = shutil.ignore_patterns("__pycache__", "sieves")
    (package,) = headroles.__path__[:1]
    shutil.copytree(package, folder / "headroles", ignore=left_out)
    shutil.copytree(headroles.sieves.__path__[0], folder / "headroles" / "sieves")
    return folder / "headroles"


def test_the_code_of_every_sieve_is_in_the_identity_however_the_package_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, copy = identity.code(), _package(tmp_path)
    monkeypatch.setattr(identity, "PACKAGE", copy)
    monkeypatch.setattr(identity, "SIEVES", copy / "sieves")
    assert identity.code() == here
    for name in ("sieves/built_in/local.py", "extraction/capture/plain.py", "records/moments.py"):
        with (copy / name).open("a") as file:
            file.write("\n# changed\n")
        assert identity.code() != here
        here = identity.code()
    for name in ("cli/main.py", "comparing/compare.py", "shards/engines/here.py"):
        with (copy / name).open("a") as file:
            file.write("\n# changed\n")
    assert identity.code() == here


class Mixed:
    """An engine whose second worker is not like its first."""

    facts = SimpleNamespace(identity="one")

    def score(self, tasks: Iterator[Task]) -> Iterator[Receipt]:
        for task in tasks:
            yield _receipt(task.number, identity="other" if task.number else "one")

    def keep(self, passages: Any, asked: Any) -> list[Any]:
        return []

    def __enter__(self) -> "Mixed":
        return self

    def __exit__(self, *why: object) -> None:
        pass


def test_a_shard_by_a_worker_unlike_the_first_is_refused_whatever_the_engine() -> None:
    engine: Any = Mixed()
    tasks = iter([Task(number, (), (), "d") for number in range(3)])
    tally = Receipts(whole=True)
    with pytest.raises(BadInput, match=r"same model, code, .* shard 1 was scored by one that has others"):
        score_shards(engine, tasks, Work(MemoryPlace(), None), lambda count: None, tally)
    assert [each.number for each in tally.receipts] == [0]


def test_a_tally_counts_shards_in_any_order_and_holds_receipts_only_where_they_are_needed() -> None:
    for whole in (True, False):
        tally = Receipts(whole)
        for number in (2, 0, 3):
            tally.add(_receipt(number, low=(-0.1 * number, None), high=(float(number), None)))
        assert tally.shards == 1
        with pytest.raises(RuntimeError, match=r"4 shards .* of the first 1 and of \[2, 3\]"):
            tally.check(4)
        tally.add(_receipt(1))
        tally.check(4)
        with pytest.raises(RuntimeError, match="5 shards"):
            tally.check(5)
        assert tally.truncated == 4
        np.testing.assert_array_equal(tally.low, [-0.5, np.nan])
        np.testing.assert_array_equal(tally.high, [3, np.nan])
        if whole:
            assert [each.number for each in tally.receipts] == [0, 1, 2, 3]
        else:
            with pytest.raises(RuntimeError, match="only where all scores are kept"):
                _ = tally.receipts


@pytest.mark.parametrize("stop", [True, False])
def test_overwriting_sums_at_an_address_begins_anew(
    label: Label, request: pytest.FixtureRequest, stop: bool
) -> None:
    where = f"memory://{request.node.name}"

    def until(done: int, total: int) -> None:
        if stop and done >= 40:
            raise KeyboardInterrupt

    try:
        label(out=where, progress=until, **SUMMED | {"shard_size": 1})
    except KeyboardInterrupt:
        assert stop
    assert "moments.npz" in place_of(where).names()
    got = label(out=where, overwrite=True, max_length=16, **SUMMED | {"shard_size": 1})
    want = label(max_length=16, **SUMMED | {"shard_size": 1})
    assert got.frame().equals(want.frame())
    assert got.moments is not None
    assert want.moments is not None
    assert got.moments.tokens == want.moments.tokens
    verify(where)


def test_overwriting_at_an_address_after_the_inputs_grew_begins_anew(
    label: Label, table: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where, rows = f"memory://{request.node.name}", table.read_text().splitlines(keepends=True)
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(rows[:41]))
    label(data=data, out=where, shard_size=8, **QUICK)
    data.write_text("".join(rows[:49]))
    with pytest.raises(BadInput, match="holds a run with other inputs; give --overwrite"):
        label(data=data, out=where, shard_size=8, **QUICK)
    got = label(data=data, out=where, shard_size=8, overwrite=True, **QUICK)
    assert got.frame().equals(label(data=data, shard_size=8, **QUICK).frame())
    verify(where)


def test_sums_that_were_altered_are_made_anew(label: Label, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    before = label(out=folder, **SUMMED).frame()
    first = (folder / "moments.npz").read_bytes()
    _double_totals(folder)
    with pytest.raises(BadInput, match=r"moments\.npz' was altered"):
        verify(folder)
    with pytest.raises(BadInput, match=r"moments\.npz was altered"):
        load(folder)
    assert label(out=folder, **SUMMED).frame().equals(before)
    assert (folder / "moments.npz").read_bytes() == first
    verify(folder)


def test_sums_that_were_altered_are_refused_where_hashes_of_files_fit(label: Label, tmp_path: Path) -> None:
    label(out=tmp_path, **SUMMED)
    content = (tmp_path / "moments.npz").read_bytes()
    _double_totals(tmp_path)
    hash_again(tmp_path)
    with pytest.raises(BadInput, match="not what they were when they were written"):
        load(tmp_path)
    (tmp_path / "moments.npz").write_bytes(content)
    hash_again(tmp_path)
    load(tmp_path)


def test_whole_sums_that_are_not_those_of_the_manifest_are_made_anew(label: Label, tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other"
    before = label(out=folder, **SUMMED).frame()
    label(out=other, max_length=16, **SUMMED)
    first = (folder / "moments.npz").read_bytes()
    shutil.copy(other / "moments.npz", folder / "moments.npz")
    assert label(out=folder, **SUMMED).frame().equals(before)
    assert (folder / "moments.npz").read_bytes() == first


def test_a_shard_that_was_altered_is_not_sampled_from() -> None:
    place = MemoryPlace()
    write_shard(place, _receipt(0), {"shards/00000.npz": b"sums"})
    assert read_checked_files(place, 0, ("npz",)) == [b"sums"]
    place.write("shards/00000.npz", b"other")
    with pytest.raises(
        BadInput, match=r"'shards/00000\.npz' was altered or taken away while the run was made"
    ):
        read_checked_files(place, 0, ("npz",))
    place.delete("shards/00000.npz")
    options = record_of(LabelOptions, task="QNLI", keep=20, shard_size=4)
    with pytest.raises(BadInput, match=r"'shards/00000\.\*' was altered or taken away"):
        read_subsample(place, 1, ["a"], (1, 1), options)


class Inputs(list[Passage]):
    """Inputs at hand, as a corpus."""

    source: dict[str, Any] = {"kind": "file", "name": "here"}  # noqa: RUF012
    gold = False
    units = None

    def close(self) -> None:
        """Nothing is open."""


def _inputs(count: int) -> Inputs:
    return Inputs([Passage(f"x/{number}", (f"text {number}",)) for number in range(count)])


@pytest.mark.parametrize("keep", [100, 10])
def test_inputs_that_change_while_a_run_is_made_are_refused(keep: int) -> None:
    survey = count_inputs(_inputs(24), keep, stream=False)
    assert len(list(cut_into_tasks(_inputs(24), survey, 10))) == 3
    edited = _inputs(24)
    edited[3] = replace(edited[3], texts=("edited",))
    for other in (_inputs(27), _inputs(20), edited):
        with pytest.raises(BadInput, match="they have; start it again"):
            list(cut_into_tasks(other, survey, 10))


def test_a_stream_may_grow_beyond_what_was_gone_through_but_not_change_there() -> None:
    survey = count_inputs(_inputs(24), 10, stream=True)
    assert len(list(cut_into_tasks(_inputs(31), survey, 10))) == 4
    edited = _inputs(24)
    edited[3] = replace(edited[3], texts=("edited",))
    for other in (edited, _inputs(9)):
        with pytest.raises(BadInput, match="they have; start it again"):
            list(cut_into_tasks(other, survey, 10))


def test_frequencies_of_tokens_are_part_of_what_a_run_is(label: Label, table: Path, tmp_path: Path) -> None:
    rows = table.read_text().splitlines(keepends=True)
    data, folder = tmp_path / "pairs.tsv", tmp_path / "run"
    data.write_text("".join(rows[:49]))
    options = {"stream": True, "keep": 20, "shard_size": 4, "sieve": ["rare"], "maps": 0}

    def until(done: int, total: int) -> None:
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        label(data=data, out=folder, progress=until, **options)
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["components"]["frequencies"]
    data.write_text("".join(rows[:61]))
    with pytest.raises(BadInput, match="holds a run with other frequencies of tokens in the inputs"):
        label(data=data, out=folder, **options)
