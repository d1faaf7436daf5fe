"""Words and dependency trees of texts: parse with spaCy, keep parses in a cache, look up word vectors.

``annotate`` gives words from gold annotation, the cache or the parser; ``together`` parses several texts at
once, with token vectors of ``encoder`` and matrix products of ``products``; ``pool`` and ``process`` parse
ahead in other processes; ``packing`` turns words into bytes. Modules here may import records and other
modules of ``headroles.extraction``. A newcomer starts with ``annotate``.
"""
