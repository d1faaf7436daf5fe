"""What judges scores: the rule of each column, and the decision of a run over all columns.

``rule`` holds both. ``names`` holds names of probes, of ways to cluster and to read attention. Options, and
messages about them, need these before any array exists. So nothing here imports numpy.
"""
