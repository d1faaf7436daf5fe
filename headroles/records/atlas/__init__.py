"""Records of an atlas: several label runs on one page, with what each found and how far they agree.

Start with ``atlas.Atlas``.
"""
