"""Package judging."""
