"""Runs of ``probe``: every head is asked questions with known answers from gold annotation.

``run`` has the public function, ``inputs`` reads documents and windows, ``work`` asks about those of a shard,
``judging`` tests the answers, ``manifest`` records the run, and ``kind`` is the record of this kind of run.
``classifiers`` trains the probes of ``trained/``.
"""
