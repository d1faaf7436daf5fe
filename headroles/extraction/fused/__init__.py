"""The fused path: sums over attention that is never formed, for GPUs (``--path fused``).

``call`` is the attention function that models run. It hands ``attention.FusedAttention`` to a reader, and
``sums`` takes the scores of a plan from that. ``check`` compares these sums with formed weights when a model
is loaded. The package may import capture, plans, and the blocks of ``scoring``. Start at ``attention``.
"""
