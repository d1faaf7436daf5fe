"""Heads removed from a model with a certificate of the damage: their order, the tested sets, and fresh data.

Start with ``prune.prune``.
"""

from headroles.public import public_names

__getattr__, __dir__, __all__ = public_names(__name__, {"source": "screening_units", "verify": "verify_any"})
