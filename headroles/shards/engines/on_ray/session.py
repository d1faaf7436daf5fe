"""Joining a Ray cluster, or starting a Ray of our own on this machine, and leaving nothing of it behind.

Whether a worker has room on the machines of a cluster, so that none is waited for in vain.
"""

import json
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Any

from headroles.errors import BadInput, MissingExtra
from headroles.shards.work import Order

ROOM_PATIENCE = 60.0
"""Seconds in which further machines may join a cluster that has no room yet."""
STATUS = b"__autoscaling_status"
"""Where an autoscaler of Ray says what it does."""
GROUP = "ray.io/node-group"
"""What a machine is labelled with that an autoscaler, or KubeRay, has started."""


def check_room(order: Order) -> None:
    """Refuse workers that fit on no machine of the cluster, where none will be added for them.

    Ray would wait for such a machine without end, and without a word.

    Raises:
        BadInput: When no machine has the processors and GPUs of one worker.
    """
    import ray

    wanted = {"CPU": float(order.threads or 1), "GPU": order.options.gpus}
    until = time.monotonic() + ROOM_PATIENCE
    while not _fits(wanted, machines := [each for each in ray.nodes() if each["Alive"]]):
        if _grows(machines):
            return
        if time.monotonic() >= until:
            most = {name: max((_has(each, name) for each in machines), default=0.0) for name in wanted}
            raise BadInput(
                f"each worker needs a machine of the cluster with {_said(wanted)}, but none of its "
                f"{len(machines)} has that (at most {_said(most)} in any of them); ask for less with "
                f"--threads or --gpus, or add such a machine"
            )
        time.sleep(1)


def _fits(wanted: dict[str, float], machines: list[Any]) -> bool:
    return any(all(_has(each, name) >= count for name, count in wanted.items()) for each in machines)


def _has(machine: Any, name: str) -> float:
    return float(machine["Resources"].get(name, 0.0))


def _said(counts: dict[str, float]) -> str:
    return f"{counts['CPU']:g} CPU and {counts['GPU']:g} GPU"


def _grows(machines: list[Any]) -> bool:
    """Whether the cluster may start machines by itself: it was started by what can, or says so.

    Without an autoscaler Ray reports machines as nodes by themselves, without a kind.
    """
    if any(each.get("Labels", {}).get(GROUP) for each in machines):
        return True
    from ray.experimental.internal_kv import _internal_kv_get

    active: dict[str, int] = {}
    with suppress(Exception):  # no status, or one of another version
        active = json.loads(_internal_kv_get(STATUS))["autoscaler_report"]["active_nodes"]
    return any(not kind.startswith("node_") for kind in active)


OBJECTS = 512 * 1024 * 1024
"""Bytes of memory that a Ray of our own has for what workers hand on: inputs and answers of a few shards."""
PATIENCE = 10.0
"""Seconds that the processes of a Ray of our own have to go by themselves."""
OWN_LEVEL, SKIPPED = "RAY_BACKEND_LOG_LEVEL", "RAY_DEDUP_LOGS_SKIP_REGEX"
"""Variables by which Ray is told how much to say."""
LONGEST = 40
"""Longest name of a folder in which Ray can name its sockets."""


