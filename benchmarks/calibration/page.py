"""Write the page of tables from the figures alone: what was simulated, and which promises hold or do not."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import across_tables
import column_tables
import intervention_tables
import origin_tables
import tables
from limits import Cell, Figure, covers, error_of, errors, limits
from plots import PICTURES
from summary import summary

Data = dict[str, Any]
SIDES = ("role", "not")
WATCHED = (
    ("t-skew", "holm", "null", "FWER"),
    ("t-skew", "maxT", "null", "FWER"),
    ("t-skew", "fdr_bh", "mixed", "FDR, some heads beyond θ"),
    ("t", "holm", "null", "FWER"),
    ("sign-flip", "maxT", "null", "FWER"),
)
"""Errors whose excess is reported in words."""
CLEAR = 0.06
"""An error is reported when it is above this, and above alpha by two standard errors."""


def limits_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the promises and their worst cells as a table."""
    return tables.table(
        ["promise", "cells", "limit", "worst", "standard error", "where", "held"],
        [
            [
                row["promise"],
                row["cells"],
                row["limit"],
                tables.share(row["worst"], 4),
                tables.share(row["standard_error"], 4),
                row["at"],
                "yes" if row["held"] else "**no**",
            ]
            for row in rows
        ],
    )


def beyond(figures: Iterable[Figure]) -> list[Figure]:
    """Return the errors that are clearly above alpha."""
    return [figure for figure in figures if figure[0] > CLEAR and figure[0] - 2 * figure[1] > 0.05]


def _excess_text(cells: list[Cell], figures: Callable[[Cell], list[Figure]]) -> str:
    """Return the clear excesses of one error in words, by population, the largest over correlations."""
    phrases = []
    for name in dict.fromkeys(cell["population"] for cell in cells):
        own = [cell for cell in cells if cell["population"] == name]
        parts = []
        for units in tables.sizes(own):
            above = beyond(figure for cell in own if cell["units"] == units for figure in figures(cell))
            if above:
                parts.append(f"{tables.share(max(above)[0], 2)} at {units}")
        if parts:
            phrases.append(f"{name} {', '.join(parts)}")
    return "; ".join(phrases) or f"nowhere above {CLEAR:g}"


def excesses(data: Data) -> list[str]:
    """Return one line for every error in ``WATCHED`` and direction."""
    lines = []
    for test, correction, setting, words in WATCHED:
        for side in (0, 1):
            figures = partial(errors, test=test, correction=correction, setting=setting, sides=(side,))
            text = _excess_text(data["cells"], figures)
            lines.append(f"- **{test} with {correction}, {SIDES[side]}** ({words}): {text}.")
    text = _excess_text(data["cells"], tables.equivalence_errors)
    return [*lines, f"- **equivalence, t-skew with holm** (FWER, either bound): {text}."]


def uncovered(data: Data) -> list[str]:
    """Return a line for every interval that covers less than 93 % or more than 97 %."""
    intervals: dict[str, list[str]] = {}
    for cell in data["cells"]:
        for value, error, at in covers(cell):
            if min(abs(value - 0.93), abs(value - 0.97)) > 2 * error and not 0.93 <= value <= 0.97:
                name = at.split(",")[0]
                intervals.setdefault(name, []).append(
                    f"{cell['population']} {tables.share(value)} at {cell['units']}"
                )
    return [f"- **interval {name}**: {', '.join(cells)}." for name, cells in intervals.items()]


