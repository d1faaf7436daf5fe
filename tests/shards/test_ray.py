"""Shards on Ray: the same bytes as here, whoever is lost on the way, and nothing left behind."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psutil
import pytest

import headroles
from headroles.errors import BadInput, HeadrolesError, MissingExtra, UnknownName
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.progress import PARSE, SCORE
from headroles.records.passage import Passage
from headroles.shards.engines.losses import Failure, failure_of
from headroles.shards.engines.on_ray import session as ray_session
from headroles.shards.engines.on_ray.data import RayEngine
from headroles.shards.engines.on_ray.feed import Feed
from headroles.shards.engines.on_ray.session import connect_to_ray
from headroles.shards.work import Order, Task

pytestmark = [
    pytest.mark.slow,
    pytest.mark.with_report,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore:`use_:DeprecationWarning"),  # Ray's own defaults
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves sockets and logs to the collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
Making = Callable[[Order], Any]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray that the process has joined, with no more processors than two workers take."""
    import ray

    order, handler = _order(workers=1), signal.getsignal(signal.SIGTERM)
    with connect_to_ray(order):  # one processor for the worker, and one more
        assert signal.getsignal(signal.SIGTERM) is handler
        yield
    assert not ray.is_initialized()


def _order(place: Path | str | None = None, **options: Any) -> Order:
    usual: dict[str, Any] = {"task": "QNLI", "engine": "ray", "workers": 2}
    return Order(record_of(LabelOptions, **usual | options), None if place is None else str(place), True, 1)


def _tasks(count: int, given: list[int] | None = None) -> Iterator[Task]:
    for number in range(count):
        if given is not None:
            given.append(number)
        yield Task(number, (Passage(f"x/{number}", ("text",), None),), (f"u{number}",), f"digest {number}")


def _all_scored(engine: RayEngine) -> None:
    with engine as entered:
        list(entered.score(_tasks(9)))


def _making(what: str) -> Making:
    """A function that makes a worker without a model, which travels to its process as it is."""
    from ray import cloudpickle

    made = import_module("tests.support.crashing")
    cloudpickle.register_pickle_by_value(made)
    return partial(made.Made, what)


def test_a_pool_that_takes_every_processor_starves_nothing(cluster: None, tmp_path: Path) -> None:
    import ray

    assert ray.cluster_resources()["CPU"] == 2
    given: list[int] = []
    done = Counter[str]()
    ahead = []

    def advance(count: int, phase: str = SCORE) -> None:
        done[phase] += count

    with RayEngine(_order(tmp_path), advance, _making("works")) as engine:
        receipts = []
        for receipt in engine.score(_tasks(12, given)):
            receipts.append(receipt)
            ahead.append(len(given) - len(receipts))
        assert [each.number for each in engine.score(_tasks(1))] == [0]
        assert engine.facts.described["at"] == os.getcwd()
    assert sorted(each.number for each in receipts) == list(range(12))
    assert {each.digest for each in receipts} == {f"digest {number}" for number in range(12)}
    assert done == {SCORE: 13, PARSE: 13}
    assert max(ahead) <= 4  # two shards for each worker, however many there will be
    assert len({each.name.partition("-")[2] for each in tmp_path.iterdir()}) == 2  # workers


def test_an_error_of_a_worker_is_raised_as_it_was(cluster: None) -> None:
    with RayEngine(_order(), make=_making("refuses")) as engine, pytest.raises(BadInput) as caught:
        list(engine.score(_tasks(9)))
    assert str(caught.value) == "input 'x/3' cannot be scored; drop it"


def test_a_worker_that_cannot_start_says_so_once(cluster: None) -> None:
    engine = RayEngine(_order(), make=_making("cannot start"))
    with pytest.raises(UnknownName) as caught, engine:
        pass
    assert str(caught.value) == str(UnknownName("sieve", "locl", ("local",)))
    with pytest.raises(RuntimeError, match="within 'with'"):
        engine.facts  # noqa: B018


