"""Extract what reports carry of docs/reference/calibration.json: range and worst cell of every promise.

    python benchmarks/calibration/extract.py        # writes reports/templates/calibration.json

Run after ``calibration.py``; a test compares the two files.
"""

import json
from pathlib import Path
from typing import Any

from limits import Cell, errors

ROOT = Path(__file__).resolve().parents[2]
WHOLE = ROOT / "docs" / "reference" / "calibration.json"
EXTRACT = ROOT / "reports" / "templates" / "calibration.json"
SETTINGS = ("mixed", "null")
SIDES = ("role", "not")


def extract(data: dict[str, Any]) -> dict[str, Any]:
    """Return the lowest and highest error, and the cell of the highest, for every setting.

    The result is nested by test, correction, units, setting and side.

    Args:
        data: The content of ``docs/reference/calibration.json``.
    """
    cells, about = data["cells"], data["about"]
    tests: dict[str, Any] = {}
    for test, corrections in cells[0]["errors"].items():
        for correction in corrections:
            tests.setdefault(test, {})[correction] = {
                str(units): {
                    f"{setting}, {side}": _range([cell for cell in cells if cell["units"] == units],
                                                 test, correction, setting, number)
                    for setting in SETTINGS
                    for number, side in enumerate(SIDES)
                }
                for units in about["units"]
            }  # fmt: skip
    return {"alpha": about["alpha"], "units": about["units"], "scores": len(about["populations"])} | {
        "tests": tests
    }


def _range(cells: list[Cell], test: str, correction: str, setting: str, side: int) -> list[float | str]:
    """Return the lowest error, the highest, its standard error, and its scores in words."""
    figures = [
        (*errors(cell, test, correction, setting, (side,))[0][:2], _scores_text(cell))
        for cell in cells
        if correction in cell["errors"].get(test, {})
    ]
    low, (high, error, place) = min(figures)[0], max(figures)
    return [low, high, round(error, 4), place]


def _scores_text(cell: Cell) -> str:
    """Return the scores of a cell in words."""
    if cell["kind"] == "real":
        return f"real scores of {cell['population']}"
    blocks = f", heads tied by {cell['correlation']:g}" if cell["correlation"] else ""
    return f"{cell['population']} scores{blocks}"


def text_of(data: dict[str, Any]) -> str:
    """Return the extract as the text of its file."""
    return json.dumps(extract(data), separators=(",", ":"), ensure_ascii=False) + "\n"


if __name__ == "__main__":
    EXTRACT.write_text(text_of(json.loads(WHOLE.read_text(encoding="utf-8"))), encoding="utf-8")
