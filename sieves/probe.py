"""Kept until all probes import ``headroles.questions``."""

from headroles.questions import ChoiceProbe, DecodingProbe, Probe

__all__ = ["ChoiceProbe", "DecodingProbe", "Probe"]
