"""Tests of reports/print."""
