"""Package scoring."""
