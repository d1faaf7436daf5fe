"""Runs that judge a table of scores: runs of the kind ``label`` whose scores another tool made.

``table.py`` reads the table as scores and rules, and ``run.py`` has the public function.
"""
