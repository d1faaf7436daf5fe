"""Package on_ray."""
