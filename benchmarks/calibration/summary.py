"""Write the summary page of the calibration: a table, three pictures, and how it was measured."""

from pathlib import Path
from typing import Any

from across_tables import worst_across
from column_tables import column_cells
from intervention_tables import worst_claims
from limits import Cell, covers, errors
from origin_tables import worst_origins
from tables import made_cells, share, table

Data = dict[str, Any]
SECTIONS = Path(__file__).parent / "sections"
"""Folder of sections that are written by hand, from scripts that print lines of JSON."""
MANY = 50
"""Least number of units that the sentences speak of."""

PAGE = """# Calibration

How often is headroles wrong? We simulated heads whose true means are known, and counted false verdicts of
the shipped code. The worst case of every test is a head *exactly* at its threshold. A *family* is the heads
of one sieve, which are corrected together. At most 5 % of families should have a false verdict.

{answer}
The [tables](calibration-tables.md) behind this page have every figure. They also list every
case that is **not** calibrated.

## False roles

![Share of families with a false role, by test, number of units and shape of scores](calibration-roles.svg)

The dashed line is the nominal rate of 5 %. Rates below 0.002 are drawn at 0.002. The first four panels have
{heads} independent heads at the threshold, by the tests alone. The last panel has {columns} columns of real
runs. There every head is moved to its threshold. "As decided" is what headroles reports. It withholds
claims that hinge on few units ([statistics](statistics.md), section 2).

- The default test keeps its level for normal scores. It errs too often under heavy tails, and under skew
  with few units.
- Student's t fails under left skew, and gets better only slowly with more units.
- `maxT` keeps its level for all four shapes.

## False nots

![Share of families with a false not, by test, number of units and shape of scores](calibration-nots.svg)

The picture is the mirror of the one above: right skew deceives "not" as left skew deceives "role". Real
scores have rare high values. So the tests alone call too many heads "not", and the check on few units
prevents this. headroles never reports "not" below 50 units.

## What is found, and what intervals cover

![Share of true roles found, and coverage of intervals, by number of units](calibration-power.svg)

d is the distance of a head's mean from the threshold, in standard deviations over units. `headroles plan`
finds the number of units for your d. The default interval is that of `t-skew`.

{interventions}{across}{origins}{sections}## How it was measured

```
python benchmarks/calibration/simulate.py --out docs/reference    # made scores and four sieves
python benchmarks/calibration/columns.py runs/QNLI runs/MRPC runs/SST-2 runs/QQP --runs {column_runs}
python benchmarks/calibration/interventions.py    # verdicts of heads that are taken out
python benchmarks/calibration/simulate.py --again --out docs/reference    # pages and pictures only
```

A cell of the default test has {runs:,} runs for normal scores and {fewer:,} for others. A share of 0.05 then
has a standard error of {error} or {larger}. Real runs are of all-MiniLM-L6-v2 on dev rows of {tasks}. Inputs
are drawn with replacement, all heads at once. So heads depend on each other as in the model.
"""


INTERVENTIONS = """## Heads that are taken out

The tests of `headroles ablate` have families of their own. Each row is the largest share of runs with a false
claim, over five shapes of damage, from 75 units on. Standard error of 0.05: {error}.

{rows}
"Negligible" is the hard one. Damage that few inputs show has a right skew, and inputs that lack it have the
smallest spread. Such claims are withheld where few units carry the spread. What no input of the sample shows
cannot be known: with n inputs, something that happens in 3 of n others is missed in 5 % of samples.

"""


ACROSS = """## Many runs

The tests of `headroles atlas`. Each row is the worst case over five shapes of scores, {units} units a run:
the share of claims that are false, or of intervals that cover the truth. Standard error of 0.05: {error}.
`python benchmarks/calibration/across.py` makes these figures.

{rows}

"""


def _across(data: Data) -> str:
    """Return the section on many runs; nothing where they were not simulated."""
    worst = worst_across(data)
    if not worst:
        return ""
    rows = [[claim, nominal, share(value), where] for claim, nominal, value, where in worst]
    about = data["across"]["about"]
    lines = table(["claim", "nominal", "measured, worst case", "where"], rows)
    error = share((0.05 * 0.95 / about["times"]) ** 0.5)
    return ACROSS.format(rows="\n".join(lines).rstrip("\n"), error=error, units=about["units"])


ORIGINS = """## Where roles come from

The tests of `headroles why`. Each row is the worst case over five shapes of noise, from 100 units on: the
share of false claims. Standard error of 0.05: {error}. `python benchmarks/calibration/origins.py` makes these
figures.

{rows}
Few neurons and directions do not depend on the number of units. In the last shape one unit in twenty holds
all of a mean, and some samples of 100 units lack all such units. With 200 units no claim about a mean errs in
more than {later}.

"""


