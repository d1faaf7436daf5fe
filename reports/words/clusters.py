"""How distances, clusters and the map were made, in words.

What is claimed of heads together, in words: numbers, intervals, and what a p is a share of.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.clusters import Choice, Claim, Clustered
from headroles.reports.words.cluster_facts import NOISE, Group, mean_of
from headroles.reports.words.words import isolate, listing, number, plural, ranged, two

METHODS = {
    "average": "average linkage",
    "spectral": "spectral clustering",
    "dbscan": "DBSCAN",
}
NEARLY_ALL = 0.9
"""Share of all heads from which on one cluster has nearly all of them."""
WEAK = 0.25
"""Mean silhouette below which heads fall into no substantial clusters (Kaufman & Rousseeuw 1990, Table 4)."""
STABLE = 0.6
"""Least stability of a number of clusters that is chosen; that of the choice, said on the page."""
CHOSEN, SINGLE = "chosen", "only single heads cut off"
FAR = math.sqrt(math.log(2))
"""Distance of two heads whose attention never meets: the largest there is, where divergences are means."""


def how_far(clustered: Clustered) -> str:
    """How distances were made, without a full stop."""
    source = clustered.divergence
    units = plural(len(source.block), "unit")
    smoothed = (
        f"after {two(100 * source.smoothing)}\u00a0% of even attention were mixed into every row"
        if source.smoothing
        else "rows not smoothed"
    )
    if source.way == "sum":
        return (
            "distances are square roots of the Jensen-Shannon divergence (nats) between rows of attention "
            f"of the same query, summed over all rows of all inputs of {units} as in the released code, "
            f"{smoothed}; they grow with the number of inputs"
        )
    return (
        "distances are square roots of the mean Jensen-Shannon divergence (nats) between rows of attention "
        f"of the same query, over {units}, {smoothed}; 0: always the same attention, {FAR:.2f}: never on the "
        "same token"
    )


def how_clustered(clustered: Clustered, groups: tuple[Group, ...]) -> str:
    """The clusters that were found, how well apart and how steady they are, without a full stop."""
    found = [group for group in groups if group.number != NOISE]
    method = METHODS.get(clustered.method, isolate(clustered.method))
    alone = sum(len(group.heads) for group in groups if group.number == NOISE)
    text = (
        f"{method} puts {plural(len(clustered.cluster) - alone, 'head')} into {plural(len(found), 'cluster')}"
    )
    if found:
        text += f" of {sizes(found)}"
    if alone:
        text += f" and {alone} into none"
    if found and len(found[0].heads) >= NEARLY_ALL * len(clustered.cluster) and len(found) > 1:
        text += ": nearly all are in one, so a few heads stand apart and the others are not divided"
    silhouette = mean_of(clustered.silhouette)
    if math.isnan(silhouette):
        text += "; silhouettes need two clusters"
    else:
        text += f"; mean silhouette {two(silhouette)} (1: far apart, 0: on the border"
        text += f"; below {WEAK}: no substantial clusters)" if silhouette < WEAK else ")"
    return text + _steady(clustered)


def sizes(groups: list[Group]) -> str:
    """Sizes of clusters, the first eight by number."""
    counts = [f"{len(group.heads):,}" for group in groups]
    told = ", ".join(counts[:8]) + ", …" if len(counts) > 8 else listing(counts)
    return told + (" head" if counts == ["1"] else " heads")


def _steady(clustered: Clustered) -> str:
    """How steady the clusters are when units are resampled."""
    taken = next((each for each in clustered.choices if each.chosen), None)
    if taken is not None and not math.isnan(taken.stability):
        return (
            f"; adjusted Rand index with the clusters of resampled units {two(taken.stability)} (1: the same)"
        )
    kept = mean_of(clustered.stability)
    return "" if math.isnan(kept) else f"; stability of a head under resampled units {two(kept)} on average"


def how_chosen(choices: Sequence[Choice]) -> str:
    """The rule by which one number of clusters was taken, without a full stop; "" where one was tried.

    Example:
        >>> how_chosen([Choice(2, 0.33, 1.0), Choice(3, 0.3, 0.5, 1)]).split("; ")[-1]
        'none of the others is that stable, so the most stable of them was taken'
    """
    if len(choices) < 2:
        return ""
    last = "numbers that only cut single heads off the rest come last"
    if all(math.isnan(each.stability) for each in choices):
        return f"chosen by the largest mean silhouette alone, since no units were resampled; {last}"
    told = (
        f"chosen by the largest mean silhouette among numbers whose stability (mean adjusted Rand index with "
        f"the clusters of resampled units) is at least {STABLE}; {last}"
    )
    weak = any(each.chosen and each.stability < STABLE for each in choices)
    return told + "; none of the others is that stable, so the most stable of them was taken" * weak


def choice_notes(clustered: Clustered) -> tuple[str, ...]:
    """Of each number of clusters tried: that it was chosen, or what kept it from that, if that is known.

    Which numbers only cut single heads off follows from the tree, so it is known of average linkage alone.
    """
    return tuple(_choice_note(each, clustered) for each in clustered.choices)


def _choice_note(each: Choice, clustered: Clustered) -> str:
    if each.chosen:
        return CHOSEN
    if clustered.method == "average" and parted(clustered.linkage, each.clusters) < 2:
        return SINGLE
    return f"stability below {STABLE}" if each.stability < STABLE else ""


def parted(linkage: Float[np.ndarray, "merges 4"], clusters: int) -> int:
    """Clusters of two or more heads among those that a tree falls into.

    Args:
        linkage: As scipy gives it.
        clusters: How many there are, single heads counted.

    Example:
        >>> tree = np.array([[0, 1, 0.1, 2], [2, 3, 0.2, 2], [4, 5, 0.9, 4]])
        >>> parted(tree, 1), parted(tree, 2), parted(tree, 3), parted(tree, 4)
        (1, 2, 1, 0)
    """
    heads = len(linkage) + 1
    kept = linkage[: heads - clusters, :2]
    return len(kept) - int((kept >= heads).sum())


def stress_told(stress: float) -> str:
    """What the map leaves out, as one sentence.

    Example:
        >>> stress_told(0.25).split(",")[0]
        'Stress 0.25'
    """
    if math.isnan(stress):
        return "The stress of the map is not known."
    told = "distances on it are off by about this share of their size (root mean square)"
    return f"Stress {two(stress)}, where 0 would be a faithful map: {told}."


def three(value: float) -> str:
    """A distance or a share with three decimals.

    Example:
        >>> three(0.2164), three(-0.0001), three(float("nan"))
        ('0.216', '0.000', '–')
    """
    return "–" if math.isnan(value) else f"{value:z.3f}".replace("-", "−")


def cluster_name(number: int) -> str:
    """A cluster by its number.

    Example:
        >>> cluster_name(3), cluster_name(-1)
        ('cluster 3', 'no cluster')
    """
    return "no cluster" if number == NOISE else f"cluster {number}"


CIRCULAR = "no p can be given: roles and distances come from the same attention"
LAYERS, ADJACENT, HALVES = "same layer closer", "adjacent layers closer", "split halves agree"
ROLE, CLUSTERS, SETS = "same role closer", "clusters are the role", "clusters are the sets of roles"
ALL = "all "
"""How the words of a reference begin that holds every placement, the observed one among them."""
SPLIT = "middle 95\u00a0% of splits"
PHRASES = {
    (LAYERS, "R2"): "layers account for {} of the squared distances between heads (R²)",
    (LAYERS, "mean distance within layers"): "heads of one layer lie {} apart on average",
    (LAYERS, "mean distance between layers"): "heads of different layers {}",
    (ADJACENT, "mantel r"): "the distance of two heads of different layers correlates with the number of "
    "layers from one to the other: r = {}",
    (ADJACENT, "mantel rho"): "by ranks, rho = {}",
    (
        HALVES,
        "adjusted Rand",
    ): "clusters found in two random halves of the inputs agree with an adjusted Rand "
    "index of {} (" + SPLIT + "; 1: the same clusters, 0: as alike as chance)",
    (ROLE, "R2"): "holding the role accounts for {} of the squared distances (R²)",
    (CLUSTERS, "adjusted Rand"): "adjusted Rand index of the clusters with the role {}",
    (SETS, "adjusted Rand"): "adjusted Rand index of the clusters with the sets of roles that heads hold {}",
}
"""A claim by name and measure, its number and interval to be put in."""


def estimate_told(claim: Claim) -> str:
    r"""A claim's number with its interval.

    Example:
        >>> estimate_told(Claim("same layer closer", "", "R2", 0.31, 0.28, 0.35, 0.01, 99, "x", 72, 60))
        '0.310 [0.280,\xa00.350]'
    """
    return ranged(*map(three, (claim.estimate, claim.low, claim.high)))


def chance_told(claim: Claim) -> str:
    """What a claim's p is a share of, or why there is none; "" where none is expected.

    Example:
        >>> told = chance_told(Claim("a claim", "", "R2", 0.3, 0.2, 0.4, 0.001, 999, "orders", 9, 9))
        >>> told.split(", ")[0]
        'p = 0.001'
    """
    if math.isnan(claim.p):
        return CIRCULAR if claim.about_roles else ""
    return f"p = {number(claim.p)}, the share at least as extreme among {among(claim)}"


def among(claim: Claim) -> str:
    """What a claim's p is a share of: all placements there are, or the observed one and drawn ones.

    Example:
        >>> among(Claim("a claim", "", "R2", 0.3, 0.2, 0.4, 0.001, 999, "random orders", 9, 9))
        '1,000 placements (the observed one and 999 drawn: random orders)'
        >>> among(Claim("a claim", "", "R2", 0.3, 0.2, 0.4, 0.1, 720, "all orders", 9, 9))
        '720 placements (all orders, the observed one among them)'
    """
    reference = isolate(claim.reference) or "random placement"
    if claim.reference.startswith(ALL):
        return f"{plural(claim.placements, 'placement')} ({reference}, the observed one among them)"
    drawn = f"the observed one and {claim.placements:,} drawn: {reference}"
    return f"{plural(1 + claim.placements, 'placement')} ({drawn})"


def phrase(claim: Claim) -> str:
    r"""A claim's number in words, without its p.

    Example:
        >>> phrase(Claim("a claim", "", "a measure", 0.5, 0.4, 0.6, 0.1, 99, "orders", 9, 9))
        'a claim, a measure: 0.500 [0.400,\xa00.600]'
    """
    told = PHRASES.get((claim.claim, claim.measure))
    if told is not None:
        return told.format(estimate_told(claim))
    return f"{isolate(claim.claim)}, {isolate(claim.measure)}: {estimate_told(claim)}"


def sentences(claims: Sequence[Claim]) -> tuple[str, ...]:
    """One sentence for all that is claimed of one matter, in the order of the claims.

    Args:
        claims: Any; those of one role, and those under one name, come together.
    """
    matters: dict[str, list[Claim]] = {}
    for each in claims:
        matters.setdefault(f"role {each.subject}" if each.subject else each.claim, []).append(each)
    return tuple(_sentence(together) for together in matters.values())


def _sentence(claims: Sequence[Claim]) -> str:
    subject = claims[0].subject
    parts = [phrase(each) + (f"; {chance_told(each)}" if not math.isnan(each.p) else "") for each in claims]
    told = "; ".join(parts)
    return f"{isolate(subject)}: {told}." if subject else f"{told[0].upper()}{told[1:]}."
