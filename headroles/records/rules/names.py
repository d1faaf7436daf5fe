"""Names of trained probes and of ways to cluster, which options and results share."""

ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS = "attention", "attention+words", "distances+words"
CLASSIFIERS = (ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS)
"""Probes that are trained, after section 5 of Clark et al. (2019)."""
WAYS = ("mean", "sum")
"""Ways to combine divergences of units."""
METHODS = ("average", "spectral", "dbscan")
"""Methods of clustering heads."""
