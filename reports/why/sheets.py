"""Origins of roles as tables that sort: roles, heads, dimensions and removals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.records.causal.origins import (
    BY_QUERY,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    VERTICAL,
    DimensionTest,
    KnockOut,
    Origin,
)
from headroles.records.findings import Labelling
from headroles.records.numbers import number
from headroles.reports.print.captions import decision_sentence, inputs_text
from headroles.reports.print.run_tables import findings_table
from headroles.reports.sheets import (
    ENDS,
    MISSING,
    Cell,
    Sheet,
    Sheets,
    chance_cell,
    columns_of_records,
    count_cell,
    number_cell,
    place_cell,
    range_cell,
    word_cell,
)
from headroles.reports.why.words import (
    FAMILIES,
    REMOVED,
    RoleCounts,
    counts_by_role,
    origins_of,
    pairs,
    share_text,
    spread,
)

ROLES = (
    "role", "heads", VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE, "vertical share", "few neurons",
    "participation", "when rotated", "found", "directions", "falls without",
)  # fmt: skip
HEADS = (
    "head", "role", "units", f"contrast {ENDS}", "position bias", f"vertical share {ENDS}", "q vertical",
    "q by query", "verdict", "participation", "when rotated", "q few", "neurons", "found", "directions",
    "strongest", "95\u00a0% by chance",
)  # fmt: skip
KNOCKOUTS = (
    "head", "removed", "of role", "directions", "scored", "units", "threshold", "before", f"after {ENDS}",
    "q falls", "q holds", "verdict",
)  # fmt: skip
BY_ROLE = ("role", "heads", VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE, "few", "rotated", "found")
"""Columns of the table of roles with all digits."""
BEYOND = ("directions", "strongest", "95\u00a0% by chance")
"""Columns of the table of heads that need re-deals."""


def roles_sheet(labelling: Labelling) -> Sheet:
    """Return one line per role: its heads by verdict, shares, neurons and directions."""
    origins = origins_of(labelling)
    sheet = Sheet("Roles", ROLES, tuple(_role(one) for one in counts_by_role(origins)))
    left_out = {
        *(("few neurons", "when rotated") if not origins.products.free.all() else ()),
        *(("directions",) if all(row.rank < 0 for row in origins.origins) else ()),
        *(("falls without",) if not any(test.by == SUBSPACE for test in origins.knockouts) else ()),
    }
    return sheet.pick(name for name in ROLES if name not in left_out)


def _role(one: RoleCounts) -> tuple[Cell, ...]:
    """Return the line of one role."""
    falls, tested = one.fallen
    return (
        word_cell(one.role), count_cell(len(one.rows)),
        *(count_cell(one.count(word)) for word in (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)),
        _spread(one.shares), _of(one.few, one.free),
        number_cell(_median([row.participation for row in one.rows])),
        number_cell(_median([row.rotated for row in one.rows])), count_cell(one.found),
        _spread(one.ranks, number), _of(falls, tested),
    )  # fmt: skip


def _median(values: Sequence[float]) -> float:
    """Return the median of the known numbers; NaN without any."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else math.nan


def _spread(values: Sequence[float], text: Callable[[float], str] | None = None) -> Cell:
    """Return the median with its range as a cell."""
    if not values:
        return MISSING
    return Cell(spread(values) if text is None else spread(values, text), float(np.median(values)))


def _of(part: int, whole: int) -> Cell:
    """Return a count of a whole as a cell."""
    return Cell(f"{part:,} of {whole:,}", part) if whole else MISSING


def heads_sheet(labelling: Labelling) -> Sheet | None:
    """Return one line per head and role with all tests; None where no head holds a role."""
    origins = origins_of(labelling)
    if not origins.origins:
        return None
    sheet = Sheet("Heads", HEADS, tuple(_head(row) for row in origins.origins))
    left_out = {
        *(("position bias",) if not any(row.bias for row in origins.origins) else ()),
        *(("when rotated", "q few", "neurons") if not origins.products.free.all() else ()),
        *(BEYOND if all(row.rank < 0 for row in origins.origins) else ()),
    }
    return sheet.pick(name for name in HEADS if name not in left_out)


def _head(row: Origin) -> tuple[Cell, ...]:
    """Return the line of one role of one head."""
    return (
        place_cell(row.layer, row.head), word_cell(row.role), count_cell(row.count),
        range_cell(number, row.contrast, row.low, row.high), number_cell(row.bias),
        Cell(share_text(row), row.share), chance_cell(row.q_vertical), chance_cell(row.q_query),
        word_cell(row.verdict), number_cell(row.participation), number_cell(row.rotated),
        chance_cell(row.q_few), word_cell(row.few), count_cell(row.found),
        count_cell(row.rank) if row.rank >= 0 else MISSING, number_cell(row.strongest),
        number_cell(row.expected),
    )  # fmt: skip


