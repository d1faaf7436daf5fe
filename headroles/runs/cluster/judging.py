"""Add clusters of heads to a labelling, with claims about layers, clusters and roles."""

from dataclasses import replace

from headroles.options.label import Clustering
from headroles.records.clusters import CLAIMS, ClusterResults, Divergence, about_roles
from headroles.records.findings import Labelling
from headroles.stats.clusters.role_claims import role_claims
from headroles.stats.clusters.run import cluster_heads


def add_clusters(labelling: Labelling, divergence: Divergence, how: Clustering) -> Labelling:
    """Return a labelling with clusters of its heads, and claims about layers, clusters and roles.

    Args:
        labelling: A judged one; the seed of its decision draws all resamples and placements.
        divergence: Divergences of the heads on the same examples.
        how: The settings of the clustering.
    """
    clustered = cluster_heads(
        divergence,
        method=how.method,
        clusters=how.clusters,
        draws=how.draws,
        seed=labelling.decision.seed,
        positions=labelling.scores.stack.positions,
    )
    return _with_role_claims(labelling, clustered, how)


def update_role_claims(labelling: Labelling, clustered: ClusterResults, how: Clustering) -> Labelling:
    """Return a labelling that was judged again with its clusters: only claims about roles change.

    This needs the same seed; with another one, ``add_clusters`` clusters the heads again.

    Args:
        labelling: The same scores, judged by other rules.
        clustered: The clusters of its heads, and claims.
        how: The settings of the clustering.
    """
    other_claims = clustered.claims.take([not about_roles(claim) for claim in clustered.claims])
    return _with_role_claims(labelling, replace(clustered, claims=other_claims), how)


def _with_role_claims(labelling: Labelling, clustered: ClusterResults, how: Clustering) -> Labelling:
    """Return the labelling with clusters, and add claims about roles to their claims."""
    findings = labelling.findings
    claims = role_claims(
        clustered.divergence,
        labelling.scores,
        labelling.decision,
        findings,
        clustered.cluster,
        draws=how.draws,
        seed=labelling.decision.seed,
    )
    return replace(labelling, clustered=replace(clustered, claims=CLAIMS.joined([clustered.claims, claims])))
