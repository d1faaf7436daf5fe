"""Tests of the statistics of interventions: equal to libraries on random data, honest under their nulls."""
