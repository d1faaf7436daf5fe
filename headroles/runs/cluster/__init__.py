"""Runs of ``cluster``: runs of ``label`` that also sum divergences between heads, and cluster the heads.

``run`` has the public function, ``work`` what a worker does with a shard, ``judging`` the clusters and claims
about them, and ``kind`` the record of this kind of run.
"""
