"""Options of commands that take heads out: ``ablate`` tests the damage, ``prune`` removes heads for good."""
