"""How a mean score and what is corrected together are worded, in notebooks and reports alike."""

import math

BOTH = ", both directions of a row together"
"""What is added to the family of probes whose rows are asked in two directions."""

FAMILIES = {
    "sieve": "the heads of one sieve",
    "run": "all heads and sieves of the run",
    "layer": "the heads of one sieve in one layer",
}


def mean(value: float) -> str:
    """A mean score, two decimals, three where the second would not show; never a zero below 0.

    Example:
        >>> mean(-0.123), mean(-0.0123), mean(-0.0001), mean(float("nan"))
        ('−0.12', '−0.012', '0.000', '–')
    """
    if math.isnan(value):
        return "–"
    text = f"{value:.2f}" if abs(value) >= 0.05 else f"{value:z.3f}"
    return text.replace("-", "−")
