"""Facts about language that sieves and probes share: names of relations, head words of mentions, spelling.

This package may import records only. Start at ``relations``.
"""
