"""Tables of the tests of interventions, from the figures of interventions.py alone."""

from typing import Any

from limits import error_of
from tables import Data, share, table

CLAIMS = {
    "damage": ("needed", "interfering", "negligible"),
    "sites": ("at its sites", "at its sites, where all heads of the layer do damage", "its cells matter"),
    "roles": (
        "more damage (area above 0.5)",
        "more than random sets (p at most 0.05)",
        "area rarer than of labels at random (p at most 0.05)",
    ),
}
TEXT = """## Heads that are taken out

Tests of `headroles ablate`, simulated by `interventions.py` in the same folder. Each cell has {runs:,} runs
(standard error of a share of 0.05: {error:.3f}), the test is t-skew. A cell of a table has the share of runs
with a false claim, then the share of true effects that were found, by number of units.

- **Verdicts**: {heads} heads a run, corrected by holm. For a false claim all heads lie at θ (needed,
  negligible) or at −θ (interfering), with a standard deviation of 2 θ. They share a third of their variance.
  Found: a third of the heads at 2 θ, the others at a tenth of θ with a fifth of the spread.
- **Sites and cells**: {labelled} labelled heads a run, corrected by holm, and 3 controls. The layer shares
  half of the variance. Found: an effect of half a standard deviation of the head's own noise.
- **Roles**: 2 layers of 8 heads, 3 of each with the role. Heads are exchangeable, and share the size of a
  unit's damage. Found: 0.3 standard deviations more for heads with the role. Rarity among random sets
  and labels is of heads that differ whatever their labels.

"Log-normal" damage has a right skew. In the last shape one unit in twenty holds all damage. "Negligible" and
"interfering" call a damage small. They need 75 units, and must hold with three further units as bad as the
worst.

"""


def interventions(data: Data) -> list[str]:
    """Describe the simulation, and give its tables; nothing where it was not run."""
    if "interventions" not in data:
        return []
    about, cells = data["interventions"]["about"], data["interventions"]["cells"]
    text = TEXT.format(**about, error=error_of(0.05, about["runs"]))
    lines = [*text.rstrip("\n").split("\n"), ""]
    for claim in (claim for claims in CLAIMS.values() for claim in claims):
        lines += [f"### Claim: {claim}", "", *_of_claim(cells, claim)]
    return lines


def _of_claim(cells: list[dict[str, Any]], claim: str) -> list[str]:
    own = [cell for cell in cells if cell["claim"] == claim]
    units = sorted({cell["units"] for cell in own})
    rows = []
    for shape in dict.fromkeys(cell["shape"] for cell in own):
        at = {cell["units"]: cell for cell in own if cell["shape"] == shape}
        rows.append([shape, *(_rates(at[size]) for size in units)])
    return table(["damage over units", *map(str, units)], rows)


def _rates(cell: dict[str, Any]) -> str:
    found = f" / {share(cell['found'], 2)}" if "found" in cell else ""
    return share(cell["false"]) + found


def worst_claims(data: Data, least: int = 75) -> list[tuple[str, float, str]]:
    """Return the largest share of false claims of each kind, from some number of units on, and its place."""
    if "interventions" not in data:
        return []
    worst = []
    for claim in (claim for claims in CLAIMS.values() for claim in claims):
        own = [
            cell
            for cell in data["interventions"]["cells"]
            if cell["claim"] == claim and cell["units"] >= least
        ]
        if own:
            cell = max(own, key=lambda cell: cell["false"])
            worst.append((claim, cell["false"], f"{cell['shape']}, {cell['units']} units"))
    return worst
