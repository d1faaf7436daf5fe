"""The kind of run that takes heads out and measures the damage.

``kind.py`` has the record; ``work.py`` does a shard, ``judging.py`` tests, ``labels.py`` reads the roles.
"""
