"""The answer of a run in a few plain sentences, counted from the tables that stand below them.

Page, terminal and notebook show the same sentences. Each kind of run has its own module.
"""
