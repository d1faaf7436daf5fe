"""Gold annotation from files: trees, coreferent mentions and words, with one module for each layout.

These modules import records, errors and ``extraction.texts``, and no other folder of extraction.
Start at ``read``, which finds the layout of a file and calls its reader.
"""
