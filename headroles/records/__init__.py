"""Package records."""
