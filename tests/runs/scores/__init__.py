"""Tests of judging tables of scores."""
