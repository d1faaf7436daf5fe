"""The arms of a run: opening model and roles, laying out heads and sets, and writing damages into a table."""
