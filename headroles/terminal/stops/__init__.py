"""What a terminal shows of a run that may stop while it is made; a newcomer starts with ``looks``."""
