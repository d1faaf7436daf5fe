"""Package sections."""
