"""Extraction, from texts and a checkpoint to scores: the only part of headroles that imports torch.

``texts`` and ``gold`` read inputs, ``model`` loads a checkpoint, ``capture`` reads its attention, and
``scoring``, ``parsing``, ``jobs`` and ``views`` use it; ``source`` puts stored maps in its place. Of
headroles these modules import records, plans,
errors, addresses and tasks. Start at ``stream.stream``, which brings them together.
"""
