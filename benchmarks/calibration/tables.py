"""The tables of the page, each computed from the figures alone."""

from collections.abc import Iterable, Sequence
from typing import Any

from limits import Cell, Figure, errors

Data = dict[str, Any]
SETTINGS = ("normal", "right-skewed", "left-skewed", "zero-inflated")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown, and an empty line."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines] + [""]


def share(value: float, digits: int = 3) -> str:
    """Return a rate as text."""
    return f"{value:.{digits}f}"


def pair(values: Sequence[float], digits: int = 3) -> str:
    """Return a rate of roles and one of nots as text."""
    return " / ".join(share(value, digits) for value in values)


def made_cells(data: Data, correlation: float = 0.0, kind: str = "") -> list[Cell]:
    """Return the cells of made populations with one correlation."""
    return [
        cell
        for cell in data["cells"]
        if cell["kind"] != "real" and cell["correlation"] == correlation and kind in ("", cell["kind"])
    ]


def real_cells(data: Data, units: int | None = None) -> list[Cell]:
    """Return the cells of recentred scores."""
    return [cell for cell in data["cells"] if cell["kind"] == "real" and units in (None, cell["units"])]


def sizes(cells: Iterable[Cell]) -> list[int]:
    """Return the numbers of units that occur."""
    return sorted({cell["units"] for cell in cells})


def named(cell: Cell) -> list[str]:
    """Return the first two columns of most tables."""
    return [cell["population"], str(cell["units"])]


def tied(data: Data, cell: Cell) -> list[Cell]:
    """Return the cells of the same population and units, for every correlation."""
    keys = ("population", "units")
    return [other for other in data["cells"] if all(other[key] == cell[key] for key in keys)]


