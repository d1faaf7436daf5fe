"""Tests of stats/assessment."""
