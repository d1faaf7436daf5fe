"""Sentences, names and numbers as text.

The page, the terminal and the tables for print share them, so they never differ. A module here may import
the records of runs, but no figure, section or template. Start at words.py; the other
files hold the words of one kind of run each.
"""
