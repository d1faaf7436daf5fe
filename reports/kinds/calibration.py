"""The error rates of a run's test and correction, known from simulations that reports carry."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from headroles.records.numbers import isolate, share
from headroles.records.table import Cell, Sheet
from headroles.reports.document import template
from headroles.reports.report import Fold, Grid, Text
from headroles.reports.summary import Summary
from headroles.stats.decision import ENOUGH_FOR_NOT

SHARES = ("fdr_bh", "fdr_by", "fdr_tsbh", "none")
"""Corrections whose error is the share of false labels; the error of the others is any false label."""
TITLE = "How often such decisions are wrong"
SIDES = ("role", "not")
HEADER = (
    "units", "label", "some heads above the threshold: false", "worst for",
    "every head at the threshold: runs with a false one",
    "worst for",
)  # fmt: skip


@cache
def _data() -> Mapping[str, Any]:
    """Return the extract of the simulations: by test, correction, units, and setting and side."""
    data: Mapping[str, Any] = json.loads(template("calibration.json"))
    return data


def calibration(summary: Summary) -> Fold:
    """Return simulated error rates of this run's decisions, some of whose sieves can be roles.

    It says the units of this run, the range of errors, the worst kind of scores, and what was not simulated.
    Its table has every simulated number of units, roles and nots separately.
    """
    decision, data = summary.decision, _data()
    rates = data["tests"].get(decision.test, {}).get(decision.correction)
    correction = "no correction" if decision.correction == "none" else decision.correction
    name = f"{decision.test} with {correction}"
    if rates is None:
        return Fold(TITLE, [Text(f"The error rates of {name} were not simulated.", "")], "calibration")
    tested = {
        role.sieve: counts
        for role in summary.roles
        if (counts := summary.of("count", role.position)[~np.isnan(summary.of("p", role.position))]).size
    }
    least, fewest = min(((int(counts.min()), sieve) for sieve, counts in tested.items()), default=(0, ""))
    most = max((int(counts.min()) for counts in tested.values()), default=0)
    units = nearest_simulated(least, data["units"])
    known = rates[str(units)]
    here = f"{least:,}" if least == most else f"between {least:,} ({isolate(fewest)}) and {most:,}"
    further = ""
    if least < units:
        further = f"; {units} is the smallest number simulated, and errors can be more frequent with fewer"
    elif least > units:
        further = f"; {units} is the next smaller number simulated"
    mixed = _runs(known, "mixed")
    if decision.correction in SHARES:
        role, no_role = (known[f"mixed, {side}"] for side in SIDES)
        mixed = (
            f"{_range(role)} of the roles were false (most with {role[3]}) and {_range(no_role)} of the nots "
            f"(most with {no_role[3]})"
        )
    parts = [
        f"How often {name} errs was simulated with one sieve’s heads and {data['scores']} kinds of scores, "
        f"made and real, at a level of {share(data['alpha'])}.",
        f"The roles here have {here} units{further}.",
        f"Where some heads lie above the threshold, {mixed}.",
        f"Where every head lies exactly at the threshold, {_runs(known, 'null')}.",
    ]
    if decision.alpha != data["alpha"]:
        parts.append(f"The level of this run, {decision.alpha:g}, was not simulated.")
    joint = decision.family != "sieve" or any(role.together for role in summary.roles)
    if joint and decision.correction != "none":
        parts.append("Families other than the heads of one sieve were not simulated.")
    if any(role.contrast for role in summary.roles):
        parts.append("Roles with a contrast, for which two tests must agree, were not part of it.")
    if summary.account.statistic == "accuracy":
        parts.append("Scores were simulated as means over units; accuracies pooled over items were not.")
    elif summary.account.statistic not in ("selectivity", "score"):
        kind = isolate(summary.account.statistic)
        parts.append(f"The real scores among them are selectivities; those of this run are not ({kind}).")
    if least < max(ENOUGH_FOR_NOT, data["units"][0]):
        parts.append(f"“Not” needs at least {ENOUGH_FOR_NOT} units, whatever its error.")
    rows = []
    for number in data["units"]:
        for side in SIDES:
            found = [rates[str(number)][f"{setting}, {side}"] for setting in ("mixed", "null")]
            texts = [text for rate in found for text in (_range(rate), str(rate[3]))]
            rows.append((Cell(str(number), number), *(Cell(text, text) for text in (side, *texts))))
    return Fold(
        TITLE,
        [
            Text(" ".join(parts), "lead"), Grid(Sheet(TITLE, HEADER, tuple(rows))),
            Text("From the least to the most false labels over kinds of scores and ties between heads. Every "
                 "head at the threshold is the worst case; real heads mostly lie far from it."),
        ],
        "calibration",
    )  # fmt: skip


def nearest_simulated(units: int, simulated_units: list[int]) -> int:
    """Return the largest simulated number of units that a run reaches; the smallest where it reaches none.

    Example:
        >>> [nearest_simulated(units, [20, 50, 128]) for units in (7, 60, 900)]
        [20, 50, 128]
    """
    return max((number for number in simulated_units if number <= units), default=min(simulated_units))


def _runs(known: Mapping[str, Any], setting: str) -> str:
    """Return the shares of runs with a false role and with a false not."""
    role, no_role = (known[f"{setting}, {side}"] for side in SIDES)
    return (
        f"{_range(role)} of the runs had a false role (most with {role[3]}) and {_range(no_role)} "
        f"a false not (most with {no_role[3]})"
    )


def _range(errors: list[Any]) -> str:
    """Return the lowest and the highest error in per cent, with one decimal below 10."""
    low, high = (f"{100 * rate:.1f}" if rate < 0.1 else f"{100 * rate:.0f}" for rate in errors[:2])
    return f"{low} to {high}\u00a0%"