@contextmanager
def connected(order: Order) -> Iterator[None]:
    """Be in a cluster: that of the options, of ``RAY_ADDRESS``, or a new one on this machine.

    A Ray that this process has joined already is taken as it is, and left as it is.

    Args:
        order: Whose workers will run there.

    Raises:
        MissingExtra: When Ray is not installed.
        BadInput: When there is no such cluster, this machine has fewer GPUs than the workers ask for, or
            no machine of the cluster has room for one worker.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # headroles never calls home
    with _unheard():
        try:
            import ray
            import ray.data
        except ImportError as error:
            raise MissingExtra(
                "the engine 'ray' needs Ray, which is not installed; pip install 'headroles[ray]'"
            ) from error
    with ExitStack() as held:
        held.enter_context(quiet())
        address = order.options.address or os.environ.get("RAY_ADDRESS") or "local"
        if not ray.is_initialized() and address == "local":
            held.enter_context(started(order))
        else:
            if not ray.is_initialized():
                held.enter_context(joined(address))
            check_room(order)
        held.enter_context(settings())
        yield


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Join a cluster, and leave it.

    Raises:
        BadInput: When there is none at that address.
    """
    import ray

    try:
        _check_reachable(address)
        with _alone():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        said = " ".join(str(error).split())[:200]
        raise BadInput(
            f"--address must be that of a Ray cluster that runs, such as 'auto' or 'host:6379', but "
            f"'{address}' gave: {said}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def started(order: Order) -> Iterator[None]:
    """Start a Ray of our own with what the workers need, and take it away with its files.

    Raises:
        BadInput: When this machine has fewer GPUs than they need.
    """
    import psutil
    import ray

    known = {each.pid for each in psutil.Process().children()}
    options = order.options
    gpus = options.gpus * options.workers
    beside = gettempdir() if len(gettempdir()) <= LONGEST - len("/headroles-ray-12345678") else "/tmp"
    folder = Path(mkdtemp(prefix="headroles-ray-", dir=beside))
    try:
        with _alone():
            ray.init(
                address="local",
                num_cpus=options.workers * (order.threads or 1) + 1,
                num_gpus=None if gpus else 0,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=OBJECTS,
                _temp_dir=str(folder),
            )
        there = ray.cluster_resources().get("GPU", 0)
        if gpus > there:
            raise BadInput(
                f"{options.workers} workers with --gpus {options.gpus:g} need {gpus:g} GPUs, but this "
                f"machine has {there:g}; take fewer workers, or parts of a GPU for each"
            )
        yield
    finally:
        ours = _own_processes(known)
        ray.shutdown()
        _wait_for(ours)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def settings() -> Iterator[None]:
    """Have Ray Data hand on every block at once, show no bars, and wait for shards however long they take."""
    from ray.data import DataContext

    context = DataContext.get_current()
    wanted: dict[str, Any] = {
        "target_max_block_size": 1,  # bytes: else numbers are gathered until there are 128 MB of them
        "enable_progress_bars": False,
        "execution_no_progress_timeout_s": -1,
    }
    before = {name: getattr(context, name) for name in wanted}
    for name, value in wanted.items():
        setattr(context, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Ray's loggers, and what it writes to standard error by itself, to what is fatal."""
    loggers = [logging.getLogger(name) for name in ("ray", "ray.data")]
    levels, told = [each.level for each in loggers], os.environ.get(OWN_LEVEL)
    for each in loggers:
        each.setLevel(logging.ERROR)
    os.environ.setdefault(OWN_LEVEL, "fatal")
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
        if told is None:
            os.environ.pop(OWN_LEVEL, None)


def _check_reachable(address: str) -> None:
    """Knock at a host and port, as Ray itself would wait for minutes and then end this process.

    Raises:
        OSError: When nobody opens.
    """
    host, _, port = address.rpartition("://")[2].partition("?")[0].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


@contextmanager
def _alone() -> Iterator[None]:
    """Start Ray without its taking over how this process ends, and without a word on standard error.

    Ray writes there which level its log has, and puts a handler of its own in the place of ours.
    """
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
        if main and handler is not None:
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def _unheard() -> Iterator[None]:
    """Import Ray so that what it says of lost workers, which it replaces, does not come among results.

    It prints that on standard output, except what is to be skipped, which it reads once.
    """
    told = os.environ.get(SKIPPED)
    os.environ.setdefault(SKIPPED, ".")
    try:
        yield
    finally:
        if told is None:
            os.environ.pop(SKIPPED, None)


def _own_processes(known: set[int]) -> list[Any]:
    """Processes of a Ray that was started here: children of this one that were not known, and theirs.

    Args:
        known: Numbers of the children that this process had before.
    """
    import psutil

    new = [each for each in psutil.Process().children() if each.pid not in known]
    below = []
    for each in new:
        with suppress(psutil.NoSuchProcess):
            below += each.children(recursive=True)
    return new + below


def _wait_for(processes: list[Any]) -> None:
    """Wait until processes are gone, which they are about to; kill those that are not."""
    import psutil

    _, left = psutil.wait_procs(processes, timeout=PATIENCE)
    for each in left:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(left, timeout=PATIENCE)
