"""Judging of scores: from scores and rules to findings, for each kind of run.

``scores.py`` judges sieves, ``surface.py`` surface statistics, and ``probes.py`` answers of
probes; ``clusters.py`` adds clusters. ``again.py`` judges a stored run by other
rules. These modules may import from ``stats``, ``storage``, ``options``, ``records`` and ``reports``. Start
with ``scores.py``.
"""
