"""Workers in other processes and on Ray: the same results, whoever is lost on the way, and nothing left."""

import asyncio
import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from headroles import Labelling
from headroles import shards as ours
from headroles.errors import BadInput, HeadrolesError, MissingExtra, UnknownName
from headroles.kinds import kind_named
from headroles.progress import PARSE, SCORE, ignore_advance
from headroles.records import Passage
from tests.support.crashing import replace_everywhere
from tests.support.folders import contents, names

Label = Callable[..., Labelling]
QUICK: dict[str, Any] = {"maps": 2, "sieve": ["local"], "threads": 1}


def order(place: Path | None = None, **given: Any) -> Any:
    """Return instructions for workers."""
    options: Any = kind_named("label").options({"task": "QNLI"})
    return ours.Order(replace(options, **given), None if place is None else str(place), True, 1)


def children() -> set[int]:
    """Return the processes that this one started and that still run."""
    running = psutil.Process().children()
    return {child.pid for child in running if child.status() != psutil.STATUS_ZOMBIE}


def test_threads_are_shared_and_an_idle_processor_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from headroles.extraction import cpu_count

    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    for number, asked, each in ((1, None, None), (2, None, 4), (16, None, 1), (1, 3, 3), (4, 3, 3)):
        assert ours.threads_per_worker(order(workers=number, threads=asked).options) == each
    processors = [0]
    replace_everywhere(monkeypatch, cpu_count, lambda: processors[0])
    for processors[0], workers, threads, engine, is_idle in (
        (1, 1, None, "local", False), (2, 1, None, "local", True), (2, 2, None, "local", False),
        (2, 3, None, "local", False), (3, 2, None, "local", True), (4, 2, None, "local", True),
        (2, 1, 1, "local", True), (2, 2, 2, "local", True), (2, 2, None, "ray", True),
    ):  # fmt: skip
        options = order(workers=workers, threads=threads, engine=engine).options
        assert ours.has_idle_processor(options) is is_idle, options


def test_errors_cross_as_their_kind_and_sentence() -> None:
    for error in (BadInput("one"), UnknownName("sieve", "blok", ["block"]), MissingExtra("two")):
        for back in (
            ours.error_of_worker(type(error).__name__, str(error), None),
            ours.failure_of(error).error(),
        ):
            assert (type(back), str(back)) == (type(error), str(error))
            assert isinstance(back, HeadrolesError)
    found = ours.error_of_worker("KeyError", "'x'", pickle.dumps(KeyError("x")))
    assert (type(found), found.args) == (KeyError, ("x",))
    lost = ours.error_of_worker("Strange", "what happened", b"no pickle")
    assert (type(lost), str(lost)) == (RuntimeError, "Strange: what happened")
    for name in ("os", "Iterable"):  # no class of ours, no error
        assert isinstance(ours.Failure(name, "no error").error(), RuntimeError)


class Fake:
    """A worker process that says something when it is started, and does nothing more."""

    started: list["Fake"]
    says: Any = ("facts", ours.Facts(2, 2, {}, "identity", (), {}, ours.Known()))
    dismiss = wait = Mock()

    def __init__(self, order: Any, messages: Any) -> None:
        self.task, self.loaded, self.advanced = None, False, Counter[str]()
        self.started.append(self)
        messages.put((self, self.says))


def test_all_workers_that_the_shards_can_use_are_started_at_once_and_losses_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules[ours.Processes.__module__], "Process", Fake)
    for shards, wanted in ((None, 1), (1, 1), (2, 2), (9, 3)):
        Fake.started = []
        told = ours.Order(order(workers=3).options, None, shards=shards)
        with ours.Processes(told, ignore_advance) as engine:
            assert engine.facts.identity == "identity"
        assert len(Fake.started) == wanted
    with pytest.raises(RuntimeError, match="within 'with'"):
        ours.Processes(told, ignore_advance).facts  # noqa: B018
    monkeypatch.setattr(Fake, "says", ("lost", -9))
    Fake.started = []
    with pytest.raises(BadInput, match=r"but 3 were lost while loading the model \(signal 9\); where memory"):
        ours.Processes(told, ignore_advance).__enter__()
    assert len(Fake.started) == 3


