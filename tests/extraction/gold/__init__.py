"""Tests of extraction/gold."""
