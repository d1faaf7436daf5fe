"""Package print."""
