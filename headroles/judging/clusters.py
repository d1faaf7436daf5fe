"""Clusters, and claims about them and the roles of a labelling."""

from dataclasses import replace

from headroles.options.label import Clustering
from headroles.records.clusters import Clustered, Divergence
from headroles.records.findings import Labelling
from headroles.stats.clusters.role_claims import role_claims
from headroles.stats.clusters.run import cluster_heads


def with_clusters(labelling: Labelling, divergence: Divergence, how: Clustering) -> Labelling:
    """A labelling with clusters of its heads, and what is claimed about layers, clusters and roles.

    Args:
        labelling: Judged; the seed of its decision draws all resamples and placements.
        divergence: Of the same examples.
        how: How heads are clustered.
    """
    clustered = cluster_heads(
        divergence,
        method=how.method,
        clusters=how.clusters,
        draws=how.draws,
        seed=labelling.decision.seed,
    )
    return _claimed(labelling, clustered, how)


def claimed_anew(labelling: Labelling, clustered: Clustered, how: Clustering) -> Labelling:
    """A labelling that was judged anew, with the clusters it had: only claims about roles change.

    That holds while the seed stays as it was; with another one clusters are made anew (``with_clusters``).

    Args:
        labelling: The same scores, judged by other rules.
        clustered: The clusters of its heads, and claims.
        how: How heads were clustered.
    """
    kept = tuple(claim for claim in clustered.claims if not claim.about_roles)
    return _claimed(labelling, replace(clustered, claims=kept), how)


def _claimed(labelling: Labelling, clustered: Clustered, how: Clustering) -> Labelling:
    """The labelling with clusters, whose claims are followed by those about roles."""
    findings = labelling.findings
    more = role_claims(
        clustered.divergence,
        labelling.scores,
        labelling.decision,
        findings,
        clustered.cluster,
        draws=how.draws,
        seed=labelling.decision.seed,
    )
    return replace(labelling, clustered=replace(clustered, claims=(*clustered.claims, *more)))
