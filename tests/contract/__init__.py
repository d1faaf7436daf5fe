"""Recorded runs of every kind: their tables, pages and words, and the same runs made on a model."""
