"""Tests of extraction/parsing."""
