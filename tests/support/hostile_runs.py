"""Made-up runs and comparisons whose names are whatever data may bring."""

from typing import Any

import numpy as np

from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.columns import Columns
from headroles.stats.comparing.paired import paired_differences
from headroles.stats.comparing.summary import by_layer
from headroles.stats.comparing.swaps import compare_by_swaps
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid

SCRIPT = "<script>alert(1)</script>"
TURNED = "\u202eright to left\u202c \u05d0\u05d1 😀"
LONG = "x" * 10_000
NAMES = (SCRIPT, TURNED, LONG)
FACTS: dict[str, Any] = {
    "command": f"headroles label --sieve '{SCRIPT}' {LONG}",
    "model": {"name": f"{SCRIPT}{TURNED}{LONG}"},
    "source": {"kind": "file", "name": LONG},
    "notes": [f"{SCRIPT}{TURNED}{LONG}"],
}


def _rules(names: tuple[str, ...]) -> list[Rule]:
    return [Rule(name, f"Is it {name}?", low=-1.0, high=1.0) for name in names]


def made_up(
    names: tuple[str, ...] = NAMES, shape: tuple[int, int, int] = (40, 3, 4), seed: int = 1
) -> Scores:
    """Scores of examples × layers × heads under these sieves."""
    chance = np.random.default_rng(seed)
    size = (len(names), *shape)
    level = np.random.default_rng(0).beta(0.4, 1.6, size=(len(names), 1, *shape[1:]))
    keys = tuple(
        f"{LONG}{SCRIPT}{number}" if names[0] == SCRIPT else f"e{number}" for number in range(shape[0])
    )
    return Scores(
        sieves=names,
        examples=keys,
        units=keys,
        tokens=np.full(shape[0], 20),
        cells=np.full(size[:2], 12.5),
        values=(level + chance.normal(0, 0.1, size=size)).clip(-1, 1).astype(np.float32),
        null=np.zeros(size[:2]),
    )


def labelled(
    names: tuple[str, ...] = NAMES,
    shape: tuple[int, int, int] = (40, 3, 4),
    *,
    assessed: bool = True,
    seed: int = 1,
) -> Labelling:
    """A run of these sieves, with its assessment unless told otherwise."""
    scores, rules, decision = made_up(names, shape, seed), _rules(names), Decision()
    findings = judge(scores, rules, decision)
    assessment = assess(scores, rules, decision, findings) if assessed else None
    facts = FACTS if names[0] == SCRIPT else {"command": "headroles label", "settings": {}}
    skipped = tuple(f"{name} had nothing to count." for name in names)
    return Labelling(scores, findings, decision, facts, skipped, assessment)


def compared(names: tuple[str, ...] = NAMES, shape: tuple[int, int, int] = (40, 3, 4)) -> Comparison:
    """Two runs of these sieves, compared."""
    rules, decision = tuple(_rules(names)), Decision()
    first, second = (made_up(names, shape, seed) for seed in (1, 2))
    second = _moved(second)
    found = paired_differences(first, second, (rules, rules), decision, 0.05)
    before, after = (judge(each, rules, decision) for each in (first, second))
    swaps = compare_by_swaps(Columns(first, rules), Columns(second, rules), Grid(*shape[1:]), decision, 19)
    layers = tuple(by_layer(found, before, after))
    facts = {
        "command": FACTS["command"],
        "a": FACTS,
        "b": FACTS | {"task": SCRIPT},
        "settings": {"swaps": 19},
    }
    return Comparison(found, before, after, decision, 0.05, layers, tuple(swaps), facts, (FACTS["notes"][0],))


def charted(names: tuple[str, ...] = NAMES, shape: tuple[int, int, int] = (40, 3, 4)) -> Atlas:
    """Three runs of these sieves in an atlas, one of them of a sieve less."""
    from dataclasses import replace

    from headroles.comparing.collect import ReadRun, atlas_of

    runs = [labelled(names, shape), labelled(names, shape, seed=2), labelled(names[:-1], shape, seed=3)]
    model = {"model": FACTS["model"] if names[0] == SCRIPT else {"name": "tiny"}}
    return atlas_of(
        [
            ReadRun(f"{SCRIPT} {number}", "0" * 64, replace(run, manifest=dict(run.manifest) | model))
            for number, run in enumerate(runs)
        ]
    )


def _moved(scores: Scores) -> Scores:
    """The same with another last layer."""
    from dataclasses import replace

    values = scores.values.copy()
    values[:, :, -1] = values[:, :, -1, ::-1]
    return replace(scores, values=values)
