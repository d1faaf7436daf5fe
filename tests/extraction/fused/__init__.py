"""Tests of extraction/scoring."""
