"""Words about heads with several roles: by layer, and whether the middle layers have most of them."""

import math

from headroles.records.assessment import MIDDLE, NEAR, NEARER, ExtremeP
from headroles.records.numbers import p_text, share, two_decimals, with_range
from headroles.records.table import Row, Table

CAPTION = (
    "A role with parts, such as delimiter, counts only where the head holds none of them. Whiskers: where "
    "the numbers lie in 95\u00a0% of fresh samples of as many inputs. Heads and layers are not a sample."
)


def layers_sentence(rows: Table) -> str:
    """Return how many roles heads hold, in a sentence.

    Args:
        rows: Those of one run, all layers first.
    """
    whole = rows[0]
    held = with_range(*map(two_decimals, (whole.mean, whole.mean_low, whole.mean_high)))
    several = with_range(*map(share, (whole.several, whole.several_low, whole.several_high)))
    return f"A head holds {held} roles on average; {several} of heads hold two or more."


def middle_row(rows: Table) -> Row | None:
    """Return the row of the middle layers; None where there are too few layers."""
    return next((row for row in rows if row.scope == MIDDLE), None)


def middle_sentence(rows: Table) -> str:
    """Return whether the middle layers have most heads with several roles; "" where they were not compared.

    Args:
        rows: Those of one run.
    """
    row = middle_row(rows)
    if row is None:
        return ""
    p = p_text(row.p)
    return (
        f"Middle third of layers less the others: {surplus_text(row)} percentage points of "
        f"such heads "
        f"({middle_verdict(row)}, p {'' if p.startswith('<') else '= '}{p} over inputs). "
        f"Of all choices of as many layers, {share(row.reference)} have a surplus at least as large."
    )


def surplus_text(row: Row) -> str:
    """Return the surplus of the middle layers in percentage points, with its interval."""
    return with_range(*(points(value) for value in (row.several, row.several_low, row.several_high)))


def points(value: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return "–" if math.isnan(value) else f"{100 * value:+.0f}".replace("-", "−")


def middle_verdict(row: Row) -> str:
    """Return what the inputs say about the surplus of the middle layers, in a few words.

    Args:
        row: That of the middle layers; the interval, two-sided, decides.
    """
    if row.several_low > 0:
        return "a surplus"
    return "a deficit" if row.several_high < 0 else "undetermined"


def extremes_sentence(counts: ExtremeP) -> str:
    """Return how many p values lie near 0 or 1, in a sentence; "" without a test."""
    if not counts.tests:
        return ""
    return (
        f"{counts.near:,} of {counts.tests:,} p ({percent(counts.share)}) lie near 0 or 1, "
        f"below {NEAR:g} or above {1 - NEAR:g}; "
        f"{counts.nearer:,} ({percent(counts.share_nearer)}) below {NEARER:g} or above {1 - NEARER:g}."
    )


def percent(value: float) -> str:
    r"""Return a share in per cent with one decimal, as the published claim is one of 98 % against 97 %.

    Example:
        >>> percent(0.975), percent(float("nan"))
        ('97.5\xa0%', '–')
    """
    return "–" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"
