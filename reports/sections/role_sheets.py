"""Roles with their heads by decision and the strongest head, and the trend of every role over layers."""

import math
from dataclasses import replace
from typing import Any

from headroles.records.assessment import DEPTH, VALUES
from headroles.records.findings import DECISIONS
from headroles.records.numbers import mean
from headroles.records.table import (
    COUNT,
    ENDS,
    MISSING,
    Cell,
    Column,
    Row,
    Sheet,
    Table,
    chance,
    counted,
)
from headroles.reports.summary import Role, Summary, Support
from headroles.reports.words.words import Interval


def _only_with(name: str, fact: str) -> Any:
    """Return the writer of a count, of the roles that have something."""
    return lambda row: Cell(f"{getattr(row, name):,}", getattr(row, name)) if getattr(row, fact) else MISSING


def _strongest(row: Row) -> Cell:
    if row.layer is None:
        return Cell("none", math.nan)
    return Cell(f"{row.layer}-{row.head}", row.layer + row.head / 1000)


def _steady(row: Row) -> Cell:
    return Cell(f"{row.steady}/{row.labels}", row.steady / row.labels) if row.labels else MISSING


def _interval_columns(name: str, meaning: str, heading: str) -> tuple[Column, ...]:
    ends = (f"{name}_low", f"{name}_high")
    if name == "mean":
        ends = ("low", "high")
    return (
        Column(name, meaning, float, f"{heading} {ENDS}", mean, ends),
        Column(ends[0], "Lower end of its 95 % interval."), Column(ends[1], "Upper end."),
    )  # fmt: skip


ROLES = Table("", "Roles", "a role", (
    Column("role", "The role.", str, "role"),
    counted("heads", "Heads with the role.", "heads", short="role"),
    counted("tested", "Heads that were tested.", "heads of tested",
            cell=lambda row: Cell(f"{row.heads}/{row.tested}", row.heads)),
    counted("not", "Heads that are not.", "not"),
    counted("undetermined", "Heads that are undetermined.", "undetermined", short="unde-\nter-\nmined"),
    counted("untestable", "Heads that could not be tested.", "untestable", short="untest-\nable"),
    Column("threshold", "Mean chance value plus the margin.", float, "threshold", "{:.3f}".format),
    Column("layer", "Layer of the head with the largest mean; none without a role.", "int | None",
           within=COUNT),
    Column("head", "This head.", "int | None", "strongest head", cell=_strongest, short="strongest\nhead",
           within=COUNT),
    *_interval_columns("mean", "Its mean.", "its mean"),
    chance("q", "Its q.", "q"),
    counted("explained", "Heads that are explained by the contrast.", "explained", short="ex-\nplained",
            cell=_only_with("explained", "has_contrast")),
    counted("absent", "Heads whose mean lies around chance.", "absent",
            cell=_only_with("absent", "has_bounds")),
    counted("strong", "Heads that hold the role beyond its second contrast, too.", "strong",
            cell=_only_with("strong", "has_second")),
    *_interval_columns("contrast", "Mean of its contrast.", "contrast"),
    Column("contrast_threshold", "Threshold of the contrast."),
    *_interval_columns("difference", "Its mean less that of the baseline.", "difference to baseline"),
    counted("steady", "Labels that fresh samples give again.", "stable labels", cell=_steady, short="stable"),
    counted("labels", "Labels whose stability is known."),
    Column("has_contrast", "Whether the role has a contrast.", bool),
    Column("has_bounds", "Whether heads can be absent.", bool),
    Column("has_second", "Whether the role has a second contrast.", bool),
))  # fmt: skip


def roles_table(summary: Summary) -> Table:
    """Return one line per role: heads by decision, the strongest head, and stable labels.

    Args:
        summary: What the page may say.
    """
    supports = summary.supports or (None,) * len(summary.roles)
    return ROLES.rows(_row(summary, *pair) for pair in zip(summary.roles, supports, strict=True))


