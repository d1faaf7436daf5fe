"""Join a Ray cluster, or start a Ray on this machine and remove it completely afterwards.

Before workers start, the machines of a cluster are checked for room, so that no worker is waited for in vain.
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
"""Key under which an autoscaler of Ray stores its status."""
GROUP = "ray.io/node-group"
"""Label of a machine that an autoscaler or KubeRay has started."""


def check_room(order: Order) -> None:
    """Refuse workers that fit on no machine of the cluster, where no machine will be added for them.

    Ray would wait for such a machine without end and without a message.

    Raises:
        BadInput: When no machine has the processors and GPUs of one worker.
    """
    import ray

    wanted = {"CPU": float(order.threads or 1), "GPU": order.options.gpus}
    until = time.monotonic() + ROOM_PATIENCE
    while not _fits(wanted, machines := [node for node in ray.nodes() if node["Alive"]]):
        if _grows(machines):
            return
        if time.monotonic() >= until:
            most = {name: max((_count(node, name) for node in machines), default=0.0) for name in wanted}
            raise BadInput(
                f"each worker needs a machine of the cluster with {_amounts(wanted)}, but none of its "
                f"{len(machines)} has that (at most {_amounts(most)} in any of them); lower --threads or "
                "--gpus, or add such a machine"
            )
        time.sleep(1)


def _fits(wanted: dict[str, float], machines: list[Any]) -> bool:
    return any(all(_count(node, name) >= count for name, count in wanted.items()) for node in machines)


def _count(machine: Any, name: str) -> float:
    return float(machine["Resources"].get(name, 0.0))


def _amounts(counts: dict[str, float]) -> str:
    return f"{counts['CPU']:g} CPU and {counts['GPU']:g} GPU"


def _grows(machines: list[Any]) -> bool:
    """Return whether the cluster can start machines: an autoscaler has started some, or its status says so.

    Without an autoscaler Ray reports every machine as a node without a kind.
    """
    if any(node.get("Labels", {}).get(GROUP) for node in machines):
        return True
    from ray.experimental.internal_kv import _internal_kv_get

    active: dict[str, int] = {}
    with suppress(Exception):  # no status, or one of another version
        active = json.loads(_internal_kv_get(STATUS))["autoscaler_report"]["active_nodes"]
    return any(not kind.startswith("node_") for kind in active)


OBJECTS = 512 * 1024 * 1024
"""Bytes of object memory of a Ray that is started here, for the inputs and answers of a few shards."""
PATIENCE = 10.0
"""Seconds that the processes of a Ray that was started here have to end by themselves."""
OWN_LEVEL, SKIPPED = "RAY_BACKEND_LOG_LEVEL", "RAY_DEDUP_LOGS_SKIP_REGEX"
"""Environment variables that state how much Ray logs."""
LONGEST = 40
"""Greatest length of a folder name in which Ray can create its sockets."""


@contextmanager
def connect_to_ray(order: Order) -> Iterator[None]:
    """Connect to the cluster of the options or of ``RAY_ADDRESS``, or to a new one on this machine.

    A Ray that this process has already joined is used and left as it is.

    Args:
        order: Instructions of the workers that will run there.

    Raises:
        MissingExtra: When Ray is not installed.
        BadInput: When there is no such cluster, this machine has fewer GPUs than the workers ask for, or
            no machine of the cluster has room for one worker.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # headroles never calls home
    with _duplicate_logs_skipped():
        try:
            import ray
            import ray.data
        except ImportError as error:
            raise MissingExtra(
                "the engine 'ray' needs Ray, which is not installed; pip install 'headroles[ray]'"
            ) from error
    with ExitStack() as stack:
        stack.enter_context(quiet_ray())
        address = order.options.address or os.environ.get("RAY_ADDRESS") or "local"
        if not ray.is_initialized() and address == "local":
            stack.enter_context(start_ray(order))
        else:
            if not ray.is_initialized():
                stack.enter_context(join_cluster(address))
            check_room(order)
        stack.enter_context(ray_data_settings())
        yield


