"""Tests of interventions on heads."""
