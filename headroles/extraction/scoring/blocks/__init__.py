"""Package blocks."""
