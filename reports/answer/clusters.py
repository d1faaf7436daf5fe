"""The answer of a run that clustered heads: whether there are clusters, and what they follow."""

import math

import numpy as np

from headroles.errors import BadInput
from headroles.records.clusters import ClusterResults
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, number, plural, three_decimals, two_decimals
from headroles.records.table import Row
from headroles.reports.account import account
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.words.cluster_facts import (
    NOISE,
    distances_of,
    head_names,
    known_mean,
    nearest_of,
)
from headroles.reports.words.clusters import (
    ADJACENT,
    FAR,
    LAYERS,
    NEARLY_ALL,
    STABLE,
    WEAK,
)
from headroles.reports.words.words import heads_in_layers

TITLE = "Which heads do the same?"
SIZES = 6
"""Sizes of clusters that a sentence names at most."""


def answer_of(labelling: Labelling) -> Answer:
    """Return what clustering found, on one screen.

    Args:
        labelling: Of a run with clusters.

    Returns:
        Title, line, at most five sentences and warnings. All counts are those of the clusters and claims.
    """
    clustered = labelling.clustered
    if clustered is None:
        raise BadInput("an answer about clusters needs a run with clusters, but this run has none")
    facts = account(labelling)
    size = heads_in_layers(labelling.scores.stack, labelling.scores.heads)
    names = [isolate(fact) for fact in (facts.model, *facts.facts) if fact]
    return Answer(
        title=TITLE,
        line=" · ".join([*names, size]),
        sentences=(
            _clusters(clustered),
            *_pairs(labelling, clustered),
            *_layers(clustered, labelling.decision.alpha),
        ),
        warnings=facts.warnings,
    )


def has_clusters(clustered: ClusterResults) -> bool:
    """Return whether heads fall into clusters that are worth a name.

    They do not where one cluster has nearly all of them, where the mean silhouette is below 0.25
    (Kaufman & Rousseeuw 1990, Table 4: no substantial structure), or where there are fewer than two.
    """
    sizes = cluster_sizes(clustered)
    silhouette = known_mean(clustered.silhouette)
    return len(sizes) > 1 and sizes[0] < NEARLY_ALL * len(clustered.cluster) and silhouette >= WEAK


def cluster_sizes(clustered: ClusterResults) -> list[int]:
    """Return the number of heads of every cluster; heads in none do not count."""
    known = clustered.cluster[clustered.cluster != NOISE]
    return np.bincount(known).tolist() if known.size else []


def _clusters(clustered: ClusterResults) -> Sentence:
    """Return how many clusters there are; in one sentence that there are none."""
    sizes, heads = cluster_sizes(clustered), len(clustered.cluster)
    silhouette = known_mean(clustered.silhouette)
    measured = "" if math.isnan(silhouette) else f"; silhouette {two_decimals(silhouette)}"
    alone = heads - sum(sizes)
    if not has_clusters(clustered):
        if len(sizes) < 2:
            into = "one cluster holds" if sizes else "no cluster holds"
            return Sentence(
                "No clusters:", f"{into} {'all' if not alone else sum(sizes)} of {heads:,} heads."
            )
        named = [f"{size:,}" for size in sizes[:SIZES]]
        listed = ", ".join(named) + ", …" if len(sizes) > SIZES else join_names(named)
        return Sentence("No clusters:", f"the chosen split has groups of {listed} heads{measured}.")
    named = [f"{size:,}" for size in sizes[:SIZES]]
    listed = ", ".join(named) + ", …" if len(sizes) > SIZES else join_names(named)
    rest = f"of {listed} heads{measured}"
    chosen = next((choice for choice in clustered.choices if choice.chosen), None)
    stability = chosen.stability if chosen else known_mean(clustered.stability)
    if not math.isnan(stability):
        steady = "stable" if stability >= STABLE else "not stable"
        rest += f"; {steady} under resampled inputs ({two_decimals(stability)}, 1: the same)"
    if alone:
        rest += f". {plural(alone, 'head')} {'is' if alone == 1 else 'are'} in none"
    return Sentence(f"{plural(len(sizes), 'cluster')}", f"{rest}.")


def _pairs(labelling: Labelling, clustered: ClusterResults) -> list[Sentence]:
    """Return the two nearest heads and the head farthest from all; nothing of a single head."""
    heads = head_names(labelling.scores.stack, labelling.scores.heads)
    distance = distances_of(clustered)
    near = nearest_of(clustered, distance)
    if not near.head.shape[1]:
        return []
    one = int(np.argmin(near.distance[:, 0]))
    other = int(near.head[one, 0])
    first, second = (heads[head] for head in sorted((one, other)))
    scale = f" (0: the same, {FAR:.2f}: never)" if clustered.divergence.way == "mean" else ""
    lonely = int(np.argmax(near.distance[:, 0]))
    return [
        Sentence(
            f"{first} and {second} are the most alike",
            f"at a distance of {three_decimals(float(near.distance[one, 0]))}{scale}; "
            f"{heads[lonely]} is the least like any other "
            f"({three_decimals(float(near.distance[lonely, 0]))} to its nearest).",
        )
    ]


def _layers(clustered: ClusterResults, alpha: float) -> list[Sentence]:
    """Return how far layers explain distances; nothing where it was not measured."""
    claims = {(claim.claim, claim.measure): claim for claim in clustered.claims}
    sentences = []
    layers, adjacent = claims.get((LAYERS, "R2")), claims.get((ADJACENT, "mantel r"))
    if layers is not None and not math.isnan(layers.estimate):
        lead = f"Layers explain {100 * layers.estimate:.0f}\u00a0% of the squared distances"
        sentences.append(Sentence(lead, f"between heads{_by_chance(layers, alpha)}."))
    if adjacent is not None and not math.isnan(adjacent.estimate):
        shown = not math.isnan(adjacent.p) and adjacent.p <= alpha and adjacent.estimate > 0
        differ = "differ more" if shown else "are not shown to differ more"
        p = "" if math.isnan(adjacent.p) else f" (p = {number(adjacent.p)})"
        rest = f"than those of near layers: r = {two_decimals(adjacent.estimate)}{p}."
        sentences.append(Sentence(f"Heads of distant layers {differ}", rest))
    return sentences


def _by_chance(claim: Row, alpha: float) -> str:
    """Return whether random placements of the heads give as much; "" where it was not tested."""
    if math.isnan(claim.p):
        return ""
    more = "more than by chance" if claim.p <= alpha else "no more than by chance"
    return f", {more} (p = {number(claim.p)})"
