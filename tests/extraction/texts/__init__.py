"""Tests of extraction/texts."""
