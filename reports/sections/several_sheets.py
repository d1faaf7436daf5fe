"""Table of p values near 0 or 1, of one run and of several."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.assessment import count_extreme_p
from headroles.records.numbers import percent_text
from headroles.records.table import SHARE, Column, Table, counted

P_VALUES = Table("", "p values near 0 or 1", "a role", (
    Column("role", "The role, or all roles together.", str, "p of"),
    counted("tests", "P values that are numbers.", "tests"),
    counted("below_0.05", "Those below 0.05.", "below 0.05"),
    counted("above_0.95", "Those above 0.95.", "above 0.95"),
    Column("share", "Share of p values below 0.05 or above 0.95.", float, "share", percent_text,
           within=SHARE),
    counted("below_0.01", "Those below 0.01.", "below 0.01"),
    counted("above_0.99", "Those above 0.99.", "above 0.99"),
    Column("share_0.01", "Share of p values below 0.01 or above 0.99.", float, "their share", percent_text,
           within=SHARE),
))  # fmt: skip
P_OF_RUNS = replace(
    P_VALUES.describe("role", heading="role"),
    columns=(
        Column("run", "Name of the run.", str, "run"),
        *P_VALUES.describe("role", heading="role").columns,
    ),
)


def p_row(role: str, p: Float[np.ndarray, "..."]) -> dict[str, Any]:
    """Return a row of ``P_VALUES``.

    Args:
        role: Its name.
        p: P values of its heads before correction, of any shape; NaN without a test.
    """
    near = count_extreme_p(p)
    return {
        "role": role, "tests": near.tests, "below_0.05": near.low, "above_0.95": near.high,
        "share": near.share, "below_0.01": near.lowest, "above_0.99": near.highest,
        "share_0.01": near.share_nearer,
    }  # fmt: skip


def p_table(p_values: Sequence[tuple[str, Float[np.ndarray, " heads"]]]) -> Table:
    """Return how many p values lie near 0 or 1, one line per role, and one for all.

    Args:
        p_values: Names of roles, and p of their heads before correction; NaN without a test.
    """
    whole = np.concatenate([p for _, p in p_values] or [np.empty(0)])
    return P_VALUES.rows(p_row(role, p) for role, p in (*p_values, ("all roles", whole)))
