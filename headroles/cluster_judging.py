"""Clusters, and claims about them and the roles of a labelling."""

from dataclasses import replace

from headroles.clustered import Divergence
from headroles.options import Clustering
from headroles.outcomes import Labelling
from headroles.stats.clustering import cluster_heads
from headroles.stats.role_claims import role_claims


def with_clusters(labelling: Labelling, divergence: Divergence, how: Clustering) -> Labelling:
    """A labelling with clusters of its heads, and what is claimed about layers, clusters and roles.

    Args:
        labelling: Judged.
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
    return _claimed(replace(labelling, clustered=clustered), how)


def claimed_anew(before: Labelling, after: Labelling, how: Clustering) -> Labelling:
    """The clusters of a labelling beside roles that were judged anew: only claims about roles change.

    Args:
        before: With clusters.
        after: The same scores, judged by other rules.
        how: How heads were clustered.
    """
    assert before.clustered is not None
    kept = tuple(each for each in before.clustered.claims if not each.about_roles)
    return _claimed(replace(after, clustered=replace(before.clustered, claims=kept)), how)


def _claimed(labelling: Labelling, how: Clustering) -> Labelling:
    clustered = labelling.clustered
    assert clustered is not None
    found = labelling.findings
    more = role_claims(
        clustered.divergence,
        labelling.scores,
        found.rules,
        labelling.decision,
        found,
        clustered.cluster,
        draws=how.draws,
        seed=labelling.decision.seed,
    )
    return replace(labelling, clustered=replace(clustered, claims=(*clustered.claims, *more)))
