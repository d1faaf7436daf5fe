"""Pages, figures, tables and sentences of runs that take heads out, and of pruned models."""
