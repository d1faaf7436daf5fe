"""Package methods."""
