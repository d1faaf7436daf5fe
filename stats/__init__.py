"""From scores to decisions: tests, corrections, findings.

The packages of statistics (numpy, scipy, statsmodels, pingouin) are imported here and nowhere else; of
headroles only records and errors. Start with ``engine.judge``, which tests every sieve and head.
``methods`` has the tests, ``correction`` the adjusted p values, ``assessment`` all that is computed from
findings, and ``clusters``, ``comparing`` and ``probes`` the statistics of other kinds of runs.
``oracles`` recomputes findings by libraries.
"""

if __name__ != "headroles.stats":
    raise ImportError("this folder is the package headroles.stats; import it by that name")
