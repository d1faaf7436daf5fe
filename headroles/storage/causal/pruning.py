"""Folder of a model without some of its heads: model, list of heads, certificate; written and read back."""

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.causal.pruning import STEPS, FreshCheck, Gain, Pruning
from headroles.records.causal.statement import statements
from headroles.records.table import Row, Table
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of
from headroles.storage.folder import (
    CERTIFICATE,
    FIGURES,
    MANIFEST,
    PRUNE_UNITS,
    PRUNED,
    PRUNING,
    REPORT,
    figure_names,
    read_manifest,
    write_errors,
)
from headroles.storage.integrity.manifest import damaged_error, manifest_text, read_checked_manifest
from headroles.storage.integrity.reading import check_files, read_settled
from headroles.storage.integrity.switch import file_names, replace_files
from headroles.storage.places import sha256_of
from headroles.storage.run import digests
from headroles.storage.tables import read_table

FACTS = ("gain", "check", "remarks")
"""Parts of a pruning that its manifest holds, besides its own facts."""


def pruning_files(pruning: Pruning, report: str, others: Mapping[str, str]) -> dict[str, str | bytes]:
    """Return the content of all files of the folder except the model, by name.

    Args:
        pruning: What is written.
        report: Its page.
        others: SHA-256 of all files that are there already, by name, such as those of the model.
    """
    contents: dict[str, str | bytes] = {
        **pruning_texts(pruning),
        PRUNE_UNITS: archive_bytes(arrays_of(pruning, leave_out=("remarks",)), compressed=True),
        REPORT: report,
    }
    manifest = dict(pruning.manifest) | {
        "kind": PRUNING.name,
        "gain": asdict(pruning.gain),
        "check": _check(pruning.check),
        "remarks": list(pruning.remarks),
        "files": dict(sorted((dict(others) | digests(contents)).items())),
    }
    return contents | {MANIFEST: manifest_text(manifest)}


def pruning_texts(pruning: Pruning) -> dict[str, str]:
    """Return the list of heads, the certificate and the table of sets, by file name."""
    return {
        PRUNED: _json(pruned_heads(pruning)),
        CERTIFICATE: _json(certificate(pruning)),
        STEPS.file: pruning.steps.csv(),
    }


def pruned_heads(pruning: Pruning) -> dict[str, Any]:
    """Return the removed heads by layer, with the model that they were removed from, in JSON types."""
    model = pruning.manifest.get("model", {})
    return {
        "model": model.get("name"),
        "weights_sha256": model.get("weights_sha256"),
        "replaced_by": pruning.manifest.get("replaced_by"),
        "heads": {str(layer): heads for layer, heads in pruning.heads.items()},
    }


def certificate(pruning: Pruning) -> dict[str, Any]:
    """Return what was certified, for readers and programs, in JSON types; NaN is null."""
    step = pruning.certified
    return {
        "statements": statements(pruning),
        "outcome": pruning.outcome,
        "bound": pruning.bound,
        "bound_is": "a share of the loss" if pruning.relative else "on the outcome's own scale",
        "alpha": pruning.alpha,
        "heads_removed": int(pruning.removed.sum()),
        "heads": pruning.removed.size,
        "certified": None if step is None else _plain(vars(step)),
        "sets_tested": sum(step.decision != "not tested" for step in pruning.steps),
        "units": pruning.manifest.get("units"),
        "inputs_sha256": pruning.manifest.get("source", {}).get("sha256"),
        "gain": _plain(asdict(pruning.gain)),
        "fresh": _plain(_check(pruning.check)),
        "remarks": list(pruning.remarks),
    }


def finish_pruning(staging: Path, pruning: Pruning, report: str) -> None:
    """Write all files of a pruning beside its model into a folder that is not yet in its place.

    Raises:
        BadInput: When they cannot be written.
    """
    with write_errors("the pruned model"):
        others = {name: sha256_of(staging / name) for name in file_names(staging)}
        for name, content in pruning_files(pruning, report, others).items():
            data = content.encode() if isinstance(content, str) else content
            (staging / name).write_bytes(data)


def rewrite_pruning(folder: Path, pruning: Pruning, report: str) -> None:
    """Write a pruning again beside the model that is there, all files at once.

    Raises:
        BadInput: When they cannot be written.
    """
    known = read_manifest(folder).get("files", {})
    kept = {name: digest for name, digest in known.items() if name.partition("/")[2]}
    contents = pruning_files(pruning, report, kept)
    with write_errors(f"the pruned model '{folder}'"):
        replace_files(folder, contents, figure_names(folder), MANIFEST)


def load_pruning(folder: Path) -> Pruning:
    """Read a pruning from its folder; every file of it, the model's too, must be as it was written.

    Raises:
        BadInput: When the folder is no complete pruning, or a file of it was altered.
    """
    return read_settled(folder, _load)


def _load(folder: Path) -> Pruning:
    """Read a pruning from a folder that no command is changing."""
    manifest = read_checked_manifest(folder, PRUNING)
    try:
        check_files(folder, manifest["files"], lambda name: not name.startswith(f"{FIGURES}/"))
        arrays = read_archive((folder / PRUNE_UNITS).read_bytes(), PRUNE_UNITS)
        given = manifest.get("check")
        check = None
        if given is not None:
            step = {name: float("nan") if value is None else value for name, value in given["step"].items()}
            check = _record(FreshCheck, given | {"step": Row(**step)})
        return record_of(
            Pruning,
            arrays,
            steps=_steps(folder / STEPS.file),
            gain=_record(Gain, manifest["gain"]),
            check=check,
            remarks=tuple(manifest["remarks"]),
            manifest={
                name: value for name, value in manifest.items() if name not in (*FACTS, "files", "kind")
            },
        )
    except (OSError, KeyError, TypeError, ValueError, csv.Error, BadInput) as error:
        raise damaged_error(folder, PRUNING, error) from error


def _steps(path: Path) -> Table:
    """Read the tested sets.

    Raises:
        ValueError: When a number is infinite.
    """
    steps = read_table(STEPS, path)
    if any(np.isinf(values).any() for values in steps.data.values() if values.dtype.kind == "f"):
        raise ValueError(f"a number of {path.name} is infinite")
    return steps


def _check(check: FreshCheck | None) -> dict[str, Any] | None:
    """Return a check on fresh inputs by the names of its fields; None without one."""
    return None if check is None else asdict(check) | {"step": vars(check.step)}


def _record(kind: type, values: Mapping[str, Any]) -> Any:
    """Return a record from JSON types, in which NaN is null."""
    return kind(
        **{
            field.name: float("nan") if values[field.name] is None else values[field.name]
            for field in fields(kind)
        }
    )


def _plain(values: Any) -> Any:
    """Return JSON types, with null for NaN."""
    if isinstance(values, Mapping):
        return {name: _plain(value) for name, value in values.items()}
    return None if isinstance(values, float) and values != values else values


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
