"""Probes: questions with right answers, such as the head word of a dependent.

``dependency``, ``coreference`` and ``trees`` define probes and their baselines; ``choices`` is the reference
in numpy of the words that heads choose. This package may import ``sieves.language``,
``sieves.weights``, plans and records. Start at ``dependency``.
"""
