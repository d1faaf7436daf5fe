"""Package probing."""
