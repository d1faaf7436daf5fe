"""Runs of ``surface``: which tokens attention goes to, head by head, against even attention.

``run`` has the public function, ``work`` what a worker does with a shard, ``judging`` the tests, ``manifest``
the record and notes, and ``kind`` the record of this kind of run.
"""
