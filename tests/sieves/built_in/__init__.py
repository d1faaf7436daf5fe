"""Tests of sieves/built_in."""
