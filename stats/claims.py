"""Claims about heads together, as records."""

from headroles.records.clusters import Claim

Row = tuple[float, float, float]
"""Estimate, and lower and upper end of its interval."""


def unplaced(name: str, subject: str, measure: str, row: Row, counted: tuple[int, int]) -> Claim:
    """A claim without p.

    Args:
        name: What is claimed.
        subject: Of what; "" for all heads.
        measure: Name of the number.
        row: The number with its interval.
        counted: Heads, and units.

    Example:
        >>> unplaced("split halves agree", "", "adjusted Rand", (0.8, 0.7, 0.9), (144, 500)).placements
        0
    """
    estimate, low, high = row
    heads, units = counted
    return Claim(name, subject, measure, estimate, low, high, float("nan"), 0, "", heads, units)