def _row(summary: Summary, role: Role, firmness: Support | None) -> dict[str, Any]:
    head, tally = role.strongest, role.tally
    known = firmness is not None and firmness.steady is not None
    intervals: dict[str, float] = {}
    contrast, beyond = (head.contrast, head.beyond) if head else (None, None)
    for name, ends in (("contrast", contrast), ("difference", beyond)):
        own = _ends(ends)
        intervals |= {name: own[0], f"{name}_low": own[1], f"{name}_high": own[2]}
    score, low, high = _ends(head.score if head else None)
    q = math.nan if head is None else summary.of("q", role.position)[head.layer * summary.heads + head.head]
    return {
        "role": role.sieve, "heads": tally.role, "tested": tally.tests, "not": tally.not_role,
        "undetermined": tally.undetermined, "untestable": tally.untestable, "threshold": role.threshold,
        "layer": summary.stack.numbers[head.layer] if head else None, "head": head.head if head else None,
        "q": q, "explained": tally.explained, "absent": tally.absent, "strong": tally.strong,
        "contrast_threshold": role.contrast_threshold,
        "steady": firmness.steady if firmness and known else 0,
        "labels": firmness.labels if firmness and known else 0,
        "has_contrast": bool(role.contrast), "has_bounds": bool(role.bounded),
        "has_second": bool(role.stronger),
        "mean": score, "low": low, "high": high, **intervals,
    }  # fmt: skip


def _ends(ends: Interval | None) -> tuple[float, float, float]:
    return (ends.mean, ends.low, ends.high) if ends else (math.nan,) * 3


def roles_sheet(summary: Summary, only: tuple[str, ...], width: str = "") -> Sheet:
    """Return some columns of ``roles_table``, in their order, after the role.

    Columns of contrasts, of explained, absent and strong heads, of differences to baselines and of stable
    labels are there where a role has any.

    Args:
        summary: What the page may say.
        only: Names of columns of ``ROLES``.
        width: As for ``Table.sheet``; in terminals contrasts stand without intervals.
    """
    table = roles_table(summary)
    heads = [role.strongest for role in summary.roles]
    there = {
        "explained": table["has_contrast"].any(), "contrast": table["has_contrast"].any(),
        "absent": table["has_bounds"].any(), "strong": table["has_second"].any(),
        "difference": any(head and head.beyond for head in heads),
        "steady": any(firmness.steady is not None for firmness in summary.supports),
    }  # fmt: skip
    if width:
        table = table.describe("contrast", short="con-\ntrast", ends=())
        table = table.describe("mean", short=f"mean {ENDS}")
    return table.sheet(width, only=["role", *(name for name in only if there.get(name, True))])


def verdict_sheet(summary: Summary) -> Sheet:
    """Return the columns of ``roles_table`` that the page shows where a paragraph per role is too long."""
    names = (
        "heads", "strong", "explained", "not", "absent", "undetermined", "untestable", "threshold", "head",
        "mean", "difference", "steady",
    )  # fmt: skip
    return replace(roles_sheet(summary, names), name="Verdicts")


def values_table(summary: Summary, drops: Table) -> Table:
    """Return scores by attention and by norm-weighted attention, and the verdict, of every head by role.

    Args:
        summary: Of the run, which has the verdicts.
        drops: Those of the run.
    """
    places, verdicts = {role.sieve: role for role in summary.roles}, []
    for row in drops:
        role = places[row.sieve]
        code = int(summary.decided(role.position)[row.layer * summary.heads + row.head])
        verdicts.append(
            "parked" if DECISIONS[code] == "role" else role.verdict if code == 4 else DECISIONS[code]
        )
    verdict = Column("verdict", "The verdict of the run.", str, "verdict")
    table = replace(VALUES, columns=(*VALUES.columns, verdict), data={})
    return table.of(**drops.numbered(summary.stack).data, verdict=verdicts)


def depth_sheet(summary: Summary) -> Sheet:
    """Return the trend and the thirds of every role; no rows where the run did not compute them."""
    known = {depth.sieve: depth for depth in (summary.assessment.depth if summary.assessment else ())}
    return DEPTH.rows(vars(known[role.sieve]) for role in summary.roles if role.sieve in known).sheet()
