"""Judging of scores: from scores and rules to findings.

``scores.py`` judges scores of sieves, and ``again.py`` judges a stored run of any kind by other rules. What
only one kind of run judges is in its folder of ``headroles.runs``. These modules may import from ``stats``,
``storage``, ``options`` and ``records``. Start with ``scores.py``.
"""
