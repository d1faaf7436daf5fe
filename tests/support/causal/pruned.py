"""A made-up pruning: damage grows with the number of removed heads, and some of them are certified."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.made_runs import LOUD

if TYPE_CHECKING:
    from headroles.records import Pruning


@cache
def pruning(*, bound: float = 0.01, classes: bool = True, fresh: bool = True, reason: str = "") -> "Pruning":
    """Return a pruning of 6 layers of 12 heads, tested on 80 units; the reason is why nothing was cut."""
    from headroles.records import STEPS, WITHIN, FreshCheck, Gain, Pruning, plain_stack

    chance = np.random.default_rng(4)
    single = chance.gamma(0.5, 0.01, size=(6, 12))
    order = np.column_stack(np.unravel_index(np.argsort(single, axis=None), single.shape))
    sizes, steps, going = (1, 2, 4, 8, 12, 16, 24, 32, 48), [], True
    for size in sizes:
        mean = 0.0005 * size * (1 + size / 40)
        upper = mean + 0.002
        decision = ("within the bound" if upper < bound else "not shown") if going else "not tested"
        going &= decision == WITHIN
        before, after = (0.86, 0.86 - mean) if classes else (float("nan"),) * 2
        steps.append({
            "size": size, "count": 80, "damage": 0.6 * mean, "mean": mean, "low": mean - 0.0024,
            "high": mean + 0.0024, "upper": upper, "p": float(np.clip(upper / (10 * bound), 0, 1)),
            "missed": 0.0367, "decision": decision, "accuracy_before": before, "accuracy_after": after,
        })  # fmt: skip
    table = STEPS.rows(steps)
    passed = table.where(decision=WITHIN)["size"].tolist()
    removed = np.zeros((6, 12), dtype=np.bool_)
    for layer, head in order[: max(passed, default=0)]:
        removed[layer, head] = True
    cut, speed = int(removed.sum()), (0.0123, 0.0117, 40, "a CPU, one thread")
    gain = Gain(reason=reason) if reason or not cut else Gain(cut, 22_700_000, 22_100_000, *speed)
    units = tuple(f"row {number}" for number in range(80))
    check = FreshCheck(table[0], "fresh.tsv", "0" * 64, 300, 4) if fresh else None
    facts: dict[str, Any] = {
        "headroles": "0.1.0",
        "kind": "pruning",
        "command": f"headroles prune runs/x --bound {bound}",
        "model": {"name": "tiny/<i>model</i>", "architecture": "BertForSequenceClassification"}
        | {**plain_stack(6).described, "heads": 12},
        "settings": {"bound": bound},
        "run": {"command": "headroles label", "settings": {}, "findings": None},
        "source": {},
        "units": {"tested": 80},
    }
    return Pruning(
        "loss", "loss:mean", bound, 0.05, order, single, removed, table, units,
        np.full(80, 0.6), chance.normal(0, 0.01, size=(len(steps), 80)),
        gain=gain,
        check=check, manifest=facts,
        remarks=(f"a remark about {LOUD}",),
    )  # fmt: skip
