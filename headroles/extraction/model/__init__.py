"""Models: finding and loading a checkpoint, and checking at load that its attention is read rightly.

These modules import records, errors and the folders ``texts`` and ``capture``. Start at ``load.load``,
which returns a model whose attention can be read; ``trial`` is its check against the plain model.
"""
