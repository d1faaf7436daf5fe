"""Results in the terminal: tables and lines of runs, comparisons, atlases and replications.

Every kind has its module. ``console`` makes the console and prints what all share, ``roles`` draws the roles
of heads, and ``facts`` has what is said of every result, also as JSON. Start with ``console``.
"""
