"""The error rates of a run's test and correction, known from simulations that reports carry."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from headroles.records.numbers import isolate, share
from headroles.records.rules.rule import Decision
from headroles.reports.document import template
from headroles.reports.records import Summary
from headroles.stats.decision import ENOUGH_FOR_NOT

SHARES = ("fdr_bh", "fdr_by", "fdr_tsbh", "none")
"""Corrections whose error is the share of false labels; the error of the others is any false label."""
SIDES = ("role", "not")
HEADER = (
    "units", "label", "some heads above the threshold: false", "worst for",
    "every head at the threshold: runs with a false one",
    "worst for",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """The error rates of one test and correction where the truth is known.

    Attributes:
        text: A paragraph for this run: its units, the range of errors, the worst kind of scores, what
            was not simulated.
        header: Column names of the table behind it; empty where nothing was simulated.
        rows: That table as text: every simulated number of units, roles and nots separately.
    """

    text: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def calibration_note(summary: Summary) -> Note | None:
    """Return simulated error rates of this run's decisions; None where no sieve can be a role.

    Args:
        summary: What the page may say.
    """
    if not summary.roles:
        return None
    decision, data = summary.decision, _data()
    known = data["tests"].get(decision.test, {}).get(decision.correction)
    name = f"{decision.test} with {_correction(decision)}"
    if known is None:
        return Note(f"The error rates of {name} were not simulated.")
    least, most, fewest = _units(summary)
    reached = nearest_simulated(least, data["units"])
    parts = [
        f"How often {name} errs was simulated with one sieve’s heads and {data['scores']} kinds of scores, "
        f"made and real, at a level of {share(data['alpha'])}.",
        _units_sentence(least, most, fewest, reached),
        _mixed(decision, known[str(reached)]),
        _null(known[str(reached)]),
        *_limits(summary, data["alpha"], least, data["units"][0]),
    ]
    rows = tuple(row for units in data["units"] for row in _rows(known[str(units)], units))
    return Note(" ".join(parts), HEADER, rows)


@cache
def _data() -> Mapping[str, Any]:
    """Return the extract of the simulations: by test, correction, units, and setting and side."""
    data: Mapping[str, Any] = json.loads(template("page/calibration.json"))
    return data


def nearest_simulated(units: int, simulated_units: list[int]) -> int:
    """Return the largest simulated number of units that a run reaches; the smallest where it reaches none.

    Example:
        >>> [nearest_simulated(units, [20, 50, 128]) for units in (7, 60, 900)]
        [20, 50, 128]
    """
    return max((number for number in simulated_units if number <= units), default=min(simulated_units))


def _correction(decision: Decision) -> str:
    """Return the name of the correction."""
    return "no correction" if decision.correction == "none" else decision.correction


def _units(summary: Summary) -> tuple[int, int, str]:
    """Return fewest and most units of a role's tested heads, and the role with the fewest."""
    counts = []
    for role in summary.roles:
        count = summary.table.of("count", role.position)
        tested = count[~np.isnan(summary.table.of("p", role.position))]
        counts += [(int(tested.min()), role.sieve)] if tested.size else []
    if not counts:
        return 0, 0, ""
    return min(counts)[0], max(counts)[0], min(counts)[1]


def _units_sentence(least: int, most: int, fewest: str, units: int) -> str:
    """Return the run's numbers of units, and the simulated number used for it."""
    numbers = f"{least:,}" if least == most else f"between {least:,} ({isolate(fewest)}) and {most:,}"
    if least < units:
        return (
            f"The roles here have {numbers} units; {units} is the smallest number simulated, and errors can "
            "be more frequent with fewer."
        )
    if least == units:
        return f"The roles here have {numbers} units."
    return f"The roles here have {numbers} units; {units} is the next smaller number simulated."


def _mixed(decision: Decision, known: Mapping[str, Any]) -> str:
    """Return the errors where some heads lie above the threshold."""
    role, no_role = (known[f"mixed, {side}"] for side in SIDES)
    if decision.correction in SHARES:
        return (
            f"Where some heads lie above the threshold, {_range(role)} of the roles were false (most with "
            f"{_worst(role)}) and {_range(no_role)} of the nots (most with {_worst(no_role)})."
        )
    return f"Where some heads lie above the threshold, {_runs(role, no_role)}."


def _null(known: Mapping[str, Any]) -> str:
    """Return the errors in the worst case."""
    errors = _runs(*(known[f"null, {side}"] for side in SIDES))
    return f"Where every head lies exactly at the threshold, {errors}."


def _runs(role: list[Any], no_role: list[Any]) -> str:
    """Return the shares of runs with a false role and with a false not."""
    return (
        f"{_range(role)} of the runs had a false role (most with {_worst(role)}) and {_range(no_role)} "
        f"a false not (most with {_worst(no_role)})"
    )


def _range(errors: list[Any]) -> str:
    """Return the lowest and the highest error."""
    return f"{percent(errors[0])} to {percent(errors[1])}\u00a0%"


def percent(rate: float) -> str:
    """Return a rate in per cent, without the sign.

    Example:
        >>> percent(0.0511), percent(0.0003), percent(0.925)
        ('5.1', '0.0', '92')
    """
    return f"{100 * rate:.1f}" if rate < 0.1 else f"{100 * rate:.0f}"


def _worst(errors: list[Any]) -> str:
    """Return the scores with the highest error."""
    return str(errors[3])


def _limits(summary: Summary, alpha: float, least: int, smallest: int) -> list[str]:
    """Return what the simulations do not cover."""
    decision, parts = summary.decision, []
    if decision.alpha != alpha:
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
    if smallest <= least < ENOUGH_FOR_NOT or least < smallest:
        parts.append(f"“Not” needs at least {ENOUGH_FOR_NOT} units, whatever its error.")
    return parts


def _rows(known: Mapping[str, Any], units: int) -> list[tuple[str, ...]]:
    """Return the errors of one number of units, roles and nots separately."""
    return [
        (
            str(units), side, *(
                text
                for setting in ("mixed", "null")
                for text in (_range(known[f"{setting}, {side}"]), _worst(known[f"{setting}, {side}"]))
            )
        )
        for side in SIDES
    ]  # fmt: skip
