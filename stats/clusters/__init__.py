"""Distances between heads, clusters of heads, a map of heads, and claims about layers and roles.

It may import records, ``headroles.stats`` and scikit-learn. Start with ``run.cluster_heads``;
``role_claims`` relates clusters to roles.
"""
