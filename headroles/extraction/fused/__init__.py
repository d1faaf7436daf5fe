"""The fused path: sums over attention that is never formed, for GPUs (``--path fused``).

``call`` is the attention function that models run. It hands ``attention.FusedAttention`` to a reader.
``scoring.fused`` takes the scores of a plan from that. ``model.trial_fused`` compares its sums with formed
weights when a model is loaded. The package may import capture and plans. Start at ``attention``.
"""
