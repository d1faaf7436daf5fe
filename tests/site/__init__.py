"""Tests of the documentation site as its readers see it."""
