"""The promises about the figures, and the worst cell of each promise."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from counts import ERRORS

Cell = dict[str, Any]
Figure = tuple[float, float, str]
"""A value, its standard error, and its cell in words."""


def error_of(rate: float, runs: int) -> float:
    """Return the standard error of a share of runs, which is an upper bound for a mean of shares."""
    return (max(rate * (1 - rate), 0.0) / runs) ** 0.5


def place_of(cell: Cell, side: str = "") -> str:
    """Return a cell in words."""
    blocks = "" if not cell["correlation"] else f", blocks {cell['correlation']:g}"
    name = f"{cell['population']}, " if cell["kind"] == "real" else ""
    return f"{name}n = {cell['units']}{blocks}{side and ', ' + side}"


def errors(
    cell: Cell, test: str, correction: str, setting: str, sides: tuple[int, ...] = (0, 1)
) -> list[Figure]:
    """Return the error of roles, of nots, or of both in one cell."""
    place = 2 * ERRORS.index(setting)
    rates = cell["errors"][test][correction][place : place + 2]
    runs = cell["runs"][test][correction][min(place, 2) // 2]
    return [(rates[k], error_of(rates[k], runs), place_of(cell, ("role", "not")[k])) for k in sides]


def covers(cell: Cell) -> list[Figure]:
    """Return the coverage of every interval in one cell."""
    intervals = cell.get("coverage", {}).items()
    return [(figures[0], figures[1], f"{name}, {place_of(cell)}") for name, figures in intervals]


def worst(figures: list[Figure]) -> Figure:
    """Return the figure with the largest value."""
    return max(figures, key=lambda figure: figure[0])


def row(promise: str, cells: str, limit: str, held: bool, figure: Figure) -> dict[str, Any]:
    """Return one line of the first table."""
    return {
        "promise": promise,
        "cells": cells,
        "limit": limit,
        "worst": round(figure[0], 4),
        "standard_error": round(figure[1], 4),
        "at": figure[2],
        "held": held,
    }


def _at_most(
    promise: str, name: str, limit: float, cells: list[Cell], figures: Callable[[Cell], list[Figure]]
) -> Iterator[dict[str, Any]]:
    if cells:
        largest = worst([figure for cell in cells for figure in figures(cell)])
        yield row(promise, name, f"at most {limit:g}", largest[0] <= limit, largest)


def _symmetric(name: str, cells: list[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the promises for one symmetric population."""
    many = [cell for cell in cells if cell["units"] >= 50]
    for correction in ("holm", "maxT"):
        yield from _at_most(
            f"FWER of t-skew with {correction}", f"{name}, n ≥ 50", 0.06, many,
            partial(errors, test="t-skew", correction=correction, setting="null"),
        )  # fmt: skip
    for setting, words in (("mixed", "some heads beyond θ"), ("null", "all heads at θ")):
        yield from _at_most(
            f"FDR of t-skew with fdr_bh, {words}", f"{name}, every n", 0.055, cells,
            partial(errors, test="t-skew", correction="fdr_bh", setting=setting),
        )  # fmt: skip
    covered = [figure for cell in many for figure in covers(cell)]
    if covered:
        farthest = max(covered, key=lambda figure: abs(figure[0] - 0.95))
        held = all(0.93 <= value <= 0.97 for value, _, _ in covered)
        yield row("coverage of 95 % intervals", f"{name}, n ≥ 50", "0.93 to 0.97", held, farthest)


def _gains(cells: list[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the power that max-t gains over Holm where heads of a block correlate by 0.9."""
    tied = [cell for cell in cells if cell["correlation"] == 0.9 and cell["population"] == "normal"]
    for cell in tied:
        for effect in ("0.3", "0.5"):
            (joint, joint_error, _), (plain, plain_error, _) = (
                errors(cell, "t-skew", correction, f"power {effect}", (0,))[0]
                for correction in ("maxT", "holm")
            )
            if 0.02 < plain < 0.98:
                figure = (
                    joint - plain,
                    (joint_error**2 + plain_error**2) ** 0.5,
                    f"{plain:.3f} with holm, {joint:.3f} with maxT",
                )
                words = f"normal, {place_of(cell)}"
                yield row(
                    f"power gained by maxT over holm, d = {effect}", words, "above 0", joint > plain, figure
                )


def limits(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every promise that the simulated cells can check."""
    cells = data["cells"]
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(cell["population"] for cell in cells if cell["kind"] == "symmetric"):
        rows += _symmetric(name, [cell for cell in cells if cell["population"] == name])
    scored = [cell for cell in cells if cell["kind"] == "real" and cell["units"] == 128]
    for correction in ("holm", "maxT"):
        rows += _at_most(
            f"FWER of t-skew with {correction}, role", "recentred real scores, n = 128", 0.08, scored,
            partial(errors, test="t-skew", correction=correction, setting="null", sides=(0,)),
        )  # fmt: skip
    return rows + list(_gains(cells))
