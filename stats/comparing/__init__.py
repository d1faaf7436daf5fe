"""Package comparing."""
