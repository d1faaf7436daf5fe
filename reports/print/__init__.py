"""Figures and tables for papers:

figures with print colours and legends as SVG, PDF or PNG, and tables as Markdown, LaTeX or CSV. A module here
may import every other folder of reports. Start at figures.py and tables.py, whose figures_of() and
table text the public functions figures() and table() write.
"""