@contextmanager
def join_cluster(address: str) -> Iterator[None]:
    """Join a cluster, and leave it at the end.

    Raises:
        BadInput: When there is no cluster at this address.
    """
    import ray

    try:
        _check_reachable(address)
        with _signals_and_stderr_kept():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"--address must be that of a Ray cluster that runs, such as 'auto' or 'host:6379', but "
            f"'{address}' gave: {reason}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def start_ray(order: Order) -> Iterator[None]:
    """Start a Ray on this machine with the resources of the workers, and remove it with its files at the end.

    Raises:
        BadInput: When this machine has fewer GPUs than the workers need.
    """
    import psutil
    import ray

    known = {child.pid for child in psutil.Process().children()}
    options = order.options
    gpus = options.gpus * options.workers
    parent = gettempdir() if len(gettempdir()) <= LONGEST - len("/headroles-ray-12345678") else "/tmp"
    folder = Path(mkdtemp(prefix="headroles-ray-", dir=parent))
    try:
        with _signals_and_stderr_kept():
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
        available = ray.cluster_resources().get("GPU", 0)
        if gpus > available:
            raise BadInput(
                f"{options.workers} workers with --gpus {options.gpus:g} need {gpus:g} GPUs, but this "
                f"machine has {available:g}; take fewer workers, or parts of a GPU for each"
            )
        yield
    finally:
        processes = _own_processes(known)
        ray.shutdown()
        _wait_for(processes)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def ray_data_settings() -> Iterator[None]:
    """Make Ray Data pass on every block at once, show no progress bars, and wait for shards without limit."""
    from ray.data import DataContext

    context = DataContext.get_current()
    wanted: dict[str, Any] = {
        "target_max_block_size": 1,  # bytes; otherwise numbers are collected up to 128 MB
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
def quiet_ray() -> Iterator[None]:
    """Restrict the loggers of Ray to errors, and its own output on standard error to fatal messages."""
    loggers = [logging.getLogger(name) for name in ("ray", "ray.data")]
    levels, level_before = [logger.level for logger in loggers], os.environ.get(OWN_LEVEL)
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    os.environ.setdefault(OWN_LEVEL, "fatal")
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if level_before is None:
            os.environ.pop(OWN_LEVEL, None)


def _check_reachable(address: str) -> None:
    """Check that a host and port can be reached; Ray itself would wait for minutes and then end this process.

    Raises:
        OSError: When there is no connection.
    """
    host, _, port = address.rpartition("://")[2].partition("?")[0].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


@contextmanager
def _signals_and_stderr_kept() -> Iterator[None]:
    """Keep the SIGTERM handler of this process, and discard standard error, while Ray starts.

    Ray replaces the handler with its own, and writes the level of its log to standard error.
    """
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    sys.stderr.flush()
    stderr, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(devnull)
        if main and handler is not None:
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def _duplicate_logs_skipped() -> Iterator[None]:
    """Import Ray so that its messages about lost workers, which it replaces, do not appear among results.

    Ray prints these messages on standard output, except those to be skipped; it reads this setting once.
    """
    before = os.environ.get(SKIPPED)
    os.environ.setdefault(SKIPPED, ".")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SKIPPED, None)


def _own_processes(known: set[int]) -> list[Any]:
    """Return the processes of a Ray that was started here: new children of this process, and their children.

    Args:
        known: Process numbers of the children that this process had before.
    """
    import psutil

    children = [child for child in psutil.Process().children() if child.pid not in known]
    descendants = []
    for child in children:
        with suppress(psutil.NoSuchProcess):
            descendants += child.children(recursive=True)
    return children + descendants


def _wait_for(processes: list[Any]) -> None:
    """Wait until processes that are about to end have ended; kill those that have not after ``PATIENCE``."""
    import psutil

    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=PATIENCE)
