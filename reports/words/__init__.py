"""Package words."""
