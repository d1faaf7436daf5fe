"""Folder of an atlas: writing its tables, manifest and page, and reading the atlas back."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.assessment import SEVERAL
from headroles.records.atlas.across import CONSENSUS, TRENDS
from headroles.records.atlas.atlas import (
    AGREEMENT,
    FINDINGS,
    NUMBERS,
    SEVERAL_OF_RUNS,
    Atlas,
    AtlasRun,
    RunRoles,
)
from headroles.records.table import Table
from headroles.storage.folder import (
    ATLAS,
    MANIFEST,
    REPORT,
    figure_names,
    make_folder,
    write_errors,
)
from headroles.storage.integrity.manifest import damaged_error, manifest_text, read_checked_manifest
from headroles.storage.integrity.reading import check_files, read_settled
from headroles.storage.integrity.switch import replace_files
from headroles.storage.run import digests
from headroles.storage.tables import read_table

READ = frozenset(table.file for table in (FINDINGS, SEVERAL_OF_RUNS, AGREEMENT, CONSENSUS, TRENDS))
"""Files that an atlas is read from."""
HELD = "role"
"""The verdict of heads that hold a role."""


def write_atlas(folder: Path, atlas: Atlas, report: str) -> None:
    """Write manifest, tables and page; the folder appears or changes completely or not at all.

    Raises:
        BadInput: When it cannot be written.
    """
    texts = {**atlas_texts(atlas), REPORT: report}
    texts[MANIFEST] = manifest_text(dict(atlas.manifest) | {"files": digests(texts)})
    with write_errors(f"the atlas '{folder}'"), make_folder(folder):
        replace_files(folder, texts, figure_names(folder), MANIFEST)


def atlas_texts(atlas: Atlas) -> dict[str, str]:
    """Return the text of every table of an atlas by file name."""
    tables = (atlas.table, atlas.layers, atlas.agreement, atlas.consensus, atlas.steps)
    return {table.file: table.csv() for table in tables}


def load_atlas(folder: Path) -> Atlas:
    """Read an atlas from its folder, for its figures and tables.

    Raises:
        BadInput: When the folder is no complete atlas, or a file of it was altered.
    """
    return read_settled(folder, _load_atlas)


def _load_atlas(folder: Path) -> Atlas:
    """Read an atlas from a folder that no command is changing."""
    manifest = read_checked_manifest(folder, ATLAS)
    try:
        check_files(folder, manifest.pop("files"), READ.__contains__)
        runs = tuple(_run(fields) for fields in manifest["runs"])
        findings, several, agreement, consensus, trends = (
            read_table(table, folder / table.file)
            for table in (FINDINGS, SEVERAL_OF_RUNS, AGREEMENT, CONSENSUS, TRENDS)
        )
        own = (several.where(run=run.name) for run in runs)
        return Atlas(
            runs,
            tuple(_findings(run, findings.where(run=run.name)) for run in runs),
            tuple(SEVERAL.of(**rows.data) for rows in own),
            agreement,
            consensus,
            trends,
            manifest,
            tuple(manifest.get("remarks", ())),
        )
    except (OSError, KeyError, TypeError, ValueError, csv.Error, BadInput) as error:
        raise damaged_error(folder, ATLAS, error) from error


def _run(fields: dict[str, Any]) -> AtlasRun:
    """Return a run from its entry in the manifest, which also has the facts of its own manifest."""
    known = {name: fields[name] for name in AtlasRun.__dataclass_fields__}
    return AtlasRun(**known | {"tokens": float(known["tokens"]), "layers": tuple(known["layers"])})


def _findings(run: AtlasRun, rows: Table) -> RunRoles:
    """Return the findings of one run from its rows, which are every role, layer and head in turn.

    Raises:
        ValueError: When a row is missing or out of place, or a cell is no number.
    """
    roles = tuple(dict.fromkeys(rows["sieve"].tolist()))
    shape = (len(roles), len(run.layers), run.heads)
    places = [(roles[role], run.layers[layer], head) for role, layer, head in np.ndindex(shape)]
    if not rows or [(row.sieve, row.layer, row.head) for row in rows] != places:
        raise ValueError(f"the rows of {run.name!r} are not every role, layer and head in turn")
    numbers = {name: rows[name].reshape(shape) for name in NUMBERS}
    verdict = rows["verdict"].reshape(shape)
    return RunRoles(roles, numbers, verdict, verdict == HELD)
