"""Tests of removing heads with a certificate."""
