"""The roles of a label run that other kinds of run ask about: who holds them, and their cells on inputs."""
