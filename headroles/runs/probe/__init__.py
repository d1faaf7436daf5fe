"""Probes: every head is asked questions with known answers from gold annotation.

``run.py`` holds ``probe()``; ``inputs.py`` reads documents and windows, ``answers.py`` asks the heads, and
``manifest.py`` records the run; ``trained/`` trains classifiers. These modules may import from all folders
but ``cli`` and ``terminal``. Start with ``run.py``.
"""
