"""Runs in shards: cut the inputs, score, resume, verify, and assemble the scores, for every kind of run.

``work`` has the records between a run and its workers, ``files`` the files of a shard, and ``resume`` the
folder of an unfinished run. The engines in ``engines`` score shards with the ``worker``. Modules here may
import records, options, inputs, extraction, storage, sieves and judging, but neither ``headroles.runs``,
which uses them, nor the command line. A newcomer starts with ``work`` and then reads ``worker``.
"""
