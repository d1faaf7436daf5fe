"""Tests of views and of what they take from runs."""
