"""Frozen records that all parts of headroles pass to each other: named, read-only arrays and rows of tables.

Here are inputs (``example``, ``passage``, ``documents``), results (``findings``, ``assessment``, ``probes``,
``clusters``, ``surface``, ``kept_maps``, ``comparison``, ``replication``, ``view``), sums of scores
(``moments``), models and inputs given in Python (``objects``), and how results show themselves (``shown``).
Records import only ``headroles.errors`` and each other.
Start with ``example``: an input, its scores, and the rules that judge them; then ``findings``.
"""
