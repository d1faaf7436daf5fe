"""Package clusters."""
