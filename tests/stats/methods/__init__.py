"""Tests of stats/methods."""
