"""Statements about findings beyond their tests: precision, stability, sensitivity, roles together, depth.

It may import records and the modules of ``headroles.stats``. Start with ``assess.assess``, which calls
the others; ``remarks`` has the sentences that readers of the decisions need.
"""
