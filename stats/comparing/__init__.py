"""Comparisons of two runs: on the same inputs head by head, and on other inputs as a replication.

It may import records and ``headroles.stats``. Start with ``paired``, the tests of differences; ``swaps``
has the reference for changed labels, ``summary`` the layers and remarks, ``replication`` the test on
other units.
"""
