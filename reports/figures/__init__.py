"""Package figures."""