def _origins(data: Data) -> str:
    """Return the section on where roles come from; nothing where it was not simulated."""
    worst = worst_origins(data)
    if not worst:
        return ""
    rows = [[claim, "0.05", share(value), where] for claim, value, where in worst]
    lines = table(["claim", "nominal", "measured, worst case", "where"], rows)
    about, cells = data["origins"]["about"], data["origins"]["cells"]
    later = max(cell["false"] for cell in cells if cell["case"] == "200 units")
    error = share((0.05 * 0.95 / about["times"]) ** 0.5)
    return ORIGINS.format(rows="\n".join(lines), error=error, later=share(later))


def _interventions(data: Data) -> str:
    """Return the section on heads that are taken out; nothing where they were not simulated."""
    worst = worst_claims(data)
    if not worst:
        return ""
    rows = [[claim, "0.05", share(value), where] for claim, value, where in worst]
    runs = data["interventions"]["about"]["runs"]
    lines = table(["claim", "nominal", "measured, worst case", "where"], rows)
    return INTERVENTIONS.format(rows="\n".join(lines), error=share((0.05 * 0.95 / runs) ** 0.5))


def _worst(data: Data, correction: str, side: int, shape: str, setting: str) -> list[float]:
    """Return the errors of the default test for one shape of scores, from ``MANY`` units on."""
    cells = [cell for cell in data["cells"] if cell["population"] == shape and cell["units"] >= MANY]
    return [errors(cell, "t-skew", correction, setting, (side,))[0][0] for cell in cells]


def _columns(data: Data, key: str, side: int, role: bool = True) -> list[float]:
    """Return the errors of the columns of real runs in one setting, from ``MANY`` units on."""
    cells = [cell for cell in column_cells(data, role=role) if cell["units"] >= MANY]
    return [cell["errors"][key][side] for cell in cells if key in cell["errors"]]


def _missed(cells: list[Cell]) -> list[float]:
    """Return the coverage of the default interval from ``MANY`` units on."""
    figures = [figure for cell in cells if cell["units"] >= MANY for figure in covers(cell)]
    return [value for value, _, at in figures if at.startswith("t-skew,")]


MADE = (
    ("false role, `holm`, normal scores", "holm", 0, "normal", "null"),
    ("false not, `holm`, normal scores", "holm", 1, "normal", "null"),
    ("false role, `holm`, heavy-tailed scores", "holm", 0, "heavy-tailed", "null"),
    (
        "share of false roles, `fdr_bh` (default), some heads beyond the threshold",
        "fdr_bh",
        0,
        "normal",
        "mixed",
    ),
)
"""Rows of the answer about made scores: words, correction, side, shape and setting."""


def answer(data: Data) -> list[str]:
    """Return the table that answers the question, for runs of at least ``MANY`` units.

    A row without figures is left out.
    """
    rows = []
    for words, *cell in MADE:
        if figures := _worst(data, *cell):
            rows.append([words, "0.05", share(max(figures))])
    if column_cells(data):
        for side, name in enumerate(("role", "not")):
            decided, bare = (max(_columns(data, f"all, {guard}", side)) for guard in ("guarded", "bare"))
            text = f"{share(decided)} (tests alone: {share(bare)})"
            rows.append([f"false {name}, `holm`, worst column of real runs", "0.05", text])
        worst, usual = (max(_columns(data, f"{name}, guarded", 1, role=False)) for name in ("all", "near"))
        text = f"{share(worst)} (heads of realistic shape: {share(usual)})"
        rows.append(['false "below its margin", worst contrast of real runs', "0.05", text])
    if missed := _missed([cell for cell in made_cells(data) if cell["population"] == "normal"]):
        rows.append(["95 % interval covers the mean, normal scores", "0.95", share(min(missed))])
    return table(["at least 50 units", "nominal", "measured, worst case"], rows)


def summary(data: Data) -> str:
    """Return the summary page, with every number from the figures.

    Args:
        data: The content of ``calibration.json``.
    """
    about, columns = data["about"], column_cells(data)
    runs = about["runs"]
    made = [item for item in about["populations"] if item["kind"] != "real"]
    return PAGE.format(
        answer="\n".join(answer(data)),
        heads=made[0]["heads"] if made else 0,
        columns=len({(cell["task"], cell["sieve"]) for cell in columns if cell["role"]}),
        column_runs=data["columns"]["about"]["runs"] if columns else 0,
        tasks=", ".join(dict.fromkeys(cell["task"] for cell in columns)) or "no task",
        interventions=_interventions(data),
        across=_across(data),
        origins=_origins(data),
        sections="".join(file.read_text("utf-8") + "\n" for file in sorted(SECTIONS.glob("*.md"))),
        runs=runs,
        fewer=runs // 5,
        error=share((0.05 * 0.95 / runs) ** 0.5, 4),
        larger=share((0.05 * 0.95 / (runs // 5)) ** 0.5, 4),
    )
