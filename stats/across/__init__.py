"""Many runs together: in how many of them a head has a role, pooled means, and steps of one training.

It may import records and ``headroles.stats``. ``conjunction`` tests "in at least u of k runs",
``replicability`` two runs in both directions, ``meta`` pools means of random effects, and ``steps`` tests
trends and the first step of a role.
"""
