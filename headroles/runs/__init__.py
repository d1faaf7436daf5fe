"""Package runs."""
