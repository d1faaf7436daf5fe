"""Tests of stats/probes."""