def dimensions_sheet(labelling: Labelling, *, found: bool = False) -> Sheet | None:
    """Return one line per head, role and dimension; None without any.

    Args:
        labelling: Of a run that asks where roles come from.
        found: Whether only those with more than twice their fair share are listed.
    """
    origins = origins_of(labelling)
    rows = tuple(_dimension(row) for row in origins.dimensions if row.found or not found)
    name = "frequency pair" if pairs(origins) else "dimension"
    header = ("head", "role", name, "units", f"part {ENDS}", "share", "p", "q", "level", "found")
    sheet = Sheet("Found dimensions" if found else "Dimensions", header, rows)
    if not rows:
        return None
    return sheet.pick(header[:-1]) if found else sheet


def _dimension(row: DimensionTest) -> tuple[Cell, ...]:
    """Return the line of one dimension."""
    return (
        place_cell(row.layer, row.head), word_cell(row.role), count_cell(row.dimension),
        count_cell(row.count), range_cell(number, row.mean, row.low, row.high), number_cell(row.share),
        chance_cell(row.p), chance_cell(row.q), number_cell(row.level),
        word_cell("found" if row.found else "–"),
    )  # fmt: skip


def knockouts_sheet(labelling: Labelling) -> Sheet | None:
    """Return one line per removal and scored role; None where nothing was removed."""
    rows = tuple(_knockout(row) for row in origins_of(labelling).knockouts)
    return Sheet("Removals", KNOCKOUTS, rows) if rows else None


def _knockout(row: KnockOut) -> tuple[Cell, ...]:
    """Return the line of one removal."""
    return (
        place_cell(row.layer, row.head), word_cell(REMOVED.get(row.by, row.by)), word_cell(row.role),
        count_cell(row.removed), word_cell(row.scored), count_cell(row.count), number_cell(row.threshold),
        number_cell(row.before), range_cell(number, row.after, row.low, row.high), chance_cell(row.q_falls),
        chance_cell(row.q_holds), word_cell(row.verdict),
    )  # fmt: skip


def why_tables(labelling: Labelling) -> Sheets:
    """Return functions that make the tables of a run for papers, by name; the first is the main one.

    Args:
        labelling: Of a run that asks where roles come from.
    """
    origins = origins_of(labelling)
    tests: dict[str, tuple[Callable[[Labelling], Sheet | None], str, type, Sequence[Any]]] = {
        "heads": (heads_sheet, "Origins of the roles of heads", Origin, origins.origins),
        "dimensions": (dimensions_sheet, "Parts of dimensions", DimensionTest, origins.dimensions),
        "removals": (knockouts_sheet, "Scores without directions of queries", KnockOut, origins.knockouts),
    }
    return {
        "roles": partial(_roles_table, labelling),
        **{name: partial(_test_table, labelling, *test) for name, test in tests.items() if test[-1]},
        "findings": partial(findings_table, labelling),
    }


def _caption(labelling: Labelling, title: str) -> str:
    """Return the caption of a table: what it shows, model, inputs, and how it was decided."""
    units = len(origins_of(labelling).products.units)
    note = decision_sentence(labelling.decision, units, FAMILIES)
    return f"{title}{inputs_text(labelling.manifest)}, with 95\u00a0% intervals. {note}"


def _roles_table(labelling: Labelling) -> Sheet:
    """Return the counts of roles with caption and all digits."""
    values = [
        (
            one.role, len(one.rows),
            *(one.count(word) for word in (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)), one.few, one.free,
            one.found,
        )
        for one in counts_by_role(origins_of(labelling))
    ]  # fmt: skip
    caption = _caption(labelling, "Heads by role and by origin of the role")
    return replace(roles_sheet(labelling), caption=caption, columns=BY_ROLE, values=tuple(values))


def _test_table(
    labelling: Labelling,
    make: Callable[[Labelling], Sheet | None],
    title: str,
    kind: type,
    rows: Sequence[Any],
) -> Sheet:
    """Return a table of tests with caption and all digits.

    Raises:
        ValueError: When the run has no such tests.
    """
    sheet, (columns, values) = make(labelling), columns_of_records(kind, rows)
    if sheet is None:
        raise ValueError(f"the run has no tests for the table {title!r}")
    return replace(sheet, caption=_caption(labelling, title), columns=columns, values=values)
