"""Runs of ``label``: sieves score every head on every input.

``run`` has the public function, ``work`` what a worker does with a shard, and ``kind`` the record of this
kind of run. Runs of ``cluster`` do the same and more, and use all three.
"""
