"""Package capture."""
