"""A run as a folder and back: tables, JSON and Parquet; no pickle, and nothing half-written."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records import COLUMNS, DECISIONS, Decision, Findings, Labelling, Rule, Scores

MANIFEST, FINDINGS, LABELS, REPORT = "manifest.json", "findings.csv", "labels.csv", "report.html"
SCORES, EXAMPLES = "scores", "examples.parquet"


def check_free(folder: Path, settings: dict[str, Any], overwrite: bool) -> None:
    """Refuse a folder that holds something else, before any work is done.

    Raises:
        BadInput: When the folder is no run, or a run with other settings and ``overwrite`` is off.
    """
    if folder.is_file():
        raise BadInput(f"--out must be a folder, but '{folder}' is a file; name another")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / MANIFEST).is_file():
        raise BadInput(f"'{folder}' holds files that are no run of headroles; name an empty or new folder")
    before = json.loads((folder / MANIFEST).read_text(encoding="utf-8")).get("settings", {})
    changed = sorted(name for name in {*before, *settings} if before.get(name) != settings.get(name))
    if changed and not overwrite:
        raise BadInput(
            f"'{folder}' holds a run with other settings ({', '.join(changed)}); "
            f"give --overwrite to replace it, or another --out"
        )


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its place when all went well and vanishes otherwise.

    Raises:
        BadInput: When it cannot be written.
    """
    staging = folder.parent / f".{folder.name}.{os.getpid()}.partial"
    try:
        staging.mkdir(parents=True)
        (staging / SCORES).mkdir()
        yield staging
        old = folder.parent / f".{folder.name}.{os.getpid()}.old"
        if folder.exists():
            folder.rename(old)
        staging.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise BadInput(
            f"the run folder '{folder}' cannot be written ({error.strerror or error}); "
            f"name another with --out"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_part(folder: Path, number: int, scores: Scores) -> None:
    """Write the scores of some examples as ``scores/part-NNNNN.parquet``.

    One row per example: key, unit, length, and per sieve a fixed-size list of layers × heads
    float32, layer-major; NaN, never null.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = scores.layers * scores.heads
    columns: dict[str, Any] = {
        "example": pa.array(scores.examples, pa.string()),
        "group": pa.array(scores.units, pa.string()),
        "tokens": pa.array(scores.tokens, pa.int32()),
    }
    for name, values in zip(scores.sieves, scores.values, strict=True):
        flat = pa.array(np.ascontiguousarray(values).ravel(), pa.float32(), from_pandas=False)
        columns[name] = pa.FixedSizeListArray.from_arrays(flat, size)
    path = folder / SCORES / f"part-{number:05d}.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)


def write_examples(folder: Path, scores: Scores) -> None:
    """Write cells and chance values per example, which the scores alone do not say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"example": pa.array(scores.examples, pa.string())}
    for kind, table in (("cells", scores.cells), ("null", scores.null)):
        for name, values in zip(scores.sieves, table, strict=True):
            columns[f"{kind}:{name}"] = pa.array(values, pa.float64(), from_pandas=False)
    pq.write_table(pa.table(columns), folder / EXAMPLES, compression="zstd")


def write_results(folder: Path, labelling: Labelling, report: str) -> None:
    """Write tables, report and manifest, each by rename so that none is ever half there."""
    _renamed(folder / FINDINGS, labelling.frame().to_csv(index=False, lineterminator="\n"))
    _renamed(folder / LABELS, labelling.labels().to_csv(index=False, lineterminator="\n"))
    _renamed(folder / REPORT, report)
    manifest = dict(labelling.manifest) | {
        "decision": asdict(labelling.decision),
        "rules": [asdict(rule) for rule in labelling.findings.rules],
        "skipped": list(labelling.skipped),
    }
    text = json.dumps(_plain(manifest), indent=1, ensure_ascii=False, allow_nan=False)
    _renamed(folder / MANIFEST, text + "\n")


def write_text(path: Path, text: str) -> None:
    """Write one file by rename.

    Raises:
        BadInput: When it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _renamed(path, text)
    except OSError as error:
        raise BadInput(
            f"'{path}' cannot be written ({error.strerror or error}); name another file"
        ) from error


def _renamed(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """JSON types only; numbers that JSON lacks become None."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def load(folder: str | Path) -> Labelling:
    """A labelling from its folder.

    Raises:
        BadInput: When the folder is no whole run.
    """
    place = Path(folder)
    if not (place / MANIFEST).is_file():
        raise BadInput(f"a run folder holds a {MANIFEST}, but '{place}' does not; give the folder of a run")
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        rules = tuple(_rule(fields) for fields in manifest.pop("rules"))
        decision = Decision(**manifest.pop("decision"))
        skipped = tuple(manifest.pop("skipped"))
        scores = _scores(place, tuple(rule.sieve for rule in rules), manifest["model"])
        findings = _findings(place, rules, (scores.layers, scores.heads))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"the run in '{place}' is damaged or from another version ({type(error).__name__}: {error}); "
            f"run headroles label again"
        ) from error
    return Labelling(scores, findings, decision, manifest, skipped)


def _rule(fields: dict[str, Any]) -> Rule:
    known: dict[str, Any] = {name: float("nan") if each is None else each for name, each in fields.items()}
    return Rule(**known)


def _scores(folder: Path, sieves: Sequence[str], model: dict[str, Any]) -> Scores:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = sorted((folder / SCORES).glob("part-*.parquet"))
    table = pa.concat_tables([pq.read_table(part) for part in parts])
    extra = pq.read_table(folder / EXAMPLES)
    shape = (table.num_rows, int(model["layers"]), int(model["heads"]))
    values = [
        np.concatenate([chunk.flatten().to_numpy() for chunk in table[name].chunks]).reshape(shape)
        for name in sieves
    ]
    return Scores(
        sieves=tuple(sieves),
        examples=tuple(table["example"].to_pylist()),
        units=tuple(table["group"].to_pylist()),
        tokens=table["tokens"].to_numpy().astype(np.int64),
        cells=np.stack([extra[f"cells:{name}"].to_numpy() for name in sieves]),
        values=np.stack(values),
        null=np.stack([extra[f"null:{name}"].to_numpy() for name in sieves]),
    )


def _findings(folder: Path, rules: tuple[Rule, ...], grid: tuple[int, int]) -> Findings:
    import pandas as pd

    frame = pd.read_csv(folder / FINDINGS, float_precision="round_trip", keep_default_na=True)
    shape = (len(rules), *grid)
    codes = {name: code for code, name in enumerate(DECISIONS)}
    decision = [codes.get(name, -1) for name in frame["decision"].fillna("")]
    arrays: dict[str, Any] = {
        name: frame[name].to_numpy(dtype=np.int64 if name == "count" else np.float64).reshape(shape)
        for name in COLUMNS
    }
    return Findings(rules=rules, decision=np.array(decision, dtype=np.int8).reshape(shape), **arrays)
