"""Package terminal."""
