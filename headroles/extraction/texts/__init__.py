"""Package texts."""
