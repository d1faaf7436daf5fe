"""Answer, words, figures, tables, methods, page and notebook of a run of ``headroles why``."""
