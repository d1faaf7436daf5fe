"""Tables of the tests over many runs, from the figures of across.py alone."""

from typing import Any

from limits import error_of
from tables import Data, share, table

TEXT = """## Many runs

Tests of `headroles atlas`, simulated by `across.py` in the same folder. Each cell has {times:,} simulations
(standard error of a share of 0.05: {error:.3f}). A run has {heads} heads, one family, and {units} units,
tested by t-skew. Claims that hinge on few units are withheld. Heads with a role lie half a standard deviation
above the threshold, all others exactly at it. A number is the mean share of claims that are false (fdr_bh),
or the share of intervals that cover the truth.

- **In at least u of {runs} runs**: a third of the heads have the role in u runs, the others in u − 1. Runs
  have inputs apart, or the same inputs: then scores of two runs have a correlation of 0.8. Fisher's method
  is used for inputs apart only.
- **In both of two runs**: a third of the heads have the role in both, a third in the first, a third in the
  second.
- **Steps**: {steps} checkpoints on the same units, which share half of the variance. No score changes
  (trend), or a role comes at a random step, or never. Or it goes (lost): to the threshold, not below it.
- **Pooled means**: true means have the standard deviation τ; standard errors are 0.03 to 0.1.

"""


def across(data: Data) -> list[str]:
    """Describe the simulation, and give its tables; nothing where it was not run."""
    if "across" not in data:
        return []
    about, cells = data["across"]["about"], data["across"]["cells"]
    text = TEXT.format(**about, error=error_of(0.05, about["times"]))
    lines = [*text.rstrip("\n").split("\n"), ""]
    for claim in dict.fromkeys(cell["claim"] for cell in cells):
        lines += [
            f"### Many runs: {claim}",
            "",
            *_of_claim([cell for cell in cells if cell["claim"] == claim]),
        ]
    return lines


def _of_claim(own: list[dict[str, Any]]) -> list[str]:
    """Return the table of a claim: a row for each shape of scores, a column for each case."""
    cases = list(dict.fromkeys(cell["case"] for cell in own))
    rows = []
    for shape in dict.fromkeys(cell["shape"] for cell in own):
        at = {cell["case"]: cell for cell in own if cell["shape"] == shape}
        rows.append([shape, *(share(at[case].get("false", at[case].get("covers"))) for case in cases)])
    return table(["scores", *cases], rows)


def worst_across(data: Data) -> list[tuple[str, str, float, str]]:
    """Return every claim with its nominal rate, its worst cell and where that is."""
    if "across" not in data:
        return []
    worst = []
    cells = data["across"]["cells"]
    for claim in dict.fromkeys(cell["claim"] for cell in cells):
        own = [cell for cell in cells if cell["claim"] == claim]
        covers = "covers" in own[0]
        cell = min(own, key=lambda one: one["covers"]) if covers else max(own, key=lambda one: one["false"])
        where = f"{cell['shape']}, {cell['case']}"
        worst.append((claim, "0.95" if covers else "0.05", cell["covers" if covers else "false"], where))
    return worst
