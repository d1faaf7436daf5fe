"""Probes that learn to find heads of words in attention: data, models, training, and the control."""
