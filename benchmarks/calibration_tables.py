"""The tables of the page, each from the figures alone."""

from collections.abc import Iterable, Sequence
from typing import Any

from calibration_limits import Cell, Figure, errors

Data = dict[str, Any]
SETTINGS = ("normal", "right-skewed", "left-skewed", "zero-inflated")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown, and an empty line."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines] + [""]


def share(value: float, digits: int = 3) -> str:
    """A rate."""
    return f"{value:.{digits}f}"


def pair(values: Sequence[float], digits: int = 3) -> str:
    """A rate of roles and one of nots."""
    return " / ".join(share(value, digits) for value in values)


def made_cells(data: Data, correlation: float = 0.0, kind: str = "") -> list[Cell]:
    """Cells of made populations with one correlation."""
    return [
        cell
        for cell in data["cells"]
        if cell["kind"] != "real" and cell["correlation"] == correlation and kind in ("", cell["kind"])
    ]


def real_cells(data: Data, units: int | None = None) -> list[Cell]:
    """Cells of recentred scores."""
    return [cell for cell in data["cells"] if cell["kind"] == "real" and units in (None, cell["units"])]


def sizes(cells: Iterable[Cell]) -> list[int]:
    """Numbers of units that occur."""
    return sorted({cell["units"] for cell in cells})


def named(cell: Cell) -> list[str]:
    """The first two columns of most tables."""
    return [cell["population"], str(cell["units"])]


def tied(data: Data, cell: Cell) -> list[Cell]:
    """The same population and units, for every correlation."""
    keys = ("population", "units")
    return [each for each in data["cells"] if all(each[key] == cell[key] for key in keys)]


def means(rows: Sequence[Sequence[float]]) -> list[float]:
    """Mean of roles and of nots."""
    return [sum(side) / len(side) for side in zip(*rows, strict=True)]


def largest(rows: Sequence[Sequence[float]]) -> list[float]:
    """Largest of roles and of nots."""
    return [max(side) for side in zip(*rows, strict=True)]


def rates(data: Data, level: str, scale: float, digits: int) -> list[str]:
    """Share of single heads rejected at θ, per test; real populations as mean and largest."""
    tests = list(data["cells"][0]["rates"])

    def of(cell: Cell, test: str) -> list[float]:
        found = cell["rates"][test][level]
        return [found[0] * scale, found[2] * scale]

    rows = [named(cell) + [pair(of(cell, test), digits) for test in tests] for cell in made_cells(data)]
    for name, joined in (("real, mean", means), ("real, largest", largest)):
        for units in sizes(real_cells(data)):
            cells = real_cells(data, units)
            figures = [joined([of(cell, test) for cell in cells]) for test in tests]
            rows.append([name, str(units)] + [pair(each, digits) for each in figures])
    errors_of = [
        max(cell["rates"][test][level][k] for cell in data["cells"] for k in (1, 3)) * scale for test in tests
    ]
    rows.append(["largest standard error", "", *(share(each, digits + 1) for each in errors_of)])
    return table(["scores", "n", *tests], rows)


def both(cell: Cell, test: str, correction: str, setting: str = "null", digits: int = 3) -> str:
    """Errors of roles and of nots in one cell."""
    return pair([figure[0] for figure in errors(cell, test, correction, setting)], digits)


def family_wise(data: Data) -> list[str]:
    """FWER of the default test under Holm and max-t."""
    header = ["scores", "n"]
    for correlation in data["about"]["correlations"]:
        header += [f"holm, blocks {correlation:g}", f"maxT, blocks {correlation:g}"]
    rows = []
    for cell in made_cells(data):
        row = named(cell)
        for each in tied(data, cell):
            row += [both(each, "t-skew", correction) for correction in ("holm", "maxT")]
        rows.append(row)
    return table(header, rows)


def family_wise_real(data: Data) -> list[str]:
    """The same on recentred scores, beside Student's t and max-t by sign flips."""
    asked = (("t-skew", "holm"), ("t-skew", "maxT"), ("t", "holm"), ("sign-flip", "maxT"))
    rows = [named(cell) + [both(cell, *each) for each in asked] for cell in real_cells(data)]
    return table(["scores", "n", *(" + ".join(each) for each in asked)], rows)


def combinations(data: Data) -> list[tuple[str, str]]:
    """Every test with every correction that goes with it."""
    return [(test, each) for test, corrections in data["cells"][0]["errors"].items() for each in corrections]


