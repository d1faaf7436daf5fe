"""The tables of the page about the columns of real runs, each computed from the figures alone."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from limits import Figure, error_of, row, worst
from tables import share, table

Cell = dict[str, Any]
KINDS = ((True, "scores"), (False, "contrasts"))
CLAIMS = ("role", "not", "explained")
SIDES = ("beyond", "below")
SETTINGS = (("all", "every head at θ"), ("near", "heads of realistic shape at θ"))
LIMITS = (("all", True, 0.1), ("all", False, 0.12), ("near", True, 0.08), ("near", False, 0.1))
"""Setting, whether of scores (or of contrasts), and the largest family-wise error that is promised."""
NOTABLE = 0.08
"""Errors above this are listed one by one."""


PARKED = "parked"
"""A sieve that is not among the default ones; its columns have a table of their own."""


def column_cells(
    data: dict[str, Any], units: int | None = None, role: bool | None = None, parked: bool = False
) -> list[Cell]:
    """Return the cells of one number of units and one kind of column, of default sieves or of parked."""
    cells = data.get("columns", {}).get("cells", [])
    return [
        cell
        for cell in cells
        if units in (None, cell["units"])
        and role in (None, cell["role"])
        and cell["sieve"].startswith(PARKED) == parked
    ]


def column_units(data: dict[str, Any]) -> list[int]:
    """Return the numbers of units that occur."""
    return sorted({cell["units"] for cell in column_cells(data)})


def _name(cell: Cell) -> str:
    return f"{cell['task']} {cell['sieve']}, n = {cell['units']}"


def _figures(data: dict[str, Any], cells: Sequence[Cell], key: str, place: int) -> list[Figure]:
    """Return one figure of every cell that has it, with its standard error as that of a share of runs."""
    runs = data["columns"]["about"]["runs"]
    return [
        (cell["errors"][key][place], error_of(cell["errors"][key][place], runs), _name(cell))
        for cell in cells
        if key in cell["errors"]
    ]


def _summary(figures: Sequence[Figure]) -> str:
    """Return median and largest of some figures as text."""
    if not figures:
        return "–"
    return f"{share(median(figure[0] for figure in figures))} / {share(worst(list(figures))[0])}"


def column_limits(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the promises about the columns of real runs, and the worst cell of each."""
    rows: list[dict[str, Any]] = []
    if "columns" not in data:
        return rows
    for setting, role, limit in LIMITS:
        kind, words = dict(KINDS)[role], dict(SETTINGS)[setting]
        for place, side in enumerate(SIDES):
            cells = [cell for cell in column_cells(data, role=role) if cell["units"] >= 50]
            figures = _figures(data, cells, f"{setting}, guarded", place)
            if figures:
                largest = worst(figures)
                rows.append(
                    row(
                        f"FWER of t-skew with holm, guarded, {side} θ",
                        f"{kind} of real runs, {words}, n ≥ 50",
                        f"at most {limit:g}",
                        largest[0] <= limit,
                        largest,
                    )
                )
    return rows


def families(data: dict[str, Any]) -> list[str]:
    """Return the family-wise errors of columns by themselves: median / largest over tasks and columns."""
    rows = []
    for setting, words in SETTINGS:
        for role, kind in KINDS:
            for units in column_units(data):
                cells = column_cells(data, units, role)
                rows.append([words, kind, str(units), *_both_sides(data, cells, setting)])
    return table(["heads", "columns", "n", *BOTH_SIDES], rows)


def mixtures(data: dict[str, Any]) -> list[str]:
    """Return the share of false claims of columns by themselves under fdr_bh, where true heads stay."""
    rows = []
    for role, kind in KINDS:
        for units in column_units(data):
            cells = column_cells(data, units, role)
            rows.append([kind, str(units), *_both_sides(data, cells, "mixed")])
    return table(["columns", "n", *BOTH_SIDES], rows)


BOTH_SIDES = ("beyond, bare", "beyond, guarded", "below, bare", "below, guarded")
"""Headings of ``_both_sides``."""


def _both_sides(data: dict[str, Any], cells: list[dict[str, Any]], setting: str) -> list[str]:
    """Return the figures of cells in one setting, for both sides without the guard and with it."""
    return [
        _summary(_figures(data, cells, f"{setting}, {guard}", place))
        for place in (0, 1)
        for guard in ("bare", "guarded")
    ]


