"""Package weights."""
