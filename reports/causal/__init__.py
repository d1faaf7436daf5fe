"""Reports of runs that take heads out: their page, figures, tables and sentences.

``words.py`` names what was measured, ``answer.py`` says it in sentences, ``page.py`` puts all of it together.
"""