def everything(data: Data, units: int = 128) -> list[str]:
    """False labels with all heads at θ, for every test and correction."""
    cells = [cell for cell in made_cells(data) if cell["units"] == units and cell["population"] in SETTINGS]
    close = [
        cell for cell in made_cells(data, 0.9) if cell["units"] == units and cell["population"] == "normal"
    ]
    scored = real_cells(data, units)
    header = [cell["population"] for cell in cells] + ["normal, blocks 0.9" for _ in close]
    rows = []
    for test, correction in combinations(data):
        row = [test, correction] + [both(cell, test, correction, digits=2) for cell in cells + close]
        if scored:
            figures = [[each[0] for each in errors(cell, test, correction, "null")] for cell in scored]
            row += [pair(means(figures), 2), pair(largest(figures), 2)]
        rows.append(row)
    return table(["test", "correction", *header, *(["real, mean", "real, largest"] if scored else [])], rows)


def discoveries(data: Data) -> list[str]:
    """FDR of the default test under Benjamini-Hochberg."""
    header = ["scores", "n"]
    for correlation in data["about"]["correlations"]:
        header += [f"mixed, blocks {correlation:g}", f"all at θ, blocks {correlation:g}"]
    rows = []
    for cell in made_cells(data):
        row = named(cell)
        for each in tied(data, cell):
            row += [both(each, "t-skew", "fdr_bh", setting) for setting in ("mixed", "null")]
        rows.append(row)
    lines = table(header, rows)
    scored = [
        named(cell) + [both(cell, "t-skew", "fdr_bh", setting) for setting in ("mixed", "null")]
        for cell in real_cells(data)
    ]
    return lines + (table(["scores", "n", "mixed", "all at θ"], scored) if scored else [])


def power(data: Data) -> list[str]:
    """Share of true roles found among normal scores, for every test and correction."""
    cells = [cell for cell in made_cells(data) if cell["population"] == "normal"]
    rows = []
    for test, correction in combinations(data):
        row = [test, correction]
        for cell in cells:
            found = [errors(cell, test, correction, f"power {d}", (0,))[0][0] for d in (0.3, 0.5)]
            row.append(pair(found, 2))
        rows.append(row)
    return table(["test", "correction", *(f"n = {cell['units']}" for cell in cells)], rows)


def gains(data: Data) -> list[str]:
    """Power of Holm and of max-t where heads correlate."""
    rows = []
    for cell in made_cells(data):
        if cell["population"] == "normal":
            for effect in (0.3, 0.5):
                row = [str(cell["units"]), str(effect)]
                for each in tied(data, cell):
                    sides = [
                        errors(each, "t-skew", name, f"power {effect}", (0,))[0][0]
                        for name in ("holm", "maxT")
                    ]
                    row += [share(side) for side in sides]
                rows.append(row)
    header = ["n", "d"]
    for correlation in data["about"]["correlations"]:
        header += [f"holm, blocks {correlation:g}", f"maxT, blocks {correlation:g}"]
    return table(header, rows)


def coverage(data: Data) -> list[str]:
    """Share of 95 % intervals that hold the mean, with the misses on either side."""
    cells = [cell for cell in data["cells"] if "coverage" in cell]
    names = list(cells[0]["coverage"]) if cells else []

    def shown(found: list[float]) -> str:
        return f"{share(found[0])} ({share(found[2])}, {share(found[4])})"

    return table(
        ["scores", "n", *names],
        [named(cell) + [shown(cell["coverage"][name]) for name in names] for cell in cells],
    )


def effects(data: Data) -> list[str]:
    """Coverage of the interval of Hedges' g."""
    cells = [cell for cell in data["cells"] if "effect" in cell]
    header = ["n", *(f"d = {each}" for each in (cells[0]["effect"] if cells else []))]
    return table(
        header,
        [[str(cell["units"])] + [share(each[0]) for each in cell["effect"].values()] for cell in cells],
    )


def equivalence(data: Data) -> list[str]:
    """Error of "equivalent" with the difference exactly at a bound: upper / lower."""
    tests, bounds = ("t-skew", "t"), [str(each) for each in data["about"]["bounds"]]
    asked = [
        (test, correction, bound) for test in tests for correction in ("none", "holm") for bound in bounds
    ]
    rows = []
    for cell in made_cells(data) + real_cells(data):
        found = [cell["equivalence"][test][correction][bound] for test, correction, bound in asked]
        rows.append(named(cell) + [pair([each[0], each[2]]) for each in found])
    header = [
        f"{test}, {'one head' if correction == 'none' else correction}, {bound}"
        for test, correction, bound in asked
    ]
    return table(["scores", "n", *header], rows)


def equivalence_errors(cell: Cell) -> list[Figure]:
    """Family-wise errors of the default test with Holm, at either bound."""
    return [
        (each[k], each[k + 1], f"bound {bound}")
        for bound, each in cell["equivalence"]["t-skew"]["holm"].items()
        for k in (0, 2)
    ]
