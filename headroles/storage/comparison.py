"""Folder of a comparison: writing its tables, manifest and report, and reading the comparison back."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.comparison import (
    DIFFERENCES,
    LAYERS,
    MOVED,
    OUTCOMES,
    SWAPS,
    Comparison,
    Differences,
)
from headroles.records.findings import COLUMNS as FINDINGS_COLUMNS
from headroles.records.findings import Findings
from headroles.records.layers import stack_of
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Table
from headroles.storage.folder import (
    COMPARISON,
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
from headroles.storage.tables import places_of_layers, read_head_grids, read_table

READ = frozenset(table.file for table in (DIFFERENCES, MOVED, LAYERS, SWAPS))
"""Files that a comparison is read from."""


def write_comparison(folder: Path, comparison: Comparison, report: str) -> None:
    """Write manifest, tables and report; the folder appears or changes completely or not at all.

    Raises:
        BadInput: When it cannot be written.
    """
    tables = (comparison.table, comparison.moved, comparison.layers, comparison.swaps)
    texts = {table.file: table.csv() for table in tables} | {REPORT: report}
    texts[MANIFEST] = manifest_text(dict(comparison.manifest) | {"files": digests(texts)})
    with write_errors(f"the comparison '{folder}'"), make_folder(folder):
        replace_files(folder, texts, figure_names(folder), MANIFEST)


def load_comparison(folder: Path) -> Comparison:
    """Read a comparison from its folder, for its figures and tables.

    Of the two runs it has only the content of its tables: the number of units, the means, and the heads
    with a role (decision 0; every other head −1). Their other columns are NaN.

    Raises:
        BadInput: When the folder is no complete comparison, or a file of it was altered.
    """
    return read_settled(folder, _load_comparison)


def _load_comparison(folder: Path) -> Comparison:
    """Read a comparison from a folder that no command is changing."""
    manifest = read_checked_manifest(folder, COMPARISON)
    try:
        check_files(folder, manifest.pop("files"), READ.__contains__)
        rules = tuple(Rule(**fields) for fields in manifest["rules"])
        with places_of_layers(stack_of(manifest["a"]["model"])):
            arrays = read_head_grids(DIFFERENCES, folder, [rule.sieve for rule in rules])
        outcome = np.vectorize(OUTCOMES.index, otypes=[np.int64])(arrays.pop("outcome"))
        differences = Differences(rules=rules, outcome=outcome, **arrays)
        labels = read_table(MOVED, folder / MOVED.file)
        before, after = (_run_findings(differences, labels, name) for name in "ab")
        return Comparison(
            differences,
            before,
            after,
            Decision(**manifest["decision"]),
            float(manifest["settings"]["bound"]),
            layers=read_table(LAYERS, folder / LAYERS.file),
            swaps=read_table(SWAPS, folder / SWAPS.file),
            manifest=manifest,
            remarks=tuple(manifest.get("remarks", ())),
        )
    except (OSError, KeyError, TypeError, ValueError, csv.Error, BadInput) as error:
        raise damaged_error(folder, COMPARISON, error) from error


def _run_findings(differences: Differences, labels: Table, run: str) -> Findings:
    """Return the findings of run A or B, as far as the comparison's tables have them."""
    shape = differences.count.shape
    role_lists = [f";{roles};" for roles in labels[f"roles_{run}"]]
    decision = np.full(shape, -1, dtype=np.int8)
    for place, rule in enumerate(differences.rules):
        if rule.role:
            holders = np.array([f";{rule.sieve};" in names for names in role_lists]).reshape(shape[1:])
            decision[place][holders] = 0
    arrays: dict[str, Any] = {name: np.full(shape, np.nan) for name in FINDINGS_COLUMNS}
    arrays |= {"count": differences.count, "mean": getattr(differences, f"mean_{run}")}
    return Findings(rules=differences.rules, decision=decision, **arrays)
