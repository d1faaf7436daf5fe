"""Findings recomputed by scipy, statsmodels and pingouin, to hold the engine against them.

One finding at a time, by code that shares nothing with the engine. It may import records and libraries,
and of ``headroles.stats`` nothing that tests or corrects. Start with ``recompute``, which holds all findings
of a run against those given; ``one_finding`` has the tests of a single one.
"""
