"""Folder of a comparison: writing its tables, manifest and report, and reading the comparison back."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.comparison import COLUMNS, OUTCOMES, Comparison, Differences, LayerChange, RoleChange
from headroles.records.example import Decision, Rule
from headroles.records.findings import COLUMNS as FINDINGS_COLUMNS
from headroles.records.findings import Findings
from headroles.storage.folder import (
    FIGURES,
    LABELS,
    MANIFEST,
    REPORT,
    Kind,
    read_manifest,
    stage_folder,
    write_errors,
    write_files,
)
from headroles.storage.tables import read_csv, read_head_grids, read_records

DIFFERENCES, LAYERS, SWAPS = "differences.csv", "layers.csv", "swaps.csv"
COMPARISON = Kind("comparison", frozenset({MANIFEST, DIFFERENCES, LABELS, LAYERS, SWAPS, REPORT, FIGURES}))


def write_comparison(folder: Path, comparison: Comparison, report: str) -> None:
    """Write manifest, tables and report; the folder appears completely or not at all.

    Raises:
        BadInput: When it cannot be written.
    """
    texts = {
        DIFFERENCES: comparison.frame().to_csv(index=False, lineterminator="\n"),
        LABELS: comparison.labels().to_csv(index=False, lineterminator="\n"),
        LAYERS: comparison.by_layer().to_csv(index=False, lineterminator="\n"),
        SWAPS: comparison.by_role().to_csv(index=False, lineterminator="\n"),
        REPORT: report,
        MANIFEST: json.dumps(dict(comparison.manifest), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
    with stage_folder(folder) as staging, write_errors(f"the comparison '{folder}'"):
        write_files({staging / name: text for name, text in texts.items()})


def is_comparison(folder: Path) -> bool:
    """Return whether a folder's manifest says that it is a comparison."""
    return read_manifest(folder).get("kind") == COMPARISON.name


def load_comparison(folder: Path) -> Comparison:
    """Read a comparison from its folder, for its figures and tables.

    Of the two runs it has only the content of its tables: the number of units, the means, and the heads
    with a role (decision 0; every other head −1). Their other columns are NaN.

    Raises:
        BadInput: When the folder is no complete comparison.
    """
    try:
        manifest = read_manifest(folder)
        rules = tuple(Rule(**fields) for fields in manifest["rules"])
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
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise BadInput(
            f"the comparison in '{folder}' is damaged or from another version ({type(error).__name__}: "
            f"{error}); compare the runs again"
        ) from error


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
