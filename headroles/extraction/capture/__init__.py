"""Capture: reading attention weights while a model runs, layer by layer.

These modules import records, plans, errors and ``extraction.texts``, and no other folder of extraction.
Start at ``attention.run``, which runs a model once, and at ``readers``, the protocols of what takes
the weights.
"""
