"""Inputs of a run: reading passages, naming their units, and loading the annotation that sieves need.

``corpora`` has inputs that are read in every pass, ``objects`` those that are given in Python, ``units``
groups them into units of inference, and ``annotation`` loads parser, lemmas and vectors. Inputs may import
``headroles.extraction``, ``headroles.options``, ``headroles.records`` and ``sieves``. Start with
``passages``, which picks the reader.
"""