def means(rows: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of roles and of nots."""
    return [sum(side) / len(side) for side in zip(*rows, strict=True)]


def largest(rows: Sequence[Sequence[float]]) -> list[float]:
    """Return the largest of roles and of nots."""
    return [max(side) for side in zip(*rows, strict=True)]


def rates(data: Data, level: str, scale: float, digits: int) -> list[str]:
    """Return the share of single heads rejected at θ, per test; real populations as mean and largest."""
    tests = list(data["cells"][0]["rates"])

    def of(cell: Cell, test: str) -> list[float]:
        figures = cell["rates"][test][level]
        return [figures[0] * scale, figures[2] * scale]

    rows = [named(cell) + [pair(of(cell, test), digits) for test in tests] for cell in made_cells(data)]
    for name, summary in (("real, mean", means), ("real, largest", largest)):
        for units in sizes(real_cells(data)):
            cells = real_cells(data, units)
            figures = [summary([of(cell, test) for cell in cells]) for test in tests]
            rows.append([name, str(units)] + [pair(values, digits) for values in figures])
    errors_of = [
        max(cell["rates"][test][level][k] for cell in data["cells"] for k in (1, 3)) * scale for test in tests
    ]
    rows.append(["largest standard error", "", *(share(error, digits + 1) for error in errors_of)])
    return table(["scores", "n", *tests], rows)


def both(cell: Cell, test: str, correction: str, setting: str = "null", digits: int = 3) -> str:
    """Return the errors of roles and of nots in one cell as text."""
    return pair([figure[0] for figure in errors(cell, test, correction, setting)], digits)


def family_wise(data: Data) -> list[str]:
    """Return the FWER of the default test under Holm and max-t."""
    header = ["scores", "n"]
    for correlation in data["about"]["correlations"]:
        header += [f"holm, blocks {correlation:g}", f"maxT, blocks {correlation:g}"]
    rows = []
    for cell in made_cells(data):
        row = named(cell)
        for tied_cell in tied(data, cell):
            row += [both(tied_cell, "t-skew", correction) for correction in ("holm", "maxT")]
        rows.append(row)
    return table(header, rows)


def family_wise_real(data: Data) -> list[str]:
    """Return the same for recentred scores, with Student's t and max-t by sign flips."""
    ways = (("t-skew", "holm"), ("t-skew", "maxT"), ("t", "holm"), ("sign-flip", "maxT"))
    rows = [named(cell) + [both(cell, *way) for way in ways] for cell in real_cells(data)]
    return table(["scores", "n", *(" + ".join(way) for way in ways)], rows)


def combinations(data: Data) -> list[tuple[str, str]]:
    """Return every test with every correction that goes with it."""
    errors_by_test = data["cells"][0]["errors"]
    return [(test, correction) for test, corrections in errors_by_test.items() for correction in corrections]


def everything(data: Data, units: int = 128) -> list[str]:
    """Return the false labels with all heads at θ, for every test and correction."""
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
            figures = [[figure[0] for figure in errors(cell, test, correction, "null")] for cell in scored]
            row += [pair(means(figures), 2), pair(largest(figures), 2)]
        rows.append(row)
    return table(["test", "correction", *header, *(["real, mean", "real, largest"] if scored else [])], rows)


def discoveries(data: Data) -> list[str]:
    """Return the FDR of the default test under Benjamini-Hochberg."""
    header = ["scores", "n"]
    for correlation in data["about"]["correlations"]:
        header += [f"mixed, blocks {correlation:g}", f"all at θ, blocks {correlation:g}"]
    rows = []
    for cell in made_cells(data):
        row = named(cell)
        for tied_cell in tied(data, cell):
            row += [both(tied_cell, "t-skew", "fdr_bh", setting) for setting in ("mixed", "null")]
        rows.append(row)
    lines = table(header, rows)
    scored = [
        named(cell) + [both(cell, "t-skew", "fdr_bh", setting) for setting in ("mixed", "null")]
        for cell in real_cells(data)
    ]
    return lines + (table(["scores", "n", "mixed", "all at θ"], scored) if scored else [])


def power(data: Data) -> list[str]:
    """Return the share of true roles found among normal scores, for every test and correction."""
    cells = [cell for cell in made_cells(data) if cell["population"] == "normal"]
    rows = []
    for test, correction in combinations(data):
        row = [test, correction]
        for cell in cells:
            powers = [errors(cell, test, correction, f"power {d}", (0,))[0][0] for d in (0.3, 0.5)]
            row.append(pair(powers, 2))
        rows.append(row)
    return table(["test", "correction", *(f"n = {cell['units']}" for cell in cells)], rows)


def gains(data: Data) -> list[str]:
    """Return the power of Holm and of max-t where heads correlate."""
    rows = []
    for cell in made_cells(data):
        if cell["population"] == "normal":
            for effect in (0.3, 0.5):
                row = [str(cell["units"]), str(effect)]
                for tied_cell in tied(data, cell):
                    sides = [
                        errors(tied_cell, "t-skew", name, f"power {effect}", (0,))[0][0]
                        for name in ("holm", "maxT")
                    ]
                    row += [share(side) for side in sides]
                rows.append(row)
    header = ["n", "d"]
    for correlation in data["about"]["correlations"]:
        header += [f"holm, blocks {correlation:g}", f"maxT, blocks {correlation:g}"]
    return table(header, rows)


def coverage(data: Data) -> list[str]:
    """Return the share of 95 % intervals that contain the mean, with the misses on either side."""
    cells = [cell for cell in data["cells"] if "coverage" in cell]
    names = list(cells[0]["coverage"]) if cells else []

    def text_of(figures: list[float]) -> str:
        return f"{share(figures[0])} ({share(figures[2])}, {share(figures[4])})"

    return table(
        ["scores", "n", *names],
        [named(cell) + [text_of(cell["coverage"][name]) for name in names] for cell in cells],
    )


def effects(data: Data) -> list[str]:
    """Return the coverage of the interval of Hedges' g."""
    cells = [cell for cell in data["cells"] if "effect" in cell]
    header = ["n", *(f"d = {effect}" for effect in (cells[0]["effect"] if cells else []))]
    return table(
        header,
        [[str(cell["units"])] + [share(figures[0]) for figures in cell["effect"].values()] for cell in cells],
    )


def equivalence(data: Data) -> list[str]:
    """Return the error of "equivalent" with the difference exactly at a bound: upper / lower."""
    tests, bounds = ("t-skew", "t"), [str(bound) for bound in data["about"]["bounds"]]
    columns = [
        (test, correction, bound) for test in tests for correction in ("none", "holm") for bound in bounds
    ]
    rows = []
    for cell in made_cells(data) + real_cells(data):
        figures = [cell["equivalence"][test][correction][bound] for test, correction, bound in columns]
        rows.append(named(cell) + [pair([rates[0], rates[2]]) for rates in figures])
    header = [
        f"{test}, {'one head' if correction == 'none' else correction}, {bound}"
        for test, correction, bound in columns
    ]
    return table(["scores", "n", *header], rows)


def equivalence_errors(cell: Cell) -> list[Figure]:
    """Return the family-wise errors of the default test with Holm, at either bound."""
    return [
        (figures[k], figures[k + 1], f"bound {bound}")
        for bound, figures in cell["equivalence"]["t-skew"]["holm"].items()
        for k in (0, 2)
    ]
