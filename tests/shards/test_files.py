"""Shards: how inputs are surveyed and cut, what is known to be done, and equal bytes in any case."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import Example, Labelling
from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.extraction.model.threads import cpu_count
from headroles.extraction.texts.sources import fingerprint
from headroles.inputs.units import unit_names
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.progress import ignore_advance
from headroles.records.passage import Passage, Words
from headroles.shards.engines import has_idle_processor, threads_per_worker
from headroles.shards.engines.process import error_of_worker
from headroles.shards.engines.processes import Processes
from headroles.shards.files import (
    find_damaged_file,
    find_finished_shard,
    receipt_bytes,
    receipt_of,
    write_shard,
)
from headroles.shards.identity import identity_of, name_differences, sieves_digest
from headroles.shards.survey import count_inputs, cut_into_tasks, digest_of
from headroles.shards.work import Order, Receipt
from headroles.storage.places import LocalPlace, MemoryPlace
from tests.support.reference import rounding_bound

Label = Callable[..., Labelling]


class Inputs(list[Passage]):
    """Inputs at hand, as a corpus."""

    source: dict[str, Any] = {"kind": "file", "name": "here"}  # noqa: RUF012
    gold = False
    units = None

    def close(self) -> None:
        """Nothing is open."""


def _inputs(count: int) -> Inputs:
    """Texts of which every seventh is that of three before, in groups now and then."""
    made = Inputs()
    for k in range(count):
        text = f"text {k - 3 if k % 7 == 6 else k}"
        made.append(Passage(f"x/{k}", (text, f"other {k}"), f"group {k // 10}" if k % 10 < 2 else None))
    return made


def test_a_survey_names_units_as_if_all_inputs_were_held() -> None:
    inputs = _inputs(60)
    survey = count_inputs(inputs, 100, False)
    expected = unit_names(
        [each.group for each in inputs], [each.texts for each in inputs], [each.key for each in inputs]
    )
    assert list(survey.units or ()) == expected
    assert len(set(expected)) < 60
    assert (survey.count, survey.whole) == (60, True)
    assert survey.sha256 == fingerprint(inputs)


def test_beyond_what_is_kept_a_stream_is_not_gone_through_and_a_file_is_counted() -> None:
    taken = 0

    class Counted(Inputs):
        def __iter__(self) -> Iterator[Passage]:
            nonlocal taken
            for each in _inputs(40):
                taken += 1
                yield each

    counted, streamed = count_inputs(Counted(), 10, False), count_inputs(_inputs(40), 10, True)
    assert (counted.count, counted.units, counted.whole) == (40, None, False)
    assert (streamed.count, streamed.units) == (None, None)
    assert counted.sha256 == fingerprint(_inputs(40)) != streamed.sha256
    taken = 0
    count_inputs(Counted(), 10, True)
    assert taken == 11


def test_inputs_that_share_a_text_are_one_unit_and_are_counted_all_the_same() -> None:
    survey = count_inputs(Inputs([Passage(f"x/{k}", ("same",)) for k in range(3)]), 100, False)
    assert (survey.count, survey.units) == (3, ("x/0",) * 3)


def test_shards_are_runs_of_inputs_in_their_order_made_one_by_one() -> None:
    inputs = _inputs(25)
    survey = count_inputs(inputs, 100, False)
    tasks = list(cut_into_tasks(inputs, survey, 10))
    assert [len(task.passages) for task in tasks] == [10, 10, 5]
    assert [task.number for task in tasks] == [0, 1, 2]
    assert [each.key for task in tasks for each in task.passages] == [each.key for each in inputs]
    assert [each for task in tasks for each in task.units] == list(survey.units or ())
    assert len({task.digest for task in tasks}) == 3


def test_whatever_is_read_of_an_input_is_in_the_digest_of_its_shard() -> None:
    words = Words(np.array([[0, 1]], np.int32), np.array([-1], np.int32), ("root",))
    one = Passage("x/0", ("a",), None, (words,))
    others = [
        replace(one, key="x/1"),
        replace(one, texts=("b",)),
        replace(one, group="g"),
        replace(one, words=None),
        replace(one, words=(replace(words, relations=("dep",)),)),
        replace(one, words=(replace(words, heads=np.array([0], np.int32)),)),
        replace(one, words=(replace(words, lemmas=("a",)),)),
    ]
    assert len({digest_of([each], ["u"]) for each in (one, *others)} | {digest_of([one], ["v"])}) == 9


RECEIPT = Receipt(3, 2, 20, 0, "digest", "identity", {}, (-1.0, None), (0.1 + 0.2, None))


def test_a_receipt_comes_back_as_it_was_written_and_nothing_else_is_one() -> None:
    assert receipt_of(receipt_bytes(RECEIPT)) == RECEIPT
    data = receipt_bytes(RECEIPT)
    for spoiled in (b"", data[:40], b"[]", b"null", b'{"sha256": 1}', data.replace(b'"digest"', b'"else"')):
        assert receipt_of(spoiled) is None
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert receipt_of(changed) in (None, RECEIPT)  # a blank between fields says nothing


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_shard_is_done_when_all_its_bytes_are_there(where: str, tmp_path: Path) -> None:
    place = MemoryPlace() if where == "memory" else LocalPlace(tmp_path)
    inputs = _inputs(4)
    (task,) = cut_into_tasks(inputs, count_inputs(inputs, 9, False), 9)
    assert find_finished_shard(place, task, "identity") is None
    receipt = write_shard(
        place, replace(RECEIPT, number=0, digest=task.digest), {"scores/a": b"12", "b": b"3"}
    )
    assert find_finished_shard(place, task, "identity") == receipt
    assert find_finished_shard(place, task, "another") is None
    assert find_finished_shard(place, replace(task, digest="another"), "identity") is None
    for name in receipt.files:
        whole = place.read(name)
        for spoiled in (whole[:-1], whole + b" ", bytes([whole[0] ^ 1]) + whole[1:]):
            place.write(name, spoiled)
            assert find_damaged_file(place, receipt.files) == name
            assert find_finished_shard(place, task, "identity") is None
        place.delete(name)
        assert find_finished_shard(place, task, "identity") is None
        place.write(name, whole)
    assert find_finished_shard(place, task, "identity") == receipt


def test_an_identity_changes_with_each_component_and_says_with_which() -> None:
    components = {"weights": "a", "settings": {"seed": 1}, "parser": None, "device": ["cpu", "float32"]}
    assert name_differences(json.loads(json.dumps(components)), components) == []
    for name, other, said in (
        ("weights", "b", "model weights"),
        ("settings", {"seed": 2}, "settings"),
        ("parser", {"name": "p"}, "parser"),
        ("device", ["cpu", "bfloat16"], "device or precision"),
    ):
        changed = components | {name: other}
        assert identity_of(changed) != identity_of(components)
        assert name_differences(components, changed) == [said]


def test_code_of_sieves_from_outside_is_in_the_identity(tmp_path: Path) -> None:
    from headroles.catalogue import sieve_of

    file = tmp_path / "mine.py"
    source = (
        "import numpy as np\nfrom headroles import sieve\n\n@sieve('mine')\n"
        "def mine(example):\n    return np.eye(example.size, k=K, dtype=bool)\n"
    )
    digests = []
    for offset in (1, 1, 2):
        file.write_text(source.replace("K", str(offset)))
        digests.append(sieves_digest([sieve_of(f"{file}:mine")])["mine"])
    assert digests[0] == digests[1] != digests[2]
    assert sieves_digest([sieve_of("local"), sieve_of("block")]) == {}


def test_threads_are_shared_among_workers_and_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    for workers, threads, each in ((1, None, None), (2, None, 4), (16, None, 1), (1, 3, 3), (4, 3, 3)):
        options = record_of(LabelOptions, task="QNLI", workers=workers, threads=threads)
        assert threads_per_worker(options) == each
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads_per_worker(record_of(LabelOptions, task="QNLI", workers=2)) == max(1, cpu_count() // 2)


@pytest.mark.parametrize(
    ("processors", "given", "idle"),
    [
        (1, {"workers": 1}, False),
        (2, {"workers": 1}, True),
        (2, {"workers": 2}, False),
        (2, {"workers": 3}, False),
        (3, {"workers": 2}, True),
        (4, {"workers": 2}, True),
        (2, {"workers": 1, "threads": 1}, True),
        (2, {"workers": 2, "threads": 2}, True),
        (2, {"workers": 2, "engine": "ray"}, True),
    ],
)
def test_a_worker_finds_an_idle_processor_where_workers_of_one_thread_do_not_take_all(
    processors: int, given: dict[str, Any], idle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headroles.extraction.model.threads.cpu_count", lambda: processors)
    assert has_idle_processor(record_of(LabelOptions, task="QNLI", **given)) is idle


def _contents(folder: Path) -> dict[str, bytes]:
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    return {name: file.read_bytes() for name, file in sorted(found.items())}


def _runs(process: int) -> bool:
    """Whether a process is there, and is not one that only waits to be asked how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _children() -> set[int]:
    """Processes that this one started and that are still there."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = each.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # gone by now
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(each.parent.name))
    return found


@dataclass(frozen=True)
class Inward:
    """A sieve of a class of this module."""

    name: str = "inward"
    needs: frozenset[str] = frozenset()

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        """Mean of the diagonal."""
        mean: np.ndarray = np.diagonal(attention, axis1=1, axis2=2).mean(axis=1)
        return mean

    def null(self, example: Example) -> float:
        """What even attention gives."""
        return 1 / example.size


def test_shards_of_any_size_give_the_same_scores_up_to_rounding(label: Label) -> None:
    whole, cut = label(sieve=["local", Inward()]), label(sieve=["local", Inward()], shard_size=7)
    np.testing.assert_allclose(whole.scores.values, cut.scores.values, rtol=0, atol=rounding_bound(48))
    np.testing.assert_array_equal(whole.scores.null, cut.scores.null)
    np.testing.assert_array_equal(whole.scores.cells, cut.scores.cells)
    assert (whole.scores.units, whole.scores.examples) == (cut.scores.units, cut.scores.examples)
    assert repr(whole.findings.rules) == repr(cut.findings.rules)
    np.testing.assert_array_equal(whole.findings.decision, cut.findings.decision)
    assert cut.manifest["shards"] == {"size": 7, "count": 9}


@pytest.mark.slow
def test_every_byte_is_the_same_for_one_two_and_four_workers_which_all_go_home(
    label: Label, tmp_path: Path
) -> None:
    before, told = _children(), []
    for workers in (1, 2, 4):
        label(
            out=tmp_path / str(workers),
            workers=workers,
            shard_size=8,
            threads=1,
            progress=lambda done, total: told.append((done, total)),
        )
    assert _children() <= before
    one, two, four = (_contents(tmp_path / str(workers)) for workers in (1, 2, 4))
    assert {name for name in one if name.startswith("shards/")} == {
        f"shards/{number:05d}.{ending}" for number in range(8) for ending in ("json", "parquet")
    }
    assert one == two == four
    assert told.count((60, 60)) == 3
    assert {total for _, total in told} == {60}


def test_sieves_as_they_are_stay_in_this_process(label: Label) -> None:
    with pytest.raises(BadInput, match=r"stay in this process, but got 'inward' with 2 workers; name it as"):
        label(sieve=[Inward()], workers=2)


@pytest.mark.slow
def test_an_error_of_a_worker_is_the_same_sentence_and_leaves_no_process(
    label: Label, tmp_path: Path
) -> None:
    before = _children()
    with pytest.raises(BadInput) as here:
        label(max_length=4000, out=tmp_path / "run")
    with pytest.raises(BadInput) as there:
        label(max_length=4000, workers=2, out=tmp_path / "run")
    assert str(here.value) == str(there.value)
    assert "takes at most 64 tokens" in str(there.value)
    assert _children() <= before
    assert list(tmp_path.iterdir()) == []


def test_errors_cross_as_what_they_are() -> None:
    kept = UnknownName("sieve", "blok", ["block"])
    made = error_of_worker("UnknownName", str(kept), None)
    assert (type(made), str(made)) == (UnknownName, str(kept))
    import pickle

    found = error_of_worker("KeyError", "'x'", pickle.dumps(KeyError("x")))
    assert (type(found), found.args) == (KeyError, ("x",))
    lost = error_of_worker("Strange", "what happened", b"no pickle")
    assert (type(lost), str(lost)) == (RuntimeError, "Strange: what happened")
    assert not isinstance(lost, HeadrolesError)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_its_shard_done_again(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label(out=tmp_path / "calm", shard_size=6)
    killed: list[int] = []
    taken = Processes._next

    def next_and_kill(self: Processes, feed: Any) -> Receipt | None:
        busy = [each for each in self._workers if each.task and each._process.pid not in killed]
        if len(killed) < 2 and busy:
            killed.append(busy[0]._process.pid)
            os.kill(killed[-1], signal.SIGKILL)
            busy[0]._process.wait()
        return taken(self, feed)

    monkeypatch.setattr(Processes, "_next", next_and_kill)
    told: list[int] = []
    label(out=tmp_path / "killed", shard_size=6, workers=2, progress=lambda done, total: told.append(done))
    assert len(set(killed)) == 2
    assert _contents(tmp_path / "calm") == _contents(tmp_path / "killed")
    assert told[-1] == 60


@pytest.mark.slow
def test_a_shard_that_loses_every_worker_ends_the_run_in_one_sentence(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "deadly.py"
    file.write_text(
        "import os\nfrom headroles import sieve\n\n@sieve('deadly')\ndef deadly(example):\n"
        "    if example.key == 'QNLI/57':\n        os._exit(9)\n    return example.special\n"
    )
    before = _children()
    sentence = r"3 were lost while scoring shard 2 \(QNLI/40 and on\) \(exit code 9\)"
    with pytest.raises(BadInput, match=sentence):
        label(sieve=[f"{file}:deadly"], workers=2, shard_size=20, out=tmp_path / "run")
    assert _children() <= before
    assert sorted(each.name for each in (tmp_path / "run" / "shards").glob("*.json")) == [
        "00000.json",
        "00001.json",
    ]


@pytest.mark.slow
def test_workers_end_by_themselves_when_their_run_is_killed(
    planted: Path, table: Path, tmp_path: Path
) -> None:
    code = (
        "import sys, time, headroles\nfrom headroles.shards.engines.processes import Processes\n"
        "started = Processes._start\n"
        "def start(self):\n    started(self)\n    print(self._workers[-1]._process.pid, flush=True)\n"
        "Processes._start = start\n"
        f"headroles.label('QNLI', data={str(table)!r}, model={str(planted)!r}, max_length=48, workers=2,"
        f" shard_size=2, sieve='local', out={str(tmp_path / 'run')!r})"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    worker = int(run.stdout.readline())
    run.kill()
    run.wait()
    run.stdout.close()
    for _ in range(200):
        if not _runs(worker):
            break
        time.sleep(0.1)
    assert not _runs(worker)


def test_an_engine_that_was_not_entered_says_so() -> None:
    order = Order(record_of(LabelOptions, task="QNLI", workers=2), None)
    with pytest.raises(RuntimeError, match="within 'with'"):
        Processes(order, ignore_advance).facts  # noqa: B018


def test_a_receipt_counts_only_byte_for_byte() -> None:
    data = receipt_bytes(Receipt(0, 2, 9, 0, "digest", "identity", {"a": "b"}, (0.0,), (None,)))
    assert receipt_of(data) is not None
    for spoiled in (data[:-1], data + b"\n", b" " + data, data.replace(b"\n", b"\r\n"), b"[" * 100_000):
        assert receipt_of(spoiled) is None
