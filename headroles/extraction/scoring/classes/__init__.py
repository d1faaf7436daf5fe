"""The engine for contrasts against word class, which join the inputs of a shard.

``layout`` lays the pairs of words of a batch over its tokens. ``sums`` adds up their attention while it
streams by. ``profile`` keeps the sums of a shard and makes profiles of them, and ``table`` writes the scores.
Start at ``table``.
"""
