"""The part of docs/calibration.json that reports carry: the range and the worst cell of every promise.

    python benchmarks/calibration_extract.py        # writes reports/templates/page/calibration.json

Run after ``calibration.py``; a test compares the two files.
"""

import json
from pathlib import Path
from typing import Any

from calibration_limits import Cell, errors

ROOT = Path(__file__).resolve().parents[1]
WHOLE = ROOT / "docs" / "calibration.json"
EXTRACT = ROOT / "reports" / "templates" / "page" / "calibration.json"
SETTINGS = ("mixed", "null")
SIDES = ("role", "not")


def extract(data: dict[str, Any]) -> dict[str, Any]:
    """By test, correction, units, setting and side: lowest and highest error, and where the highest is.

    Args:
        data: As ``docs/calibration.json`` holds it.
    """
    cells, about = data["cells"], data["about"]
    tests: dict[str, Any] = {}
    for test, corrections in cells[0]["errors"].items():
        for correction in corrections:
            tests.setdefault(test, {})[correction] = {
                str(units): {
                    f"{setting}, {side}": _range([each for each in cells if each["units"] == units],
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
    """Lowest, highest, standard error of the highest, and its scores."""
    found = [
        (*errors(cell, test, correction, setting, (side,))[0][:2], _named(cell))
        for cell in cells
        if correction in cell["errors"].get(test, {})
    ]
    low, (high, error, place) = min(found)[0], max(found)
    return [low, high, round(error, 4), place]


def _named(cell: Cell) -> str:
    """The scores of a cell in words."""
    if cell["kind"] == "real":
        return f"real scores of {cell['population']}"
    blocks = f", heads tied by {cell['correlation']:g}" if cell["correlation"] else ""
    return f"{cell['population']} scores{blocks}"


def text_of(data: dict[str, Any]) -> str:
    """The extract as its file has it."""
    return json.dumps(extract(data), separators=(",", ":"), ensure_ascii=False) + "\n"


if __name__ == "__main__":
    EXTRACT.write_text(text_of(json.loads(WHOLE.read_text(encoding="utf-8"))), encoding="utf-8")
