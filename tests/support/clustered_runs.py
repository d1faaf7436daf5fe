"""Made-up runs with clusters for tests of pages and terminals."""

from dataclasses import replace
from typing import Any

import numpy as np

from headroles.records import Divergence, Labelling, Rule
from tests.support.made_runs import made_run

UNITS = 40
NAMES = ("local", "block", "delimiter")
FACTS: dict[str, Any] = {
    "headroles": "0.1.0",
    "command": "headroles cluster --task QNLI",
    "source": {"kind": "file", "name": "pairs.tsv"},
    "task": "QNLI",
    "preset": "calibrated",
}


def divergence(layers: int, heads: int) -> Divergence:
    """Return divergences of heads of three planted kinds, which drift over layers; a block is a unit."""
    chance = np.random.default_rng(7)
    size = layers * heads
    kind = np.arange(size) % 3
    prototype = np.array([[0.1, 0.1, 0.8], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])[kind]
    layer = np.arange(size) // heads
    place = np.concatenate([prototype, 0.08 * layer[:, None], chance.normal(0, 0.05, (size, 3))], axis=1)
    first, second = np.triu_indices(size, 1)
    apart = 0.3 * ((place[first] - place[second]) ** 2).sum(axis=1)
    noise = chance.normal(1, 0.15, size=(UNITS, len(first)))
    return Divergence(layers, heads, apart * noise.clip(0.2), np.ones(UNITS), np.arange(UNITS))


def labelled(layers: int, heads: int, names: tuple[str, ...] = NAMES) -> Labelling:
    """Return sieves each held by one planted kind of heads; a head of the first layers holds two."""
    chance = np.random.default_rng(5)
    kind = (np.arange(layers * heads) % 3).reshape(layers, heads)
    level = np.stack([np.where(kind == number % 3, 0.6, -0.3) for number in range(len(names))])
    level[:, 0, 0] = 0.6
    noise = chance.normal(0, 0.1, (len(names), UNITS, layers, heads))
    facts = FACTS | {
        "model": {"name": "tiny/model", "architecture": "BertModel", "origin": "a folder"}
        | {"layers": layers, "heads": heads},
        "counts": {"examples": UNITS, "units": UNITS},
    }
    rules = [Rule(name, margin=0.1, low=-1.0, high=1.0) for name in names]
    return made_run(rules, (level[:, None] + noise).clip(-1, 1), facts=facts)


def clustered_run(
    layers: int = 4, heads: int = 6, names: tuple[str, ...] = NAMES, **options: Any
) -> Labelling:
    """Return a run with everything made of its divergences; options are those of ``cluster_heads``."""
    from headroles.stats import cluster_heads, role_claims  # they import sklearn

    run = labelled(layers, heads, names)
    source = divergence(layers, heads)
    found = cluster_heads(source, **({"draws": 20} | options))
    claims = role_claims(source, run.scores, run.decision, run.findings, found.cluster, draws=20)
    return replace(run, clustered=replace(found, claims=found.claims.joined([found.claims, claims])))
