"""Tests of converting files of older tools."""
