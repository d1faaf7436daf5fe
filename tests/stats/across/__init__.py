"""Tests of stats/across."""
