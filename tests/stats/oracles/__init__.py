"""Tests of stats/oracles."""
