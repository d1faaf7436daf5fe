"""Summaries of runs for the page:

counts, strongest heads, verdicts, pairs of roles, and what was run. Nothing statistical is computed here. A
module here may import reports.records and reports.words, but no plotly and no template. Start at summary.py,
whose summarise() every label report begins with.
"""
