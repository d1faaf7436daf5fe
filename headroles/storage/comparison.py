"""Folder of a comparison: writing its tables, manifest and report, and reading the comparison back."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.comparison import COLUMNS, OUTCOMES, Comparison, Differences, LayerChange, RoleChange
from headroles.records.findings import COLUMNS as FINDINGS_COLUMNS
from headroles.records.findings import Findings
from headroles.records.layers import stack_of
from headroles.records.rules.rule import Decision, Rule
from headroles.storage.folder import (
    COMPARISON,
    DIFFERENCES,
    LABELS,
    LAYERS,
    MANIFEST,
    REPORT,
    SWAPS,
    figure_names,
    make_folder,
    write_errors,
)
from headroles.storage.integrity.manifest import damaged_error, manifest_text, read_checked_manifest
from headroles.storage.integrity.reading import check_files, read_settled
from headroles.storage.integrity.switch import replace_files
from headroles.storage.run import digests
from headroles.storage.tables import places_of_layers, read_csv, read_head_grids, read_records

READ = frozenset({DIFFERENCES, LABELS, LAYERS, SWAPS})
"""Files that a comparison is read from."""


def write_comparison(folder: Path, comparison: Comparison, report: str) -> None:
    """Write manifest, tables and report; the folder appears or changes completely or not at all.

    Raises:
        BadInput: When it cannot be written.
    """
    texts = {
        DIFFERENCES: comparison.frame().to_csv(index=False, lineterminator="\n"),
        LABELS: comparison.labels().to_csv(index=False, lineterminator="\n"),
        LAYERS: comparison.by_layer().to_csv(index=False, lineterminator="\n"),
        SWAPS: comparison.by_role().to_csv(index=False, lineterminator="\n"),
        REPORT: report,
    }
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
            differences = _read_differences(folder / DIFFERENCES, rules)
        labels = read_csv(folder / LABELS)
        before, after = (_run_findings(differences, labels, name) for name in "ab")
        return Comparison(
            differences,
            before,
            after,
            Decision(**manifest["decision"]),
            float(manifest["settings"]["bound"]),
            layers=tuple(read_records(LayerChange, folder / LAYERS)),
            swaps=tuple(read_records(RoleChange, folder / SWAPS)),
            manifest=manifest,
            remarks=tuple(manifest.get("remarks", ())),
        )
    except (OSError, KeyError, TypeError, ValueError, csv.Error, BadInput) as error:
        raise damaged_error(folder, COMPARISON, error) from error


def _read_differences(path: Path, rules: tuple[Rule, ...]) -> Differences:
    rows, arrays = read_head_grids(path, [rule.sieve for rule in rules], COLUMNS)
    outcome = np.array([OUTCOMES.index(row["outcome"]) for row in rows]).reshape(arrays["count"].shape)
    return Differences(rules=rules, outcome=outcome, **arrays)


def _run_findings(differences: Differences, labels: Sequence[Mapping[str, str]], run: str) -> Findings:
    """Return the findings of run A or B, as far as the comparison's tables have them."""
    shape = differences.count.shape
    role_lists = [f";{row[f'roles_{run}']};" for row in labels]
    decision = np.full(shape, -1, dtype=np.int8)
    for place, rule in enumerate(differences.rules):
        if rule.role:
            holders = np.array([f";{rule.sieve};" in names for names in role_lists]).reshape(shape[1:])
            decision[place][holders] = 0
    arrays: dict[str, Any] = {name: np.full(shape, np.nan) for name in FINDINGS_COLUMNS}
    arrays |= {"count": differences.count, "mean": getattr(differences, f"mean_{run}")}
    return Findings(rules=differences.rules, decision=decision, **arrays)
