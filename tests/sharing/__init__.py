"""Tests of what others get of a finished run: blocks for model cards, head cards, schemas, uploads."""
