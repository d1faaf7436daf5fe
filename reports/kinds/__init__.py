"""Kinds of results: the words and the answer of each, and the module that builds its report.

Renderers know none of them; ``headroles.kinds`` names the report of every result. Start at ablate.py and
ablate_report.py.
"""
