"""Tests of the roles of a label run that other kinds of run ask about."""
