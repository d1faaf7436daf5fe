"""Tests of extraction/views."""