SIMULATED = """## What was simulated

A run is one sieve, with all its heads over n units ({units}). They are tested and corrected together at
alpha {alpha:g}, roles and nots apart. Tests, corrections and intervals are the shipped code. Means lie
*exactly* at θ, the worst case of every null. Mixed runs differ: of every twelve heads one each lies {effects}
standard deviations from θ, and eight lie at θ.

{shapes}
Simulated runs have {heads} heads in blocks of {block}. A Gaussian copula of correlation
{correlations} ties the heads of a block (0: independent). It leaves every head's own distribution as it is.

Real scores: {real}.
Each head of a role is shifted so that its mean over all units is exactly θ. Units are drawn with replacement,
all heads at once. So the dependence between heads stays as it is.

{scored}
Runs: t-skew with holm and fdr_bh {runs[1]} a cell on normal scores and {runs[5]} on others; maxT by bootstrap
{runs[5]} where a limit is set, {runs[20]} elsewhere and in mixed runs; other closed tests and other
corrections {runs[10]}; wilcoxon and sign {runs[40]}; bootstrap-t, sign-flip and maxT by sign flips
{runs[100]}; equivalence {runs[20]}. The standard error of a share r of the runs is √(r(1 − r)/runs): at 0.05
it is {known}.
For power and FDR that is the most it can be. The largest of many cells lies above its own truth by one or two
standard errors. Resamples: bootstrap-t and sign-flip {test:,}, maxT {maxT:,}, bca {bca:,}; one set of draws
serves a few runs at once. Seed {seed}.
"""


def simulated(data: Data) -> list[str]:
    """Describe the simulation."""
    about = data["about"]
    rows: dict[bool, list[list[str]]] = {False: [], True: []}
    for population in about["populations"]:
        real = population["kind"] == "real"
        skewness = population["skewness"]
        facts = [population["heads"], population["units"], *skewness]
        facts = facts if real else [population["in_words"], skewness[1]]
        rows[real].append([population["name"], *map(str, facts), str(population["kurtosis"])])
    header = ["scores", "heads", "units", "least skewness", "median", "most", "median kurtosis"]
    text = SIMULATED.format(
        units=", ".join(map(str, about["units"])),
        alpha=about["alpha"],
        effects=", ".join(f"{d:+g}" for d in about["effects"]),
        shapes="\n".join(tables.table(["scores", "distribution", "skewness", "kurtosis"], rows[False])),
        heads=next((item["heads"] for item in about["populations"] if item["kind"] != "real"), 0),
        block=about["block"],
        correlations=", ".join(f"{correlation:g}" for correlation in about["correlations"]),
        real=about["real"],
        scored="\n".join(tables.table(header, rows[True])) if rows[True] else "",
        runs={part: f"{about['runs'] // part:,}" for part in (1, 5, 10, 20, 40, 100)},
        known=", ".join(
            f"{error_of(0.05, about['runs'] // part):.4f} with {about['runs'] // part:,}"
            for part in (1, 5, 20, 100)
        ),
        seed=about["seed"],
        **about["draws"],
    )
    return text.split("\n")


FAILING = """## What is not calibrated

An error is listed where it is above {clear:g}, and above {alpha:g} by two standard errors. It is written as
"error at n", and is the largest over the correlations. Intervals are listed where they cover less than
0.93 or more than 0.97 by two standard errors.

{excesses}

Why: t-skew uses the skewness of the sample as that of the scores. Under heavy tails and with few units
that is noise, and the far tail, where a corrected p lies, suffers first. The same holds for real heads of the
largest kurtosis (table below): a few inputs hold much of their variance. Student's t ignores skewness
and errs under it instead; maxT takes the far tail from resamples of the units. wilcoxon and sign test other
parameters than the mean, which no number of units corrects. That *all* heads lie at θ is the worst case; real
heads mostly lie far from it. Below 50 units headroles never says "not", and says "equivalent" only where the
bounds of the scores give it: errors at n = 20 are those of the bare tests. These figures are without the
guard against claims that hinge on few units, and of four sieves. Figures of all default columns, relations
and contrasts beyond distance included, are in a section below. Not simulated: maxT for equivalence.
"""


def failing(data: Data) -> list[str]:
    """Describe the errors that are not calibrated."""
    text = FAILING.format(
        clear=CLEAR,
        alpha=data["about"]["alpha"],
        excesses="\n".join(excesses(data) + uncovered(data)),
    )
    return text.split("\n")


COLUMNS = """## All default columns on real scores

The embedded model scored dev rows of {tasks} ({least} to {most} units). This gives {columns} columns
(`columns.py` in the same folder as `simulate.py`). `block` is judged beyond position where the task has
pairs of inputs. Units are drawn with replacement, and the test is t-skew. Each simulation has
{runs:,} runs (standard error of a share of 0.05: {error:.3f}). A cell of a table has the median over tasks
and columns / the largest.
"Beyond" is a false role, or a false "beyond its margin" of a contrast. "Below" is a false "not", or a false
"below its margin" of a contrast, which can make a false "explained". "Bare" is the test alone. "Guarded" is
what headroles decides: a claim that hinges on few units is withheld ([statistics](statistics.md), section 2).
The floor of 50 units for "not" is applied only in the tables of decisions and labels.

"""


