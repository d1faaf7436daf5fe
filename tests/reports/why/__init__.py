"""Pages, figures, tables and sentences of runs that ask where roles come from."""
