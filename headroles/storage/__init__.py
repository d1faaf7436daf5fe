"""Run folders and comparisons, on disk or at addresses: CSV, JSON, Parquet and npz files, and no pickle.

``folder`` names all files and checks folders before they are replaced. ``integrity`` locks, replaces, seals
and repairs them. ``places`` and ``remote`` serve addresses. ``archive`` stores arrays of any record, and
``arrow`` tables. The other files each write and read one kind of record. Storage may import
``headroles.records``, ``headroles.errors`` and ``headroles.addresses``. Start with ``run``, which writes and
loads a whole run, then ``folder``.
"""
