"""Tests of the examples that ship beside the package."""
