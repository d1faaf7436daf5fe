"""Runs that may stop before all inputs are read: a look at all heads, and where and why a run stopped.

These records hold counts and decisions only; ``headroles.runs.label.until`` makes them.
"""
