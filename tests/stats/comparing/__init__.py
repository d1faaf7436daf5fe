"""Tests of stats/comparing."""
