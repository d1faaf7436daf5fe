"""What a person reads in the terminal of runs that take heads out: verdicts, tests of roles, and notes."""
