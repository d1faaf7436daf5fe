"""Extraction, from texts and a checkpoint to scores: the only part of headroles that imports torch.

``texts`` and ``gold`` read inputs, ``model`` loads a checkpoint, ``capture`` reads its attention (``source``
puts stored maps in its place), and ``scoring``, ``parsing``, ``jobs`` and ``views`` use it. Of headroles
these modules import records, plans, errors, addresses and tasks. Start at
``stream.stream``, which brings them together.
"""
