"""Scores of mask sieves, contrasts and scorers, computed from attention as it passes by.

Two engines give the same numbers: ``batches`` reads short inputs in padded batches, ``blocks`` reads long
inputs and cross attention in blocks of rows. Both are tested against ``headroles.sieves.weights.reference``.
``classes`` adds contrasts against word class, whose profiles join the inputs of a shard.
``distance_profile`` and ``word_space`` serve probes as well. This package may import capture, model, texts,
parsing, plans and records, but no sieve. Start at ``job``.
"""
