"""Tests of sieves/probes."""
