"""Package preprocessing."""
