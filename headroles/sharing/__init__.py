"""Finished runs and atlases for others: a block for model cards, head cards, schemas, uploads to the hub.

``share.py`` is what the command calls. ``storage/schemas`` holds JSON Schemas (draft 2020-12) of manifests
and head cards, and ``atlas_schema`` makes that of atlases from their records.
"""
