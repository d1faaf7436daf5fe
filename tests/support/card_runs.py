"""Runs whose head cards browser tests open: with hostile tokens, and with counted cells."""

from dataclasses import replace
from functools import cache

import numpy as np

from headroles.records import Example, KeptMaps, Labelling, TypicalInput
from tests.support.clustered_runs import labelled

HOSTILE = "<script>alert(1)</script>\u202e😀"
NAMES = ("local", HOSTILE, "delimiter")
LONG = "a" * 10_000


def exhibited(run: Labelling) -> KeptMaps:
    """Return five examples for every role of every head but those of layer 3, on inputs of hostile tokens."""
    chance = np.random.default_rng(3)
    tokens = ("[CLS]", "it", HOSTILE, "##s", LONG, "[SEP]")
    word = np.array([-1, 0, 1, 1, 2, -1])
    examples = tuple(
        Example(f"in/{number}{HOSTILE}", tokens, np.minimum(word, 0), word=word) for number in range(2)
    )
    held = np.argwhere(run.findings.decision == 0)
    shown = [tuple(place) for place in held.tolist() if place[1] < 3]
    heads = sorted({(layer, head) for _, layer, head in shown})
    places = [(number, *head) for head in heads for number in range(2)]
    exhibits = tuple(
        TypicalInput(NAMES[role], layer, head, rank, 0.5 + rank / 8, places.index((rank % 2, layer, head)))
        for role, layer, head in shown
        for rank in (1, 2, 3, -1, -2)
    )
    weights = tuple(chance.integers(0, 256, (6, 6), dtype=np.uint8) for _ in places)
    return KeptMaps(examples, np.array(places), weights, exhibits, 7, len(weights))


def _marked(run: Labelling) -> Labelling:
    """Return the run with counted cells, and two inputs for heads of layer 3, none of which holds a role."""
    decision = run.findings.decision.copy()
    decision[:, 3] = 1
    run = replace(run, findings=replace(run.findings, decision=decision))
    kept = exhibited(run)
    near = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 2
    specials = np.zeros((6, 6), dtype=np.bool_)
    specials[:, [0, -1]] = True
    cells = dict(zip(NAMES, (near, near, specials), strict=True))
    places = [(number, 3, head) for head in range(6) for number in range(2)]
    unchosen = tuple(
        TypicalInput("", 3, head, number + 1, float("nan"), len(kept.places) + 2 * head + number)
        for number, _, head in places
    )
    maps = replace(
        kept,
        places=np.concatenate([kept.places, places]),
        weights=(*kept.weights, *kept.weights[: len(places)]),
        exhibits=(*kept.exhibits, *unchosen),
        counted={(number, name): cells[name] for number in range(2) for name in NAMES},
    )
    return replace(run, exhibited=maps)


@cache
def card_run(*, marked: bool = False) -> Labelling:
    """Return a run with examples, or one with counted cells and inputs of heads without a role."""
    run = labelled(4, 6, NAMES)
    return _marked(run) if marked else replace(run, exhibited=exhibited(run))
