"""Plotly figures of the page, each with its sentence, caption and table.

Colours are CSS variables, so that the page can fill in the reader's theme. A module here may import
reports.records, reports.summary and reports.words, but no section and no template. Start at panel.py for the
common layout, then run.py for the order of the figures.
"""
