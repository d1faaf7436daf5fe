"""Tables of heads with several roles and of p values near 0 or 1."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headroles.records.assessment import ExtremeP, SeveralRoles, count_extreme_p
from headroles.records.numbers import p_text, percent, share, two_decimals
from headroles.reports.sheets import ENDS, MISSING, Cell, Sheet, columns_of_records, count_cell, range_cell

P_HEADER = ("p of", "tests", "below 0.05", "above 0.95", "share", "below 0.01", "above 0.99", "their share")
P_COLUMNS = (
    "role", "tests", "below_0.05", "above_0.95", "share", "below_0.01", "above_0.99", "share_0.01",
)  # fmt: skip


def several_sheet(rows: Sequence[SeveralRoles]) -> Sheet:
    """Return roles a head and the share of heads with several, one line per scope.

    Args:
        rows: Those of one run.
    """
    lines = tuple(
        (
            Cell(row.scope, place),
            count_cell(row.heads),
            range_cell(two_decimals, row.mean, row.mean_low, row.mean_high),
            range_cell(share, row.several, row.several_low, row.several_high),
            MISSING if math.isnan(row.p) else Cell(p_text(row.p), row.p),
            MISSING if math.isnan(row.reference) else Cell(share(row.reference), row.reference),
        )
        for place, row in enumerate(rows)
    )
    columns, values = columns_of_records(SeveralRoles, rows)
    header = (
        "layers", "heads", f"roles a head {ENDS}", f"two or more roles {ENDS}", "p", "choices as large",
    )  # fmt: skip
    return Sheet("Heads with several roles", header, lines, columns=columns, values=values)


def p_sheet(p_values: Sequence[tuple[str, Float[np.ndarray, " heads"]]]) -> Sheet:
    """Return how many p values lie near 0 or 1, one line per role, and one for all.

    Args:
        p_values: Names of roles, and p of their heads before correction; NaN without a test.
    """
    counted = [(name, count_extreme_p(p)) for name, p in p_values]
    whole = count_extreme_p(np.concatenate([p for _, p in p_values] or [np.empty(0)]))
    named = [*counted, ("all roles", whole)]
    lines = tuple((Cell(name, place), *p_cells(counts)) for place, (name, counts) in enumerate(named))
    values = tuple((name, *p_numbers(counts)) for name, counts in named)
    return Sheet("p values near 0 or 1", P_HEADER, lines, columns=P_COLUMNS, values=values)


def p_cells(counts: ExtremeP) -> tuple[Cell, ...]:
    """Return the counts of p values near 0 or 1 as cells."""
    return (
        *(count_cell(count) for count in (counts.tests, counts.low, counts.high)),
        Cell(percent(counts.share), counts.share),
        *(count_cell(count) for count in (counts.lowest, counts.highest)),
        Cell(percent(counts.share_nearer), counts.share_nearer),
    )


def p_numbers(counts: ExtremeP) -> tuple[float, ...]:
    """Return the counts of p values near 0 or 1, and their shares with all digits."""
    return (
        counts.tests, counts.low, counts.high, counts.share, counts.lowest, counts.highest,
        counts.share_nearer,
    )  # fmt: skip
