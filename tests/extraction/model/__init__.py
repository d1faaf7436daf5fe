"""Tests of extraction/model."""
