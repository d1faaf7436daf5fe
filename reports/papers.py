"""Tables for papers: their captions, and the table of all findings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headroles.kinds import kind_of
from headroles.records.assessment import count_extreme_p
from headroles.records.findings import FINDINGS, Labelling, findings_of
from headroles.records.numbers import mean, percent_text
from headroles.records.table import ENDS, SHARE, Column, Table, counted, interval_ends
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.report import Paper


def caption(
    run: Labelling, title: str, families: Mapping[str, str], more: str = "", units: int | None = None
) -> str:
    """Return the caption of a table: what it shows, model, inputs, and how it was decided.

    Args:
        run: The run.
        title: What the table shows.
        families: Tests that are corrected together, in words, by the name of the family.
        more: Words after the inputs.
        units: Units that were tested; None for all with scores.
    """
    note = decision_sentence(run.decision, units_of(run) if units is None else units, families)
    return f"{title}{inputs_text(run.manifest)}{more}. {note}"


def captioned(
    run: Labelling, table: Table, *, families: Mapping[str, str], leave: tuple[str, ...] = ()
) -> Paper:
    """Return a table of intervals with its caption; ``leave`` names columns that only the CSV form has."""
    return Paper(table, caption(run, table.title, families, ", with 95\u00a0% intervals"), leave)


DIFFERENCE = {"difference": "mean", "difference_low": "low", "difference_high": "high"}
"""Columns of the difference to the baseline, which runs of probes have, and those they come from."""
FINDINGS_AND_MEANS = Table("", "Findings", FINDINGS.row, (
    *FINDINGS.describe("mean", ends=("mean_low", "mean_high")).columns,
    Column("mean_low", "Lower end of the 95 % interval of the mean itself."),
    Column("mean_high", "Upper end."),
    Column("difference", "The mean less the chance value.", float, f"difference {ENDS}", mean,
           ("difference_low", "difference_high")),
    *interval_ends("difference_low", "difference_high"),
))  # fmt: skip
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


def p_row(role: str, p: np.ndarray) -> dict[str, Any]:
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


def findings_table(run: Labelling) -> Paper:
    """Return every test; in runs of probes with both intervals, of the accuracy and of the difference."""
    probes, found = kind_of(run).baselines, findings_of(run)
    ends = zip(("mean_low", "mean_high"), run.mean_intervals(), strict=True)
    table = FINDINGS_AND_MEANS.of(
        **found.data,
        **{name: values.ravel() for name, values in ends},
        **{name: found[own] - found["null"] for name, own in DIFFERENCE.items()},
    )
    about = " (of the accuracy itself, and of its difference to the baseline, which is tested)" * probes
    more = f", intervals{about} not adjusted for selection"
    shown = ("sieve", "head", "count", "mean", "null", *["difference"] * probes, "effect", "q", "q_not")
    digits = [column.name for column in (FINDINGS_AND_MEANS if probes else FINDINGS).columns]
    text = caption(run, "All findings", kind_of(run).families(run), more)
    return Paper(table, text, (), (*shown, "decision"), digits)
