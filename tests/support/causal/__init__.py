"""Models whose heads are written by hand, and made-up damages, runs that take heads out, and prunings."""
