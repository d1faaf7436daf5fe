"""Package assessment."""
