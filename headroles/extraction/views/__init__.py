"""Views: the attention of a model over an input, with the queries and keys behind it.

These modules import records, errors and the folders ``texts``, ``capture``, ``model`` and ``jobs``.
Start at ``view.read_views``, which takes a checkpoint and texts and returns views.
"""
