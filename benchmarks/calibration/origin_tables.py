"""Tables of the tests of where roles come from, from the figures of origins.py alone."""

from typing import Any

from limits import error_of
from tables import Data, share, table

TEXT = """## Where roles come from

Tests of `headroles why`, simulated by `origins.py` in the same folder. Each cell has {times:,} simulations
(standard error of a share of 0.05: {error:.3f}). A cell of a table has the share of false claims, then the
share of planted effects that were found. All claims about means must hold with three further units as bad as
the worst.

- **Vertical, by query**: {families} families a run, corrected by holm. They share a third of the variance.
  False: runs with any claim, where exactly half of every contrast is shared. Found: {shift:g} standard
  deviations more or less than half.
- **Dimensions**: heads with {size} dimensions, corrected by Benjamini and Hochberg at alpha. Odd dimensions
  have mirrored noise. False: the false discovery rate, with 16 or 8 dimensions at exactly twice their share.
- **Few neurons**: noise over the matrix, and one or four planted dimensions. False: rotated copies of these
  heads, each tested at 0.05. Found: the heads themselves.
- **Directions**: queries choose one of three keys by chance, or by one or two directions. False: more
  directions than were planted. Found: at least as many.
- **Falls, holds**: {families} scores a run, as for vertical. False: all means at their threshold. Found:
  {shift:g} standard deviations beyond it.

In the last shape one unit in twenty holds all of the mean. Some samples of 50 or 100 units lack all of them.
What no unit shows cannot be known.

"""


def origins(data: Data) -> list[str]:
    """Describe the simulation, and give its tables; nothing where it was not run."""
    if "origins" not in data:
        return []
    about, cells = data["origins"]["about"], data["origins"]["cells"]
    text = TEXT.format(**about, error=error_of(0.05, about["times"]))
    lines = [*text.rstrip("\n").split("\n"), ""]
    for claim in dict.fromkeys(cell["claim"] for cell in cells):
        own = [cell for cell in cells if cell["claim"] == claim]
        lines += [f"### Where roles come from: {claim}", "", *_of_claim(own)]
    return lines


def _of_claim(own: list[dict[str, Any]]) -> list[str]:
    """Return the table of a claim: a row for each shape of noise, a column for each case."""
    cases = list(dict.fromkeys(cell["case"] for cell in own))
    rows = []
    for shape in dict.fromkeys(cell["shape"] for cell in own):
        at = {cell["case"]: cell for cell in own if cell["shape"] == shape}
        rows.append([shape, *(_rates(at[case]) for case in cases)])
    return table(["noise", *cases], rows)


def _rates(cell: dict[str, Any]) -> str:
    found = f" / {share(cell['found'], 2)}" if "found" in cell else ""
    return share(cell["false"]) + found


def worst_origins(data: Data) -> list[tuple[str, float, str]]:
    """Return the largest share of false claims of each kind, from 100 units on, and where it is."""
    if "origins" not in data:
        return []
    worst = []
    cells = [cell for cell in data["origins"]["cells"] if cell["case"] != "50 units"]
    for claim in dict.fromkeys(cell["claim"] for cell in cells):
        cell = max((cell for cell in cells if cell["claim"] == claim), key=lambda one: one["false"])
        worst.append((claim, cell["false"], f"{cell['shape']}, {cell['case']}"))
    return worst
