"""Names that options and results share: of trained probes, ways to cluster, and ways to read attention."""

ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS = "attention", "attention+words", "distances+words"
CLASSIFIERS = (ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS)
"""Probes that are trained, after section 5 of Clark et al. (2019)."""
WAYS = ("mean", "sum")
"""Ways to combine divergences of units."""
METHODS = ("average", "spectral", "dbscan")
"""Methods of clustering heads."""

ROWS, FUSED = "rows", "fused"
PATHS = (ROWS, FUSED)
"""Where scores come from: rows of attention weights, or sums over attention that is never formed."""
FORMED, EAGER, SUMS, RETURNED = "headroles", "headroles-eager", "headroles-fused", "output_attentions"
"""How a model is read: weights are formed outside the model, or in it; sums are taken; weights are returned.

The first three are names of attention functions for transformers.
"""
