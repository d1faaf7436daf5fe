"""Tests of runs that ask what makes heads attend: groups of units, products of shards, and whole runs."""
