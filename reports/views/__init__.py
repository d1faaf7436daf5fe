"""Package views."""
