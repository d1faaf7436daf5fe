"""Package probes."""