@pytest.mark.parametrize(
    ("what", "doing"),
    [("is lost", r"scoring shard 3 \(x/3 and on\)"), ("is lost loading", "loading the model")],
)
def test_workers_that_are_lost_at_one_thing_three_times_end_the_run(
    cluster: None, tmp_path: Path, what: str, doing: str
) -> None:
    sentence = rf"on one shard or at their start, but 3 were lost while {doing}; where memory is short"
    with pytest.raises(BadInput, match=sentence):
        _all_scored(RayEngine(_order(tmp_path, workers=1), make=_making(what)))
    assert len(list(tmp_path.glob("lost *"))) == 3


@pytest.mark.parametrize(
    ("asked", "wanted"), [({"gpus": 1.0}, "1 CPU and 1 GPU"), ({"threads": 3}, "3 CPU and 0 GPU")]
)
def test_a_worker_that_fits_on_no_machine_is_refused(
    cluster: None, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], wanted: str
) -> None:
    import ray

    monkeypatch.setattr(ray_session, "ROOM_PATIENCE", 0.5)
    order = replace(_order(**asked), threads=asked.get("threads", 1))
    sentence = (
        rf"needs a machine of the cluster with {wanted}, but none of its 1 has that \(at most 2 CPU and 0"
    )
    with pytest.raises(BadInput, match=sentence):
        RayEngine(order, make=_making("works")).__enter__()
    joining = [*ray.nodes(), *ray.nodes()]
    joining[1] = joining[1] | {"Resources": {"CPU": 4.0, "GPU": 2.0}}
    monkeypatch.setattr(ray_session, "ROOM_PATIENCE", 30.0)
    answers = iter([joining[:1], joining])
    monkeypatch.setattr(ray, "nodes", lambda: next(answers))
    ray_session.check_room(order)  # a machine joined in time


@pytest.mark.parametrize(
    ("group", "status", "grows"),
    [
        ("", None, False),
        ("", b'{"autoscaler_report": {"active_nodes": {"node_c0ffee": 1}}}', False),
        ("", b'{"autoscaler_report": {"active_nodes": {"ray.head.default": 1}}}', True),
        ("", b"no status", False),
        ("gpu-group", None, True),
    ],
)
def test_a_cluster_that_starts_machines_by_itself_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, group: str, status: bytes | None, grows: bool
) -> None:
    import ray
    from ray.experimental import internal_kv

    small = {"Alive": True, "Resources": {"CPU": 1.0}, "Labels": {"ray.io/node-group": group}}
    monkeypatch.setattr(ray, "nodes", lambda: [small, {"Alive": False, "Resources": {"CPU": 99.0}}])
    monkeypatch.setattr(internal_kv, "_internal_kv_get", lambda key: status)
    monkeypatch.setattr(ray_session, "ROOM_PATIENCE", 0.0)
    order = replace(_order(), threads=4)
    if grows:
        ray_session.check_room(order)
    else:
        with pytest.raises(BadInput, match="at most 1 CPU and 0 GPU in any of them"):
            ray_session.check_room(order)


