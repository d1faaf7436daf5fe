"""Tests of runs that take heads out: labels on other units than damage, and whole runs on planted models."""