@pytest.mark.ci
def test_a_killed_worker_changes_no_byte(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label(out=tmp_path / "calm", shard_size=6, **QUICK)
    before, killed, told = children(), list[int](), list[tuple[int, int]]()
    engine: Any = sys.modules[ours.Processes.__module__]
    begin = engine.Process.send

    def send(self: Any, message: Any) -> None:
        begin(self, message)
        if isinstance(message, tuple) and message[0] == "score" and not killed:
            killed.append(self._process.pid)
            os.kill(killed[-1], signal.SIGKILL)

    def progress(done: int, total: int) -> None:
        told.append((done, total))

    monkeypatch.setattr(engine.Process, "send", send)
    label(out=tmp_path / "killed", shard_size=6, workers=2, progress=progress, **QUICK)
    assert len(killed) == 1
    assert contents(tmp_path / "calm") == contents(tmp_path / "killed")
    assert told[-1] == (60, 60)
    assert children() <= before


@pytest.mark.ci
def test_an_error_of_a_worker_is_one_sentence_and_leaves_no_folder(label: Label, tmp_path: Path) -> None:
    for workers in (1, 2):
        with pytest.raises(BadInput, match="takes at most 64 tokens"):
            label(max_length=4000, workers=workers, out=tmp_path / "run", **QUICK)
    assert names(tmp_path) == []


@pytest.mark.ci
def test_lost_workers_end_a_run_in_one_sentence_and_leave_no_process(label: Label, tmp_path: Path) -> None:
    before, file = children(), tmp_path / "deadly.py"
    file.write_text(
        "import os\nfrom headroles import sieve\n\n@sieve('deadly')\ndef deadly(example):\n"
        "    if example.key == 'QNLI/57':\n        os._exit(9)\n    return example.special\n"
    )
    lost = r"3 were lost while scoring shard 2 \(QNLI/40 and on\) \(exit code 9\)"
    with pytest.raises(BadInput, match=lost):
        label(out=tmp_path / "run", workers=2, shard_size=20, **QUICK | {"sieve": [f"{file}:deadly"]})
    assert children() <= before
    assert {path.name for path in (tmp_path / "run" / "shards").glob("*.json")} == {
        "00000.json",
        "00001.json",
    }


def tasks(count: int, given: list[int] | None = None) -> Iterator[Any]:
    """Yield shards of one input each, and note which were taken."""
    for number in range(count):
        if given is not None:
            given.append(number)
        yield ours.Task(
            number, (Passage(f"x/{number}", ("text",), None),), (f"u{number}",), f"digest {number}"
        )


def test_the_feed_of_ray_answers_the_same_however_often_it_is_asked_and_gives_up_in_the_end() -> None:
    async def course() -> None:
        feed = ours.Feed()
        await feed.give(0, "first")
        assert await feed.there(0)
        assert [await feed.question(0) for _ in range(2)] == ["first", "first"]
        waiting = asyncio.ensure_future(feed.there(1))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await feed.give(1, "second")
        assert await waiting
        await feed.note_answer(0)
        assert await feed.there(0), "a block that was lost is made again with its number"
        assert await feed.question(0) is None
        await feed.close()
        assert not await feed.there(2)
        feed = ours.Feed()
        await feed.give(0, next(tasks(1)))
        for _ in range(3):
            assert isinstance(await feed.question(0), ours.Task)
        failure = await feed.question(0)
        assert str(failure.error()).startswith(
            "at most 2 workers may be lost on one shard or at their start, but 3"
        )
        assert [await feed.note_start(name) for name in "abcabcabc"] == [None] * 9
        assert "loading the model" in str(await feed.note_start("b"))

    with ThreadPoolExecutor(1) as apart:  # a browser's loop may run in this thread
        apart.submit(asyncio.run, course()).result()


def test_without_ray_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from headroles.shards import RayEngine

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"needs Ray.*pip install 'headroles\[ray\]'"):
        RayEngine(order(engine="ray")).__enter__()


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray that the process has joined, with one processor for a worker, and one more."""
    import ray

    from headroles.shards import connect_to_ray

    handler = signal.getsignal(signal.SIGTERM)
    with connect_to_ray(order(engine="ray", workers=1)):
        assert signal.getsignal(signal.SIGTERM) is handler
        yield
    assert not ray.is_initialized()


@pytest.mark.ci
@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore:`use_:DeprecationWarning")  # Ray's own defaults
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray leaves sockets and logs to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestOnRay:
    """One Ray for all of them."""

    def engine(
        self, what: str, place: Path | None = None, advance: Any = ignore_advance, **given: Any
    ) -> Any:
        """Return an engine whose workers have no model, and end as they are told."""
        from ray import cloudpickle

        from headroles.shards import RayEngine
        from tests.support import crashing

        cloudpickle.register_pickle_by_value(crashing)
        given = {"engine": "ray", "workers": 2} | given
        return RayEngine(order(place, **given), advance, partial(crashing.Made, what))

    def test_a_pool_that_takes_every_processor_starves_nothing(self, tmp_path: Path) -> None:
        import ray
        from ray.data import DataContext

        context = DataContext.get_current()
        bars, given, ahead, done = context.enable_progress_bars, list[int](), list[int](), Counter[str]()
        assert ray.cluster_resources()["CPU"] == 2

        def advance(count: int, phase: str = SCORE) -> None:
            done[phase] += count

        receipts: list[Any] = []
        with self.engine("works", tmp_path, advance) as engine:
            for receipt in engine.score(tasks(12, given)):
                receipts.append(receipt)
                ahead.append(len(given) - len(receipts))
            assert [receipt.number for receipt in engine.score(tasks(1))] == [0]
            assert engine.facts.described["at"] == os.getcwd()
        assert sorted(receipt.number for receipt in receipts) == list(range(12))
        assert {receipt.digest for receipt in receipts} == {f"digest {number}" for number in range(12)}
        assert done == {SCORE: 13, PARSE: 13}
        assert max(ahead) <= 4  # two shards for each worker, however many there will be
        assert len({path.name.partition("-")[2] for path in tmp_path.iterdir()}) == 2  # workers
        assert context.enable_progress_bars == bars

    def test_errors_of_workers_are_raised_as_they_were_and_mistakes_with_their_trace(
        self, tmp_path: Path
    ) -> None:
        for what, kind, words in (
            ("refuses", BadInput, r"^input 'x/3' cannot be scored; drop it$"),
            ("cannot start", UnknownName, "no sieve is called 'locl'; did you mean 'local'"),
            ("breaks", RuntimeError, r"(?s)a worker on Ray failed.*in score.*ZeroDivisionError: a mist"),
            ("elsewhere", BadInput, r"on another machine.*a folder that all machines share"),
        ):
            place = tmp_path if what == "elsewhere" else None
            with pytest.raises(kind, match=words), self.engine(what, place) as engine:
                list(engine.score(tasks(9)))

    def test_workers_that_are_lost_at_one_thing_three_times_end_the_run(self, tmp_path: Path) -> None:
        for what, doing in (
            ("is lost", r"scoring shard 3 \(x/3 and on\)"),
            ("is lost loading", "loading the model"),
        ):
            place = tmp_path / what
            place.mkdir()
            sentence = rf"but 3 were lost while {doing}; where memory is short"
            with pytest.raises(BadInput, match=sentence), self.engine(what, place, workers=1) as engine:
                list(engine.score(tasks(9)))
            assert len(list(place.glob("lost *"))) == 3

    def test_a_worker_that_fits_on_no_machine_is_refused_and_one_that_joins_is_waited_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import ray

        session = sys.modules[ours.check_room.__module__]
        monkeypatch.setattr(session, "ROOM_PATIENCE", 0.5)
        none_has = r"with 1 CPU and 1 GPU, but none of its 1 has that \(at most 2 CPU and"
        with pytest.raises(BadInput, match=none_has):
            self.engine("works", gpus=1.0).__enter__()
        asked = order(engine="ray", gpus=1.0)
        small = {"Alive": True, "Resources": {"CPU": 1.0}, "Labels": {}}
        large = small | {"Resources": {"CPU": 4.0, "GPU": 2.0}}
        monkeypatch.setattr(session, "ROOM_PATIENCE", 30.0)
        monkeypatch.setattr(ray, "nodes", Mock(side_effect=[[small], [small, large]]))
        ours.check_room(asked)  # a machine joined in time
        monkeypatch.setattr(session, "ROOM_PATIENCE", 0.0)
        for group, grows in (("", False), ("gpu-group", True)):
            nodes = [small | {"Labels": {"ray.io/node-group": group}}, large | {"Alive": False}]
            monkeypatch.setattr(ray, "nodes", Mock(return_value=nodes))
            if grows:
                ours.check_room(asked)
            else:
                with pytest.raises(BadInput, match="at most 1 CPU and 0 GPU in any of them"):
                    ours.check_room(asked)

    def test_a_run_on_ray_has_the_bytes_of_a_run_here(self, label: Label, tmp_path: Path) -> None:
        for name, given in (("here", {}), ("there", {"engine": "ray", "workers": 2})):
            label(out=tmp_path / name, limit=20, shard_size=4, **given, **QUICK)
        assert contents(tmp_path / "there") == contents(tmp_path / "here")
