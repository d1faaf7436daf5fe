"""Package shards."""
