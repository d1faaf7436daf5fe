"""What is claimed of heads together, in words: numbers, intervals, and what a p is a share of."""

import math
from collections.abc import Sequence

from headroles.records.clusters import Claim
from headroles.reports.cluster_words import three
from headroles.reports.words import isolate, number, plural, ranged

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
