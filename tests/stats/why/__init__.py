"""Tests of where roles come from in queries and keys: equal to libraries, honest under their nulls."""
