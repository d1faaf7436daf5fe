"""Package jobs."""
