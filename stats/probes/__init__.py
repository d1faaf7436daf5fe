"""Statistics of probes: baselines, the best head of each row, and gaps between conditions.

It may import records and ``headroles.stats``. Start with ``best_head``, which chooses a head on one half
of the units and tests it on the other; ``baselines`` has what heads are compared with.
"""