def columns_simulated(data: Data) -> list[str]:
    """Describe the simulation of all default columns, and give its tables; nothing where it was not run."""
    cells = column_tables.column_cells(data)
    if not cells:
        return []
    runs = data["columns"]["about"]["runs"]
    wholes: dict[str, int] = {}
    for cell in cells:
        wholes[cell["task"]] = max(cell["of"], wholes.get(cell["task"], 0))
    text = COLUMNS.format(
        columns=len({(cell["task"], cell["sieve"]) for cell in cells}),
        least=min(wholes.values()),
        most=max(wholes.values()),
        tasks=", ".join(dict.fromkeys(cell["task"] for cell in cells)),
        runs=runs,
        error=error_of(0.05, runs),
    )
    lines = [*text.rstrip("\n").split("\n"), ""]
    for title, section in COLUMN_SECTIONS:
        lines += [f"### {title}", "", *section(data)]
    return lines


COLUMN_SECTIONS = (
    ("Errors that are left with the guard", column_tables.notable),
    ("One column, its heads at θ: runs with a false claim under holm", column_tables.families),
    ("One column, true heads where they are: share of false claims under fdr_bh", column_tables.mixtures),
    (
        "Decisions with their contrast, as it is and at its margin: runs with a false one under holm",
        column_tables.decisions,
    ),
    ("Labels of a run under fdr_bh, mean over runs: what the guard withholds", column_tables.kept),
    ("95 % intervals of single heads", column_tables.intervals),
    ("The role parked: runs with a false claim under holm", column_tables.parked),
)

SECTIONS = (
    ("One head at θ: share rejected at 0.05, role / not", lambda data: tables.rates(data, "0.05", 1.0, 3)),
    (
        "One head at θ: share rejected at 0.05/144, in multiples of 0.05/144, role / not",
        lambda data: tables.rates(data, "0.05/144", 144 / 0.05, 1),
    ),
    ("All heads at θ: runs with a false role / a false not, t-skew", tables.family_wise),
    ("The same on recentred real scores", tables.family_wise_real),
    ("FDR of t-skew with fdr_bh, role / not", tables.discoveries),
    ("Every test with every correction: all heads at θ, n = 128, role / not", tables.everything),
    ("Power: true roles found at d = 0.3 / 0.5, normal scores, mixed runs", tables.power),
    ("Power of holm and maxT (t-skew) where heads correlate, normal scores", tables.gains),
    ("95 % intervals: covered (missed above the mean, below it)", tables.coverage),
    ("95 % interval of Hedges' g: covered, normal scores", tables.effects),
    ('Equivalence: false "equivalent" with every difference at the upper / lower bound', tables.equivalence),
)


def page(data: Data) -> str:
    """Return the whole page of tables."""
    lines = [
        "# Calibration tables",
        "",
        "These are error rates of headroles where the truth is known. `benchmarks/calibration/simulate.py`",
        "makes them. [`calibration.md`](calibration.md) is the summary. Every number here is from",
        "`calibration.json`, which also has figures left out here.",
        "",
        "## Limits",
        "",
        *limits_table(limits(data) + column_tables.column_limits(data)),
        *failing(data),
        *simulated(data),
        *columns_simulated(data),
        *intervention_tables.interventions(data),
        *across_tables.across(data),
        *origin_tables.origins(data),
    ]
    for title, section in SECTIONS:
        lines += [f"## {title}", "", *section(data)]
    return "\n".join(lines).rstrip() + "\n"


def pages(data: Data) -> dict[str, str]:
    """Return every page and picture by file name: the summary, its pictures, and the tables."""
    return {
        "calibration.md": summary(data),
        "calibration-tables.md": page(data),
        **{name: draw(data) for name, draw in PICTURES.items()},
    }
