"""Conversion of files of older tools into files that commands of headroles read.

``pickles.py`` reads pickles without running anything in them, and ``arrays.py`` builds their arrays.
``maps.py``, ``scores.py`` and ``trees.py`` turn what old files hold into attention maps, tables of scores and
lines of trees. These modules may import from ``maps``, ``extraction``, ``options`` and ``records``. Start
with ``convert.py``.
"""
