"""Runs that may stop: where they stop, that workers and kills change no byte of them, what they refuse."""
