"""Tests of extraction/fused."""
