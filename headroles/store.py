"""A run as a folder and back: tables, JSON and Parquet; no pickle."""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.folder import (
    EXAMPLES,
    FIGURES,
    FINDINGS,
    LABELS,
    MANIFEST,
    REPORT,
    RUN,
    SCORES,
    clear_figures,
    manifest_in,
    renamed,
    writing,
)
from headroles.outcomes import COLUMNS, DECISIONS, Findings, Labelling
from headroles.part_tables import parts_in, parts_of, promise_of
from headroles.records import Decision, Rule, Scores
from headroles.tables import assessment_in, heads_in, texts_of


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
    with writing("the scores of the run"):
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)


def write_examples(folder: Path, scores: Scores) -> None:
    """Write cells and chance values per example, which the scores alone do not say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {"example": pa.array(scores.examples, pa.string())}
    for kind, table in (("cells", scores.cells), ("null", scores.null)):
        for name, values in zip(scores.sieves, table, strict=True):
            columns[f"{kind}:{name}"] = pa.array(values, pa.float64(), from_pandas=False)
    with writing("the scores of the run"):
        pq.write_table(pa.table(columns), folder / EXAMPLES, compression="zstd")


def write_results(folder: Path, labelling: Labelling, report: str) -> None:
    """Write tables, report and manifest: all are written before any takes its place by rename.

    Raises:
        BadInput: When they cannot be written; the folder is then as it was.
    """
    parts = parts_of(labelling)
    manifest = dict(labelling.manifest) | {
        "parts": promise_of(labelling, parts),
        "decision": asdict(labelling.decision),
        "rules": [asdict(rule) for rule in labelling.findings.rules],
        "skipped": list(labelling.skipped),
        "remarks": list(labelling.assessment.remarks) if labelling.assessment else [],
    }
    contents: dict[str, str | bytes] = {
        FINDINGS: labelling.frame().to_csv(index=False, lineterminator="\n"),
        LABELS: labelling.labels().to_csv(index=False, lineterminator="\n"),
        **(texts_of(labelling.assessment, labelling.findings.sieves) if labelling.assessment else {}),
        **parts,
        REPORT: report,
        MANIFEST: json.dumps(_plain(manifest), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
    with writing("the results of the run"):
        renamed({folder / name: content for name, content in contents.items()})
        for name in RUN.holds - contents.keys() - {SCORES, EXAMPLES, FIGURES}:  # of an earlier outcome
            (folder / name).unlink(missing_ok=True)
        clear_figures(folder)


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
        manifest = manifest_in(place)
        rules = tuple(_rule(fields) for fields in manifest.pop("rules"))
        decision = Decision(**manifest.pop("decision"))
        skipped = tuple(manifest.pop("skipped"))
        scores = _scores(place, tuple(rule.sieve for rule in rules), manifest["model"])
        findings = _findings(place, rules, (scores.layers, scores.heads))
        assessment = assessment_in(place, findings.count.shape, manifest.pop("remarks", ()))
        parts = parts_in(place, scores, manifest.pop("parts", None))
    except (OSError, KeyError, TypeError, ValueError, EOFError, csv.Error, BadInput) as error:
        raise BadInput(
            f"the run in '{place}' is damaged or from another version ({type(error).__name__}: {error}); "
            f"run it again"
        ) from error
    return Labelling(scores, findings, decision, manifest, skipped, assessment, **parts)


def _rule(fields: dict[str, Any]) -> Rule:
    known: dict[str, Any] = {name: float("nan") if each is None else each for name, each in fields.items()}
    return Rule(**known)


def _scores(folder: Path, sieves: Sequence[str], model: dict[str, Any]) -> Scores:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = sorted((folder / SCORES).glob("part-*.parquet"))
    table = pa.concat_tables([pq.read_table(part) for part in parts])
    extra = pq.read_table(folder / EXAMPLES)
    if table["example"].to_pylist() != extra["example"].to_pylist():
        raise ValueError(f"the examples of {SCORES} and {EXAMPLES} differ")
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
    rows, arrays = heads_in(folder / FINDINGS, [rule.sieve for rule in rules], COLUMNS, grid)
    codes = {name: code for code, name in enumerate(DECISIONS)} | {"": -1}
    decision = np.array([codes[row["decision"]] for row in rows], dtype=np.int8)
    return Findings(rules=rules, decision=decision.reshape(len(rules), *grid), **arrays)
