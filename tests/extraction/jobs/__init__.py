"""Tests of extraction/jobs."""
