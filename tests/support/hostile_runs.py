"""Made-up runs, comparisons and atlases whose names are whatever data may bring."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import headroles
from headroles.records import Comparison, Decision, Labelling, Rule
from headroles.stats import Columns, Grid, by_layer, compare_by_swaps, judge, paired_differences
from tests.support.made_runs import made_run

SCRIPT = "<script>alert(1)</script>"
TURNED = "\u202eright to left\u202c \u05d0\u05d1 😀"
LONG = "x" * 10_000
NAMES = (SCRIPT, TURNED, LONG)
PLAIN = ("local", "block", "delimiter")
FACTS: dict[str, Any] = {
    "command": f"headroles label --sieve '{SCRIPT}' {LONG}",
    "model": {"name": f"{SCRIPT}{TURNED}{LONG}"},
    "source": {"kind": "file", "name": LONG},
    "notes": [f"{SCRIPT}{TURNED}{LONG}"],
}


SHAPE = (40, 3, 4)
"""Examples, layers and heads."""


def labelled(
    names: tuple[str, ...] = NAMES,
    shape: tuple[int, int, int] = SHAPE,
    *,
    assessed: bool = True,
    seed: int = 1,
) -> Labelling:
    """Return a run of these sieves on examples × layers × heads, assessed unless told otherwise."""
    level = np.random.default_rng(0).beta(0.4, 1.6, size=(len(names), 1, *shape[1:]))
    noise = np.random.default_rng(seed).normal(0, 0.1, size=(len(names), *shape))
    hostile = names[0] == SCRIPT
    return made_run(
        [Rule(name, f"Is it {name}?", low=-1.0, high=1.0) for name in names],
        (level + noise).clip(-1, 1),
        facts=FACTS if hostile else {"command": "headroles label", "settings": {}},
        skipped=tuple(f"{name} had nothing to count." for name in names),
        assessed=assessed,
        key=f"{LONG}{SCRIPT}" if hostile else "e",
    )


def compared(names: tuple[str, ...] = PLAIN) -> Comparison:
    """Return two runs of these sieves, compared; heads of the last layer change places."""
    run, second = (labelled(names, assessed=False, seed=seed) for seed in (1, 2))
    first, values, rules = run.scores, second.scores.values.copy(), run.findings.rules
    values[:, :, -1] = values[:, :, -1, ::-1]
    other = replace(second.scores, values=values)
    sides = {"a": FACTS, "b": FACTS | {"task": SCRIPT}}
    facts = {"command": FACTS["command"], "settings": {"swaps": 19}} | sides
    decision, grid = Decision(), Grid(*first.values.shape[2:])
    found = paired_differences(first, other, (rules, rules), decision, 0.05)
    before, after = (judge(each, rules, decision) for each in (first, other))
    moved = compare_by_swaps(Columns(first, rules), Columns(other, rules), grid, decision, 19)
    layers = by_layer(found, before, after, first.stack)
    return Comparison(found, before, after, decision, 0.05, layers, moved, facts, (FACTS["notes"][0],))


def atlas_in(folder: Path, names: tuple[str, ...] = NAMES) -> headroles.Atlas:
    """Write three runs of these sieves, one without the last, and their atlas with its page into a folder."""
    model = dict(FACTS["model"] if names[0] == SCRIPT else {"name": "tiny"})
    runs = [labelled(names), labelled(names, seed=2), labelled(names[:-1], seed=3)]
    facts = {
        "headroles": "0.1.0",
        "settings": {},
        "model": model | runs[0].scores.stack.described | {"heads": SHAPE[2]},
    }
    places = [folder / f"{SCRIPT.replace('/', '')} {number}" for number in range(len(runs))]
    for place, run in zip(places, runs, strict=True):
        headroles.save(replace(run, manifest=dict(run.manifest) | facts), place)
    return headroles.atlas(places, out=folder / "atlas")
