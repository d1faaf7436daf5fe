"""Folders of atlases: tables, manifest and page of several label runs, written whole and read back.

Start with ``folder.write_atlas``.
"""
