"""Write and read the origins of roles as files of a run folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headroles.records.causal.ablation import HeldRoles
from headroles.records.causal.origins import (
    DIMENSION_TESTS,
    KNOCKOUTS,
    ORIGINS,
    Knocked,
    Origins,
    Products,
)
from headroles.records.example import Scores
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of
from headroles.storage.folder import PRODUCTS
from headroles.storage.tables import read_table

TABLES = {"origins": ORIGINS, "dimensions": DIMENSION_TESTS, "knockouts": KNOCKOUTS}
"""Tables, by the field of ``Origins``."""
ARRAYS: dict[str, type] = {"held": HeldRoles, "products": Products, "knocked": Knocked}
"""Kind of record, by the field of ``Origins`` that the archive holds; the last may be missing."""


def origin_files(origins: Origins) -> dict[str, str | bytes]:
    """Return every file by name; NaN is an empty cell, and a table of knock-outs without rows is left out.

    ``origins.npz`` holds the roles, the parts of contrasts, and the scores before and after removals. The
    names of its arrays begin with the field of ``Origins`` that they belong to.
    """
    contents: dict[str, str | bytes] = {
        table.file: getattr(origins, field).csv()
        for field, table in TABLES.items()
        if getattr(origins, field) or table is not KNOCKOUTS
    }
    arrays = {
        f"{field}.{name}": array
        for field in ARRAYS
        if (record := getattr(origins, field)) is not None
        for name, array in arrays_of(record).items()
    }
    return contents | {PRODUCTS: archive_bytes(arrays, compressed=True)}


def origin_texts(origins: Origins) -> dict[str, str]:
    """Return the text of every table by the name of its file."""
    return {name: text for name, text in origin_files(origins).items() if isinstance(text, str)}


def read_origins(folder: Path, scores: Scores) -> Origins:
    """Read tests and parts of contrasts from a run folder.

    Args:
        folder: Folder of the run.
        scores: Its scores.

    Raises:
        KeyError: When a column or an array is missing.
        OSError: When the archive is missing.
        ValueError: When a file is damaged, or has heads, roles, units or words that the run has not.
        BadInput: When arrays do not fit together.
    """
    archive = read_archive((folder / PRODUCTS).read_bytes(), PRODUCTS)
    parts: dict[str, Any] = {field: _record_of(kind, field, archive) for field, kind in ARRAYS.items()}
    for field in ("held", "products"):
        if parts[field] is None:
            raise ValueError(f"{PRODUCTS} has no arrays of {field}")
    parts |= {field: read_table(table, folder / table.file) for field, table in TABLES.items()}
    origins = Origins(**parts)
    _check_families(origins, scores)
    return origins


def _record_of(kind: type, field: str, archive: Mapping[str, np.ndarray]) -> Any:
    """Return the record of a field from the arrays of an archive; None where it has none of them."""
    own = {name.partition(".")[2]: array for name, array in archive.items() if name.startswith(f"{field}.")}
    return record_of(kind, own) if own else None


def _check_families(origins: Origins, scores: Scores) -> None:
    """Refuse families of other heads or roles, units that the run lacks, and rows of other families."""
    held, products, knocked = origins.held, origins.products, origins.knocked
    grid = (scores.layers, scores.heads)
    if held.decision.shape[1:] != grid:
        raise ValueError(f"{PRODUCTS} is not of the heads of the run")
    families = [*zip(products.roles, products.layers.tolist(), products.heads.tolist(), strict=True)]
    for role, layer, head in families:
        inside = 0 <= layer < grid[0] and 0 <= head < grid[1]
        if role not in held.roles or not inside or not held.heads(role)[layer, head]:
            raise ValueError(f"{PRODUCTS} has head {layer}-{head} as {role!r}, which it does not hold")
    if [(row.role, row.layer, row.head) for row in origins.origins] != families:
        raise ValueError(f"the rows of {ORIGINS.file} are not those of {PRODUCTS}")
    for row in (*origins.dimensions, *origins.knockouts):
        if (row.role, row.layer, row.head) not in families:
            raise ValueError(
                f"there is a row of head {row.layer}-{row.head}, which does not hold {row.role!r}"
            )
    units = {*scores.units}
    for record in (products, knocked):
        if record is not None and not units.issuperset(record.units):
            raise ValueError(f"{PRODUCTS} has units that the run has not")
    rows = 0 if knocked is None else len(knocked.by)
    if rows != len(origins.knockouts):
        raise ValueError(f"{PRODUCTS} has {rows} scores after removals, but {len(origins.knockouts)} tests")
    if knocked is not None and not all(0 <= family < len(families) for family in knocked.family):
        raise ValueError(f"{PRODUCTS} has removals of families that it has not")
