"""The engine for short inputs: a padded batch is scored by a few operations for each layer.

``plan`` lays masks over a batch, ``units`` and ``contrasts`` do so for words and distance profiles, and
``reading`` applies them to attention. It may import capture, plans and the files of ``scoring`` above it.
Start at ``reading``.
"""
