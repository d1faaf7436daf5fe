"""Package language."""
