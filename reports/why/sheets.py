"""Origins of roles as tables that sort: roles, heads, dimensions and removals."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.records.causal.origins import BY_QUERY, SUBSPACE, UNDETERMINED, UNTESTABLE, VERTICAL, Origins
from headroles.records.findings import Labelling
from headroles.records.numbers import number, two_decimals
from headroles.records.table import COUNT, MISSING, Cell, Column, Row, Sheet, Table, counted
from headroles.reports import sheets
from headroles.reports.papers import findings_table
from headroles.reports.print.captions import decision_sentence, inputs_text
from headroles.reports.why.words import FAMILIES, RoleCounts, counts_by_role, origins_of, pairs


def _spread(name: str, text: Callable[[float], str]) -> Callable[[Row], Cell]:
    """Return what writes a median with the smallest and largest number; one where all look alike."""

    def cell(row: Row) -> Cell:
        middle, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
        if math.isnan(middle):
            return MISSING
        ends = f" ({text(low)} to {text(high)})" if text(low) != text(high) else ""
        return Cell(f"{text(middle)}{ends}", middle)

    return cell


def _of(part: str, whole: str) -> Callable[[Row], Cell]:
    """Return what writes a count of a whole."""

    def cell(row: Row) -> Cell:
        one, all_of_it = getattr(row, part), getattr(row, whole)
        return Cell(f"{one:,} of {all_of_it:,}", one) if all_of_it else MISSING

    return cell


ROLES = Table(
    "",
    "Heads by role and by origin of the role",
    "a role",
    (
        Column("role", "The role.", str, "role", terminal="narrow"),
        counted("heads", "Heads that hold it.", "heads", terminal="narrow"),
        counted(VERTICAL, "Heads by verdict.", VERTICAL, terminal="narrow", short="verti-\ncal"),
        counted(BY_QUERY, "Heads by verdict.", BY_QUERY, terminal="narrow", short="by\nquery"),
        counted(
            UNDETERMINED, "Heads by verdict.", UNDETERMINED, terminal="wide", short="unde-\nter-\nmined"
        ),
        counted(UNTESTABLE, "Heads by verdict.", UNTESTABLE, terminal="wide", short="untest-\nable"),
        Column(
            "share", "Median vertical share of the heads that were tested.", float, "vertical share",
            cell=_spread("share", two_decimals), terminal="narrow", short="vertical\nshare",
        ),
        Column("share_low", "Smallest share."),
        Column("share_high", "Largest share."),
        counted(
            "few", "Heads with few neurons.", "few neurons", cell=_of("few", "rotated"), terminal="narrow",
            short="few\nneurons",
        ),
        counted("rotated", "Heads that were compared with rotations."),
        Column(
            "participation", "Median participation.", float, "participation", terminal="wide",
            short="partici-\npation", within=COUNT,
        ),
        Column(
            "when_rotated", "Median participation when rotated.", float, "when rotated", terminal="wide",
            short="when\nrotated", within=COUNT,
        ),
        counted(
            "found", "Dimensions, or frequency pairs, with more than twice their fair share.", "found",
            terminal="wide",
        ),
        Column(
            "rank", "Median number of directions beyond distance.", float, "directions",
            cell=_spread("rank", number), terminal="wide", short="direc-\ntions", within=COUNT,
        ),
        Column("rank_low", "Smallest number.", within=COUNT),
        Column("rank_high", "Largest number.", within=COUNT),
        counted(
            "falls", "Heads that lose the role without these directions.", "falls without",
            cell=_of("falls", "removed"), terminal="narrow", short="falls\nwithout",
        ),
        counted("removed", "Heads whose score without them was tested."),
    ),
    name="Roles",
)  # fmt: skip
"""Heads by role."""
BY_ROLE = ("role", "heads", VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE, "few", "rotated", "found")
"""Columns of the table of roles with all digits."""


def roles_sheet(labelling: Labelling, width: str = "") -> Sheet:
    """Return one line per role: its heads by verdict, shares, neurons and directions.

    Args:
        labelling: Of a run that asks where roles come from.
        width: As of ``Table.sheet``.
    """
    origins = origins_of(labelling)
    left_out = {
        *(("few", "when_rotated") if not origins.products.free.all() else ()),
        *(("rank",) if (origins.origins["rank"] < 0).all() else ()),
        *(("falls",) if not origins.knockouts.where(by=SUBSPACE) else ()),
    }
    return _roles(origins).sheet(width, leave=left_out)


def _roles(origins: Origins) -> Table:
    """Return the counts of every role."""
    return ROLES.rows(_role(one) for one in counts_by_role(origins))


def _role(one: RoleCounts) -> dict[str, Any]:
    """Return the counts of one role."""
    falls, tested = one.fallen
    return {
        "role": one.role,
        "heads": len(one.rows),
        **{word: one.count(word) for word in (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)},
        **_ends("share", one.shares),
        "few": one.few,
        "rotated": one.free,
        "participation": _median(one.rows["participation"]),
        "when_rotated": _median(one.rows["rotated"]),
        "found": one.found,
        **_ends("rank", one.ranks),
        "falls": falls,
        "removed": tested,
    }


def _median(values: np.ndarray) -> float:
    """Return the median of the known numbers; NaN without any."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else math.nan


