"""Networks without some of their heads: their outputs replaced by a constant, or their weights cut out.

Start with ``replace.HeadRemover``.
"""
