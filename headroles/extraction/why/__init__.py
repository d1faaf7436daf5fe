"""Queries and keys behind roles: parts of the contrasts of heads, and scores after removals from queries.

It may import capture, model, views, scoring and the files of ``extraction`` above it. Start at ``products``.
"""
