"""Tests of extraction/capture."""
