"""Tests of stats/clusters."""
