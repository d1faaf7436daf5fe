"""Capture: reading attention weights while a model runs, layer by layer.

``weights`` forms the weights of short batches, ``blocks`` those of long examples, and ``joint`` those of
cross attention. ``softmax`` forms them in place where a model computes nothing else. These modules import
records, plans, errors and ``extraction.texts``, and no other folder of extraction. Start at
``attention.run``, which runs a model once, and at ``readers``, the protocols of what takes the weights.
"""
