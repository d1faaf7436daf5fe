"""One-sample tests of a column of scores against θ: in closed form, by ranks, and by resampling.

It may import numpy, scipy and the moments and draws of ``headroles.stats``. Start with ``names``, the
table of all tests with their estimands; a new test is a function in one of the other modules and a row
there.
"""
