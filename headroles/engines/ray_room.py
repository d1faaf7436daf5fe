"""Whether a worker has room on the machines of a cluster, so that none is waited for in vain."""

import json
import time
from contextlib import suppress
from typing import Any

from headroles.errors import BadInput
from headroles.work import Order

PATIENCE = 60.0
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
    until = time.monotonic() + PATIENCE
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
