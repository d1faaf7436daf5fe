"""Heads removed from a model with a certificate of the damage: their order, the tested sets, and fresh data.

Start with ``prune.prune``.
"""
