"""Finished runs for others: a block for model cards, head cards as JSON, schemas, and uploads to the hub.

``share.py`` is what the command calls; ``schemas/`` holds JSON Schemas (draft 2020-12) of manifests and
head cards.
"""
