"""Figures of the page as plain dictionaries in plotly's JSON, each with its sentence, caption and table.

Colours are CSS variables, which the page fills in. The page's script of plotly knows scatter and bar charts
only. A module here may import reports.summary and reports.words, but no section and no template. Start at
drawing.py for the common layout; figures of roles stand in reports.label_figures.
"""
