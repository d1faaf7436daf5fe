"""Package summary."""
