"""Tests of sieves."""
