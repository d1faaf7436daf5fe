"""How results show themselves where they are typed: as HTML in notebooks, and as a few lines of text.

``notebook`` makes tables in HTML. ``brief`` is the ``repr`` of records: at most 20 lines, whatever they hold.
Both import only records and ``headroles.errors``. Start with ``brief``.
"""
