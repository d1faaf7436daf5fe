"""Tests of the answers of runs: their counts are those of the tables."""
