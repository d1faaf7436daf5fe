"""Extraction, from texts and a checkpoint to scores: the only part of headroles that imports torch.

``texts`` and ``gold`` read inputs, ``model`` loads a checkpoint, and ``capture`` reads its attention, or
``source`` stored maps in its place. ``fused`` takes sums of attention that is never formed. ``scoring``,
``parsing``, ``jobs`` and ``views`` use the attention. Of headroles these modules import records, plans,
errors, addresses and tasks. Start at ``stream.stream``, which brings them together.
"""
