"""Two finished runs side by side: ``compare()`` for the same inputs, ``replicate()`` for other inputs.

``match.py`` checks that two runs can be compared; ``differences.py`` and ``replication.py`` compute. These
modules may import from ``stats``, ``storage``, ``options``, ``records`` and ``reports``; no model is needed.
Start with ``compare.py``.
"""