def test_a_worker_keeps_the_threads_it_was_told(planted: Path, table: Path) -> None:
    code = (
        "import gc, torch\nfrom headroles.shards.engines.on_ray.data import worker_of\n"
        "from headroles.options.label import LabelOptions\nfrom headroles.options.values import record_of\n"
        "from headroles.shards.work import Order\n"
        f"given = dict(task='QNLI', data={str(table)!r}, model={str(planted)!r}, sieve=['local'],"
        " max_length=48, engine='ray')\n"
        "before = torch.get_num_threads()\n"
        "worker = worker_of(Order(record_of(LabelOptions, **given), None, True, 1))\ngc.collect()\n"
        "print(before, torch.get_num_threads(), worker.facts.layers)"
    )
    told = os.environ | {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    ran = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["2", "1", "2"]


def test_a_mistake_of_ours_comes_with_its_trace(cluster: None) -> None:
    with (
        RayEngine(_order(), make=_making("breaks")) as engine,
        pytest.raises(RuntimeError, match=r"(?s)a worker on Ray failed.*in score.*ZeroDivisionError: a mist"),
    ):
        list(engine.score(_tasks(9)))


def test_files_that_are_on_another_machine_are_missed_at_the_first_shard(
    cluster: None, tmp_path: Path
) -> None:
    sentence = r"on another machine.*a folder that all machines share"
    with (
        RayEngine(_order(tmp_path), make=_making("elsewhere")) as engine,
        pytest.raises(BadInput, match=sentence),
    ):
        next(engine.score(_tasks(3)))


def test_settings_of_ray_data_are_given_back(cluster: None) -> None:
    from ray.data import DataContext

    context = DataContext.get_current()
    before = context.enable_progress_bars, context.execution_no_progress_timeout_s
    context.enable_progress_bars = True
    with connect_to_ray(_order()):
        assert not context.enable_progress_bars
        assert context.target_max_block_size == 1
    assert context.enable_progress_bars
    context.enable_progress_bars, context.execution_no_progress_timeout_s = before


def test_the_feed_answers_the_same_however_often_it_is_asked() -> None:
    async def course() -> None:
        feed = Feed()
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

    asyncio.run(course())


def test_the_feed_gives_up_on_what_loses_every_worker_and_on_nothing_else() -> None:
    async def course() -> None:
        feed = Feed()
        await feed.give(0, next(_tasks(1)))
        for _ in range(3):
            assert isinstance(await feed.question(0), Task)
        failure = await feed.question(0)
        assert str(failure.error()).startswith(
            "at most 2 workers may be lost on one shard or at their start, but 3 were lost"
        )
        for _ in range(9):  # one that loads, and is lost later, again and again
            assert await feed.note_start("a") is None
            await feed.note_loaded("a")
        assert [await feed.note_start(each) for each in "abcabcabc"] == [None] * 9
        assert "loading the model" in str(await feed.note_start("b"))

    asyncio.run(course())


def test_errors_cross_as_their_kind_and_sentence() -> None:
    for error in (BadInput("one"), UnknownName("sieve", "x", ("y",)), MissingExtra("two")):
        back = failure_of(error).error()
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert isinstance(back, HeadrolesError)
    assert isinstance(Failure("os", "no class of ours").error(), RuntimeError)
    assert isinstance(Failure("Iterable", "no error").error(), RuntimeError)


def test_without_ray_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"needs Ray.*pip install 'headroles\[ray\]'"):
        RayEngine(_order()).__enter__()


def test_no_cluster_at_an_address_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # by an earlier test
    with socket.socket() as free:  # a port at which nobody listens
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        sentence = rf"--address must be that of a Ray cluster.*'{address}' gave: .*refused"
        with pytest.raises(BadInput, match=sentence):
            RayEngine(_order(address=address)).__enter__()


def test_a_run_on_ray_that_loses_a_worker_has_the_bytes_of_a_run_here_and_leaves_nothing(
    planted: Path, table: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "a", tmp_path / "b"
    temporary = Path(mkdtemp(prefix="hr-", dir="/tmp"))  # Ray's sockets want a short name
    settings: dict[str, Any] = {
        "task": "QNLI",
        "data": table,
        "model": planted,
        "max_length": 48,
        "shard_size": 2,
    }
    settings |= {"sieve": ["local"], "maps": 2, "threads": 1}
    headroles.label(**settings, out=here)
    plain = settings | {"data": str(table), "model": str(planted), "out": str(there)}
    code = f"import headroles; headroles.label(**{plain}, engine='ray', workers=2)"
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen: dict[int, psutil.Process] = {}
    try:
        assert _kill_one_worker(psutil.Process(running.pid), there, seen), "the run was over before"
        out, err = running.communicate(timeout=480)
        left = [each.name for each in temporary.iterdir()]
    finally:
        running.kill()
        shutil.rmtree(temporary)
    assert (running.returncode, out, err) == (0, "", "")
    assert len(seen) > 3
    assert _bytes(there) == _bytes(here)
    assert not [each for each in seen.values() if _lives(each)]
    assert left == []


def _kill_one_worker(run: psutil.Process, folder: Path, seen: dict[int, psutil.Process]) -> bool:
    """Kill a worker once two shards are done and others are not; every process below the run is noted."""
    deadline = time.monotonic() + 480
    while time.monotonic() < deadline and _lives(run):
        below = run.children(recursive=True)
        seen |= {each.pid: each for each in below}
        if len(list(folder.glob("shards/*.json"))) >= 2:
            workers = [each for each in below if "MapWorker" in _title(each)]
            workers[0].send_signal(signal.SIGKILL)
            return len(workers) == 2 and not (folder / "findings.csv").exists()
        time.sleep(0.02)
    return False


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _lives(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def _bytes(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()
    }
