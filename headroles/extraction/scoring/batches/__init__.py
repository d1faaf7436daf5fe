"""Package batches."""