def decisions(data: dict[str, Any]) -> list[str]:
    """Return the family-wise errors of roles, nots and explained heads: median / largest."""
    rows = []
    for setting in ("as is", "at the margin"):
        for units in column_units(data):
            cells = [
                cell for cell in column_cells(data, units, True) if cell["contrast"] or setting == "as is"
            ]
            texts = []
            for number, claim in enumerate(CLAIMS):
                having = [cell for cell in cells if claim != "explained" or cell["contrast"]]
                for guard in ("bare", "guarded"):
                    texts.append(_summary(_figures(data, having, f"{setting}, {guard}", 3 * number)))
            rows.append([setting, str(units), *texts])
    header = [f"{claim}, {guard}" for claim in CLAIMS for guard in ("bare", "guarded")]
    return table(["contrast", "n", *header], rows)


def parked(data: dict[str, Any]) -> list[str]:
    """Return the errors of the role parked, with heads at θ by weight, and with all at the margin by norm."""
    rows = []
    for cell in column_cells(data, role=True, parked=True):
        by_weight, by_norm = cell["errors"]["all, guarded"][0], cell["errors"]["at the margin, guarded"]
        numbers = (by_weight, by_norm[0], by_norm[6])
        rows.append([cell["task"], str(cell["units"]), *(share(number) for number in numbers)])
    header = ["task", "n", "s at θ: beyond θ", "t at its margin: parked", "t at its margin: takes values"]
    return table(header, rows)


def kept(data: dict[str, Any]) -> list[str]:
    """Return the mean number of labels of a run under fdr_bh, without the guard and with it."""
    rows = []
    for task in dict.fromkeys(cell["task"] for cell in column_cells(data)):
        for units in column_units(data):
            cells = [cell for cell in column_cells(data, units, True) if cell["task"] == task]
            texts = []
            for number, claim in enumerate(CLAIMS):
                having = [cell for cell in cells if claim != "explained" or cell["contrast"]]
                for guard in ("bare", "guarded"):
                    place = 3 * number + 2
                    texts.append(f"{sum(cell['errors'][f'as is, {guard}'][place] for cell in having):.1f}")
            rows.append([task, str(units), *texts])
    header = [f"{claim}, {guard}" for claim in CLAIMS for guard in ("bare", "guarded")]
    return table(["task", "n", *header], rows)


def intervals(data: dict[str, Any]) -> list[str]:
    """Return the coverage of the 95 % intervals of single heads."""
    rows = []
    for name, chosen in (
        ("relations", lambda cell: cell["sieve"].count(":") and cell["sieve"].startswith("syntactic:")),
        ("all others", lambda cell: not cell["sieve"].startswith("syntactic:")),
    ):
        for units in column_units(data):
            cells = [cell for cell in column_cells(data, units) if chosen(cell)]
            if not cells:
                continue
            means = [cell["coverage"]["mean"] for cell in cells]
            least = min(cells, key=lambda cell: cell["coverage"]["worst"])
            low = sum(cell["coverage"]["below 0.9"] for cell in cells)
            heads = sum(cell["heads"] for cell in cells)
            marked = sum(cell["coverage"]["marked"] * cell["heads"] for cell in cells) / heads
            rows.append(
                [
                    name,
                    str(units),
                    f"{share(min(means))} to {share(max(means))}",
                    f"{share(least['coverage']['worst'], 2)} ({least['task']} {least['sieve']})",
                    f"{low} of {heads:,}",
                    share(marked),
                ]
            )
    header = ["columns", "n", "mean over heads", "worst head", "heads covered below 0.9", "marked"]
    return table(header, rows)


def notable(data: dict[str, Any]) -> list[str]:
    """Return every guarded error that is clearly above what alpha says, in words."""
    lines = []
    for setting, words in SETTINGS:
        for place, side in enumerate(SIDES):
            figures = [
                figure
                for figure in _figures(data, column_cells(data), f"{setting}, guarded", place)
                if figure[0] > NOTABLE and figure[0] - 2 * figure[1] > 0.05
            ]
            named = "; ".join(f"{name} {share(value, 2)}" for value, _, name in sorted(figures, reverse=True))
            lines.append(f"- **{side} θ, {words}**: {named or f'nowhere above {NOTABLE:g}'}.")
    return [*lines, ""]
