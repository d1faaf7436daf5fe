"""Package built_in."""
