"""Tests of the files of runs that take heads out: what is written comes back, and damage is refused."""
