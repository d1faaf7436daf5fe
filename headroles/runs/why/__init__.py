"""The kind of run that asks why heads attend where they do: queries, keys and their dimensions.

``kind.py`` has the record; ``work.py`` multiplies on a shard, ``judging.py`` tests, and ``knock.py`` removes
directions from queries and scores again.
"""
