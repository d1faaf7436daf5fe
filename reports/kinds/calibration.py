"""The error rates of a run's test and correction, known from simulations that reports carry."""

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from headroles.records.numbers import isolate, share
from headroles.records.rules.rule import Decision
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
    "every head at the threshold: runs with a false one", "worst for",
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
    decision, data, account = summary.decision, _data(), summary.account
    rates = data["tests"].get(decision.test, {}).get(decision.correction)
    name = f"{decision.test} with {'no correction' if decision.correction == 'none' else decision.correction}"
    if rates is None:
        return Fold(TITLE, [Text(f"The error rates of {name} were not simulated.", "")], "calibration")
    tested = [
        (int(counts.min()), role.sieve)
        for role in summary.roles
        if (counts := summary.of("count", role.position)[~np.isnan(summary.of("p", role.position))]).size
    ]
    (least, fewest), most = min(tested, default=(0, "")), max((count for count, _ in tested), default=0)
    units = nearest_simulated(least, data["units"])
    known = {
        setting: [rates[str(units)][f"{setting}, {side}"] for side in SIDES] for setting in ("mixed", "null")
    }
    here = f"{least:,}" if least == most else f"between {least:,} ({isolate(fewest)}) and {most:,}"
    further = f"; {units} is the next smaller number simulated" * (least > units)
    if least < units:
        further = f"; {units} is the smallest number simulated, and errors can be more frequent with fewer"
    runs = "{} of the runs had a false role (most with {}) and {} a false not (most with {})"
    shares = "{} of the roles were false (most with {}) and {} of the nots (most with {})"
    mixed, null = (
        form.format(*(part for rate in known[setting] for part in (_range(rate), rate[3])))
        for form, setting in ((shares if decision.correction in SHARES else runs, "mixed"), (runs, "null"))
    )
    joint = decision.family != "sieve" or any(role.together for role in summary.roles)
    parts = [
        (f"How often {name} errs was simulated with one sieve’s heads and {data['scores']} kinds of scores, "
         f"made and real, at a level of {share(data['alpha'])}.", True),
        (f"The roles here have {here} units{further}.", True),
        (f"Where some heads lie above the threshold, {mixed}.", True),
        (f"Where every head lies exactly at the threshold, {null}.", True),
        (f"The level of this run, {decision.alpha:g}, was not simulated.", decision.alpha != data["alpha"]),
        ("Families other than the heads of one sieve were not simulated.",
         joint and decision.correction != "none"),
        ("Roles with a contrast, for which two tests must agree, were not part of it.",
         any(role.contrast for role in summary.roles)),
        ("Scores were simulated as means over units; accuracies pooled over items were not.",
         account.statistic == "accuracy"),
        ("The real scores among them are selectivities; those of this run are not "
         f"({isolate(account.statistic)}).", account.statistic not in ("accuracy", "selectivity", "score")),
        (f"“Not” needs at least {ENOUGH_FOR_NOT} units, whatever its error.",
         least < max(ENOUGH_FOR_NOT, data["units"][0])),
    ]  # fmt: skip
    rows = []
    for number in data["units"]:
        for side in SIDES:
            found = [rates[str(number)][f"{setting}, {side}"] for setting in ("mixed", "null")]
            texts = [text for rate in found for text in (_range(rate), str(rate[3]))]
            rows.append((Cell(str(number), number), *(Cell(text, text) for text in (side, *texts))))
    return Fold(
        TITLE,
        [
            Text(" ".join(text for text, there in parts if there), "lead"),
            Grid(Sheet(TITLE, HEADER, tuple(rows))),
            Text("From the least to the most false labels over kinds of scores and ties between heads. Every "
                 "head at the threshold is the worst case; real heads mostly lie far from it."),
        ],
        "calibration",
    )  # fmt: skip


def measured_rate(decision: Decision, units: int) -> float:
    """Return the largest rate of false roles that simulations of a test with so many units showed.

    It is the largest over all kinds of scores, where some heads lie above the threshold: the share of false
    roles, or how often a family had one, as the correction promises. NaN for what was not simulated.
    """
    data = _data()
    rates = data["tests"].get(decision.test, {}).get(decision.correction)
    if rates is None:
        return math.nan
    return float(rates[str(nearest_simulated(units, data["units"]))]["mixed, role"][1])


def nearest_simulated(units: int, simulated_units: list[int]) -> int:
    """Return the largest simulated number of units that a run reaches; the smallest where it reaches none.

    Example:
        >>> [nearest_simulated(units, [20, 50, 128]) for units in (7, 60, 900)]
        [20, 50, 128]
    """
    return max((number for number in simulated_units if number <= units), default=min(simulated_units))


def _range(errors: list[Any]) -> str:
    """Return the lowest and the highest error in per cent, with one decimal below 10."""
    low, high = (f"{100 * rate:.1f}" if rate < 0.1 else f"{100 * rate:.0f}" for rate in errors[:2])
    return f"{low} to {high}\u00a0%"
