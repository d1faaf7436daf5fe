"""Package parsing."""
