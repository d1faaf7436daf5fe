"""Texts, from where the user keeps them to the tokens that a model reads.

Here files, folders, addresses and the hub are read into passages, and passages are tokenised.
These modules import records, errors, addresses and tasks, and no other folder of extraction.
Start at ``sources``, which reads passages, and at ``tokens``, which turns them into examples.
"""
