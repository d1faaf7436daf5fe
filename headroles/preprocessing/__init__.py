"""Preparation of texts: pairs of segments from running text, and words with dependency trees.

``pairs.py`` writes pairs, cut by ``spans.py``; ``trees.py`` writes trees of ``documents.py``, gold or parsed.
These modules may import from ``extraction``, ``storage``, ``options`` and ``records``. Start with
``pairs.py`` or ``trees.py``.
"""
