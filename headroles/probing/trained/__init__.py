"""Package trained."""
