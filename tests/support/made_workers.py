"""Workers without a model, for tests of what happens around them; they travel by value."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from headroles.errors import BadInput, UnknownName
from headroles.shards.work import Facts, Order, Receipt


def _lost(order: Order) -> None:
    """End this process as one that is killed for memory ends, and leave a trace of it."""
    Path(str(order.place), f"lost {os.getpid()}").touch()
    os.kill(os.getpid(), signal.SIGKILL)


class Made:
    """A worker that scores nothing; what it does otherwise is in its name."""

    def __init__(self, what: str, order: Order) -> None:
        if what == "cannot start":
            raise UnknownName("sieve", "locl", ("local",))
        if what == "is lost loading":
            _lost(order)
        self.what, self.order = what, order
        self.facts = Facts(2, 2, {"at": os.getcwd()}, "identity", None, None, ())

    def score(self, task: Any) -> Receipt:
        if self.what == "refuses" and task.number == 3:
            raise BadInput("input 'x/3' cannot be scored; drop it")
        if self.what == "breaks" and task.number == 3:
            raise ZeroDivisionError("a mistake of ours")
        if self.what == "is lost" and task.number == 3:
            _lost(self.order)
        time.sleep(0.05)
        name = f"{task.number}-{os.getpid()}"
        if self.order.place is not None and self.what != "elsewhere":
            Path(self.order.place, name).touch()
        told: dict[str, Any] = {"files": {name: "digest"}, "low": (None,), "high": (1.0,)}
        return Receipt(task.number, len(task.passages), 3, 0, task.digest, "identity", **told)
