"""Package long."""
