"""Made-up runs with clusters for tests of pages and terminals."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage

from headroles.records.clusters import Choice, Claim, ClusterResults, Divergence
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.clusters.role_claims import role_claims
from headroles.stats.clusters.run import cluster_heads
from headroles.stats.engine import judge

UNITS = 40
NAMES = ("local", "block", "delimiter")
FACTS: dict[str, Any] = {
    "headroles": "0.1.0",
    "command": "headroles cluster --task QNLI",
    "source": {"kind": "file", "name": "pairs.tsv"},
    "task": "QNLI",
    "preset": "calibrated",
}


def divergence(layers: int, heads: int, *, units: int = UNITS, **options: Any) -> Divergence:
    """Divergences of heads of three planted kinds, which drift from layer to layer; a block is a unit."""
    chance = np.random.default_rng(7)
    size = layers * heads
    kind = np.arange(size) % 3
    prototype = np.array([[0.1, 0.1, 0.8], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])[kind]
    layer = np.arange(size) // heads
    place = np.concatenate([prototype, 0.08 * layer[:, None], chance.normal(0, 0.05, (size, 3))], axis=1)
    first, second = np.triu_indices(size, 1)
    apart = 0.3 * ((place[first] - place[second]) ** 2).sum(axis=1)
    noise = chance.normal(1, 0.15, size=(units, len(first)))
    return Divergence(
        layers, heads, apart * noise.clip(0.2), np.ones(units), np.arange(units), **options
    )  # fmt: skip


def labelled(layers: int, heads: int, names: tuple[str, ...] = NAMES, units: int = UNITS) -> Labelling:
    """Sieves of which each is held by one planted kind of heads; a head of the first layers holds two."""
    chance = np.random.default_rng(5)
    kind = (np.arange(layers * heads) % 3).reshape(layers, heads)
    rules = [Rule(name, margin=0.1, low=-1.0, high=1.0) for name in names]
    level = np.stack([np.where(kind == number % 3, 0.6, -0.3) for number in range(len(names))])
    level[:, 0, 0] = 0.6
    noise = chance.normal(0, 0.1, (len(names), units, layers, heads))
    values = (level[:, None] + noise).clip(-1, 1).astype(np.float32)
    scores = Scores(
        sieves=names,
        examples=tuple(f"e{number}" for number in range(units)),
        units=tuple(f"e{number}" for number in range(units)),
        tokens=np.full(units, 20),
        cells=np.full((len(names), units), 12.5),
        values=values,
        null=np.zeros((len(names), units)),
    )
    facts = FACTS | {
        "model": {"name": "tiny/model", "architecture": "BertModel", "origin": "a folder"}
        | {"layers": layers, "heads": heads},
        "counts": {"examples": units, "units": units},
    }
    return Labelling(scores, judge(scores, rules, Decision()), Decision(), facts)


def clustered_run(
    layers: int = 4, heads: int = 6, names: tuple[str, ...] = NAMES, **options: Any
) -> Labelling:
    """A run with everything that is made of its divergences; options are those of ``cluster_heads``."""
    run = labelled(layers, heads, names)
    source = divergence(layers, heads)
    found = cluster_heads(source, **({"draws": 20} | options))
    claims = role_claims(source, run.scores, run.decision, run.findings, found.cluster, draws=20)
    return with_clusters(run, replaced(found, claims=(*found.claims, *claims)))


def with_clusters(run: Labelling, found: ClusterResults) -> Labelling:
    """The same run with clusters."""
    from dataclasses import replace

    return replace(run, clustered=found)


def replaced(found: ClusterResults, **fields: Any) -> ClusterResults:
    """The same clusters with other fields."""
    from dataclasses import replace

    return replace(found, **fields)


def huge_run(layers: int = 32, heads: int = 32) -> Labelling:
    """Many heads, their map and clouds drawn by chance."""
    source = divergence(layers, heads, units=2)
    chance = np.random.default_rng(1)
    size = layers * heads
    place = chance.normal(size=(size, 2))
    merges = linkage(np.sqrt(source.mean()), "average")
    nan = float("nan")
    found = ClusterResults(
        divergence=source,
        error=np.zeros(len(source.mean())),
        method="average",
        cluster=np.arange(size) % 3,
        silhouette=chance.uniform(0, 1, size),
        stability=np.full(size, 0.9),
        linkage=merges,
        choices=(Choice(3, 0.5, 0.9, 1), Choice(4, 0.4, nan)),
        place=place,
        cloud=place + chance.normal(0, 0.1, (40, size, 2)),
        stress=0.2,
        claims=(Claim("split halves agree", "", "adjusted Rand", 0.9, 0.8, 1.0, nan, 0, "", size, 2),),
    )
    return with_clusters(labelled(layers, heads, units=6), found)
