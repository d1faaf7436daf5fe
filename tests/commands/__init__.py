"""Commands from end to end on a planted model, and runs that are set side by side."""
