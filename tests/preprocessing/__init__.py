"""Tests of preprocessing."""
