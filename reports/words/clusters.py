"""How distances, clusters and the map were made, in words.

Claims about heads are sentences with a number, an interval, and what p is a share of.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.clusters import CIRCULAR, ClusterResults, about_roles, reference_text
from headroles.records.numbers import (
    isolate,
    join_names,
    number,
    plural,
    three_decimals,
    two_decimals,
    with_range,
)
from headroles.records.table import Row, Table
from headroles.reports.words.cluster_facts import NOISE, Group, known_mean

METHODS = {
    "average": "average linkage",
    "spectral": "spectral clustering",
    "dbscan": "DBSCAN",
}
NEARLY_ALL = 0.9
"""Least share of all heads at which one cluster counts as having nearly all of them."""
WEAK = 0.25
"""Mean silhouette below which heads fall into no substantial clusters (Kaufman & Rousseeuw 1990, Table 4)."""
STABLE = 0.6
"""Least stability at which a number of clusters is chosen; the rule's, stated on the page."""
CHOSEN, SINGLE = "chosen", "only single heads cut off"
FAR = math.sqrt(math.log(2))
"""Distance of two heads that never attend to the same token: the largest, where divergences are means."""


def distance_text(clustered: ClusterResults) -> str:
    """Return how distances were made, without a full stop."""
    source = clustered.divergence
    units = plural(len(source.block), "unit")
    smoothed = (
        f"after {two_decimals(100 * source.smoothing)}\u00a0% of even attention were mixed into every row"
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


def clustering_text(clustered: ClusterResults, groups: tuple[Group, ...]) -> str:
    """Return the clusters, their separation and their stability in words, without a full stop."""
    clusters = [group for group in groups if group.number != NOISE]
    method = METHODS.get(clustered.method, isolate(clustered.method))
    alone = sum(len(group.heads) for group in groups if group.number == NOISE)
    inside = plural(len(clustered.cluster) - alone, "head")
    text = f"{method} puts {inside} into {plural(len(clusters), 'cluster')}"
    if clusters:
        text += f" of {sizes_text(clusters)}"
    if alone:
        text += f" and {alone} into none"
    if clusters and len(clusters[0].heads) >= NEARLY_ALL * len(clustered.cluster) and len(clusters) > 1:
        text += ": nearly all heads are in one, and a few are apart"
    silhouette = known_mean(clustered.silhouette)
    if math.isnan(silhouette):
        text += "; silhouettes need two clusters"
    else:
        text += f"; mean silhouette {two_decimals(silhouette)} (1: far apart, 0: on the border"
        text += f"; below {WEAK}: no substantial clusters)" if silhouette < WEAK else ")"
    return text + _steady(clustered)


def glossary() -> tuple[tuple[str, str], ...]:
    """Return what the words of the page mean."""
    return (
        ("distance", f"0: two heads always attend to the same tokens. {FAR:.2f}: never to the same token."),
        (
            "silhouette",
            "From −1 to 1: how much nearer a head is to its own cluster than to the next. A mean below "
            f"{WEAK} means that there are no substantial clusters (Kaufman & Rousseeuw 1990).",
        ),
        (
            "stability",
            "How alike the clusters of resampled inputs are (adjusted Rand index); 1: the same. "
            f"From {STABLE} on, clusters count as stable.",
        ),
        (
            "by chance",
            "Other placements of the same heads, drawn at random. They say nothing of other models.",
        ),
    )


def sizes_text(groups: list[Group]) -> str:
    """Return the sizes of clusters, the first eight by number."""
    counts = [f"{len(group.heads):,}" for group in groups]
    text = ", ".join(counts[:8]) + ", …" if len(counts) > 8 else join_names(counts)
    return text + (" head" if counts == ["1"] else " heads")


def _steady(clustered: ClusterResults) -> str:
    """Return how stable the clusters are when units are resampled."""
    chosen = next((choice for choice in clustered.choices if choice.chosen), None)
    if chosen is not None and not math.isnan(chosen.stability):
        agreement = two_decimals(chosen.stability)
        return f"; adjusted Rand index with the clusters of resampled units {agreement} (1: the same)"
    stability = known_mean(clustered.stability)
    return (
        ""
        if math.isnan(stability)
        else f"; stability of a head under resampled units {two_decimals(stability)} on average"
    )


def choice_rule(choices: Table) -> str:
    """Return the rule that chose the number of clusters, without a full stop; "" where one was tried.

    Example:
        >>> from headroles.records.clusters import CHOICES
        >>> tried = CHOICES.of(clusters=[2, 3], silhouette=[0.33, 0.3], stability=[1.0, 0.5], chosen=[0, 1])
        >>> choice_rule(tried).split("; ")[-1]
        'none of the others is that stable, so the most stable of them was taken'
    """
    if len(choices) < 2:
        return ""
    last = "numbers that only cut single heads off the rest come last"
    if all(math.isnan(choice.stability) for choice in choices):
        return f"chosen by the largest mean silhouette alone, since no units were resampled; {last}"
    rule = (
        f"chosen by the largest mean silhouette among numbers whose stability (mean adjusted Rand index with "
        f"the clusters of resampled units) is at least {STABLE}; {last}"
    )
    weak = any(choice.chosen and choice.stability < STABLE for choice in choices)
    return rule + "; none of the others is that stable, so the most stable of them was taken" * weak


def choice_note(choice: Row, clustered: ClusterResults) -> str:
    """Return whether one number of clusters was chosen, or why not; "" where that is not known.

    Which numbers only cut single heads off follows from the tree, so it is known of average linkage alone.
    """
    if choice.chosen:
        return CHOSEN
    if clustered.method == "average" and count_groups(clustered.linkage, choice.clusters) < 2:
        return SINGLE
    return f"stability below {STABLE}" if choice.stability < STABLE else ""


def count_groups(linkage: Float[np.ndarray, "merges 4"], clusters: int) -> int:
    """Return the number of clusters of two or more heads when a tree is cut into some number of clusters.

    Args:
        linkage: As scipy gives it.
        clusters: How many there are, single heads counted.

    Example:
        >>> tree = np.array([[0, 1, 0.1, 2], [2, 3, 0.2, 2], [4, 5, 0.9, 4]])
        >>> count_groups(tree, 1), count_groups(tree, 2), count_groups(tree, 3), count_groups(tree, 4)
        (1, 2, 1, 0)
    """
    heads = len(linkage) + 1
    merges = linkage[: heads - clusters, :2]
    return len(merges) - int((merges >= heads).sum())


def stress_sentence(stress: float) -> str:
    """Return what the map leaves out, as one sentence.

    Example:
        >>> stress_sentence(0.25).split(",")[0]
        'Stress 0.25'
    """
    if math.isnan(stress):
        return "The stress of the map is not known."
    reading = "distances on it are off by about this share of their size (root mean square)"
    return f"Stress {two_decimals(stress)}, where 0 would be a faithful map: {reading}."


def cluster_name(number: int) -> str:
    """Return the name of a cluster by its number.

    Example:
        >>> cluster_name(3), cluster_name(-1)
        ('cluster 3', 'no cluster')
    """
    return "no cluster" if number == NOISE else f"cluster {number}"


LAYERS, ADJACENT, HALVES = "same layer closer", "adjacent layers closer", "split halves agree"
ROLE, CLUSTERS, SETS = "same role closer", "clusters are the role", "clusters are the sets of roles"
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
"""Sentence of a claim by name and measure, with a place for its number and interval."""


def estimate_text(claim: Row) -> str:
    r"""Return a claim's number with its interval.

    Example:
        >>> estimate_text(Row(estimate=0.31, low=0.28, high=0.35))
        '0.310 [0.280,\xa00.350]'
    """
    return with_range(*map(three_decimals, (claim.estimate, claim.low, claim.high)))


def p_sentence(claim: Row) -> str:
    """Return what a claim's p is a share of, or why there is none; "" where none is expected.

    Example:
        >>> text = p_sentence(Row(p=0.001, placements=999, reference="orders"))
        >>> text.split(", ")[0]
        'p = 0.001'
    """
    if math.isnan(claim.p):
        return CIRCULAR if about_roles(claim) else ""
    return f"p = {number(claim.p)}, the share at least as extreme among {reference_text(claim)}"


def claim_text(claim: Row) -> str:
    r"""Return a claim's number in words, without its p.

    Example:
        >>> claim_text(Row(claim="a claim", measure="a measure", estimate=0.5, low=0.4, high=0.6))
        'a claim, a measure: 0.500 [0.400,\xa00.600]'
    """
    template = PHRASES.get((claim.claim, claim.measure))
    if template is not None:
        return template.format(estimate_text(claim))
    return f"{isolate(claim.claim)}, {isolate(claim.measure)}: {estimate_text(claim)}"


def claim_sentences(claims: Iterable[Row]) -> tuple[str, ...]:
    """Return one sentence for all claims about one subject, in the order of the claims.

    Args:
        claims: Any; those of one role, and those under one name, are put together.
    """
    subjects: dict[str, list[Row]] = {}
    for claim in claims:
        subjects.setdefault(f"role {claim.subject}" if claim.subject else claim.claim, []).append(claim)
    return tuple(_sentence(group) for group in subjects.values())


def _sentence(claims: Sequence[Row]) -> str:
    """Return the claims about one subject as one sentence."""
    subject = claims[0].subject
    parts = [
        claim_text(claim) + (f"; {p_sentence(claim)}" if not math.isnan(claim.p) else "") for claim in claims
    ]
    text = "; ".join(parts)
    return f"{isolate(subject)}: {text}." if subject else f"{text[0].upper()}{text[1:]}."
