"""Tests, and the made-up runs they share."""
