"""Plans: masks and weights by which sieves score attention; ``sieves`` and ``headroles.extraction`` use them.

A sieve names masks (``masks``); these become weights of one example (``plan``) or of a batch (``batch``),
with even attention as reference (``even``). ``cells`` shows one sieve on one example. ``scorers`` calls
sieves that read attention themselves. Plans import only ``headroles.errors`` and
``headroles.records.example``. Start with ``masks``, then ``plan``.
"""