def _ends(name: str, values: tuple[float, ...]) -> dict[str, float]:
    """Return median, smallest and largest of some numbers by the names of their columns; NaN without any."""
    ends = (float(np.median(values)), min(values), max(values)) if values else (math.nan,) * 3
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


def heads_sheet(labelling: Labelling, width: str = "") -> Sheet | None:
    """Return one line per head and role with all tests; None where no head holds a role.

    Args:
        labelling: Of a run that asks where roles come from.
        width: As of ``Table.sheet``.
    """
    origins = origins_of(labelling)
    table = origins.origins
    if not table:
        return None
    left_out = {
        *(("bias",) if not table["bias"].any() else ()),
        *(("rotated", "q_few", "few") if not origins.products.free.all() else ()),
        *(("rank", "strongest", "expected") if (table["rank"] < 0).all() else ()),
    }
    return table.sheet(width, leave=left_out)


def dimensions_sheet(labelling: Labelling, width: str = "", *, found: bool = False) -> Sheet | None:
    """Return one line per head, role and dimension; None without any.

    Args:
        labelling: Of a run that asks where roles come from.
        width: As of ``Table.sheet``.
        found: Whether only those with more than twice their fair share are listed.
    """
    origins = origins_of(labelling)
    table = origins.dimensions
    if pairs(origins):
        table = table.describe("dimension", heading="frequency pair", short="fre-\nquency\npair")
    if found:
        table = replace(table.where(found=True), name="Found dimensions")
    return table.sheet(width, leave=("found",) if found else ()) if table else None


def knockouts_sheet(labelling: Labelling, width: str = "") -> Sheet | None:
    """Return one line per removal and scored role; None where nothing was removed.

    Args:
        labelling: Of a run that asks where roles come from.
        width: As of ``Table.sheet``; terminals have the threshold behind the score.
    """
    table = origins_of(labelling).knockouts
    if width:
        table = replace(table, first=("head", "by", "role", "scored", "before", "after"))
    return table.sheet(width) if table else None


def why_tables(labelling: Labelling) -> sheets.Sheets:
    """Return functions that make the tables of a run for papers, by name; the first is the main one.

    Args:
        labelling: Of a run that asks where roles come from.
    """
    origins = origins_of(labelling)
    tests: dict[str, tuple[Callable[[Labelling], Sheet | None], str, Table]] = {
        "heads": (heads_sheet, "Origins of the roles of heads", origins.origins),
        "dimensions": (dimensions_sheet, "Parts of dimensions", origins.dimensions),
        "removals": (knockouts_sheet, "Scores without directions of queries", origins.knockouts),
    }
    return {
        "roles": lambda: _for_paper(labelling, roles_sheet(labelling), ROLES.title, _roles(origins), BY_ROLE),
        **{
            name: partial(_test_table, labelling, make, title, table)
            for name, (make, title, table) in tests.items()
            if table
        },
        "findings": partial(findings_table, labelling),
    }


def _test_table(
    labelling: Labelling, make: Callable[[Labelling], Sheet | None], title: str, table: Table
) -> sheets.Sheet:
    """Return a table of tests with caption and all digits.

    Raises:
        ValueError: When the run has no such tests.
    """
    sheet = make(labelling)
    if sheet is None:
        raise ValueError(f"the run has no tests for the table {title!r}")
    return _for_paper(labelling, sheet, title, table)


def _for_paper(
    labelling: Labelling, sheet: Sheet, title: str, table: Table, columns: Iterable[str] = ()
) -> sheets.Sheet:
    """Return a table with a caption (what it shows, model, inputs, how it was decided) and all digits."""
    units = len(origins_of(labelling).products.units)
    note = decision_sentence(labelling.decision, units, FAMILIES)
    caption = f"{title}{inputs_text(labelling.manifest)}, with 95\u00a0% intervals. {note}"
    return sheets.with_digits(sheet, table, caption=caption, columns=columns)
