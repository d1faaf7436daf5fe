"""Run folders: a labelling as tables, JSON and Parquet with SHA-256 of every file, and read back.

No pickle is written or read.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.example import Decision, Rule, Scores
from headroles.records.findings import COLUMNS, DECISIONS, Findings, Labelling
from headroles.storage.folder import (
    EARLIER_RUN,
    EXAMPLES,
    FIGURES,
    FINDINGS,
    LABELS,
    MANIFEST,
    MOMENTS,
    PLAN,
    REPORT,
    RUN,
    SCORES,
    SHARDS,
    clear_figures,
    read_manifest,
    write_errors,
    write_files,
)
from headroles.storage.moments import read_moments
from headroles.storage.parts import part_files, promised_files, read_parts
from headroles.storage.places import sha256_of
from headroles.storage.remote import accept_address
from headroles.storage.scores import examples_bytes, part_bytes, part_name, scores_from_tables
from headroles.storage.tables import assessment_texts, read_assessment, read_head_grids

LASTING = frozenset({SCORES, EXAMPLES, MOMENTS, FIGURES, PLAN, SHARDS, EARLIER_RUN})
"""Files and folders of a run that do not depend on the decision."""


def digests(contents: Mapping[str, str | bytes]) -> dict[str, str]:
    """SHA-256 of files by their names, from what they hold.

    Example:
        >>> digests({"a": "text", "b": b"text"}) == dict.fromkeys("ab", digests({"": "text"})[""])
        True
    """
    return {
        name: sha256(each.encode() if isinstance(each, str) else each).hexdigest()
        for name, each in contents.items()
    }


def lasting_digests(folder: Path) -> dict[str, str]:
    """Return SHA-256 of the files of a run that do not depend on the decision.

    The digests are those of its manifest, so that a file that was altered since is not mistaken for right.
    Where there is no manifest, or it has no digests, they are computed from the files.
    """
    known = read_manifest(folder).get("files")
    if isinstance(known, dict):
        return {name: digest for name, digest in known.items() if name.split("/")[0] in LASTING}
    paths = [folder / EXAMPLES, folder / MOMENTS, *(folder / SCORES).glob("part-*.parquet")]
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths if path.is_file()}


def write_part(folder: Path, number: int, scores: Scores) -> None:
    """Write the scores of some examples as ``scores/part-NNNNN.parquet``, in the format of ``part_bytes``."""
    path = folder / part_name(number)
    with write_errors("the scores of the run"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(part_bytes(scores))


def write_examples(folder: Path, scores: Scores) -> None:
    """Write cells and chance values per example, which the files of scores do not have."""
    with write_errors("the scores of the run"):
        write_files({folder / EXAMPLES: examples_bytes(scores)})


def write_results(
    folder: Path, labelling: Labelling, report: str, files: Mapping[str, str] | None = None
) -> None:
    """Write tables, report and manifest: all are written before any gets its name by rename.

    The manifest is last and has the SHA-256 of every other file, except figures.

    Args:
        folder: Folder of the run.
        labelling: Result of the run.
        report: The HTML page.
        files: SHA-256, by name, of files in the folder that stay; None: those of ``lasting_digests``.

    Raises:
        BadInput: When they cannot be written; the folder is then unchanged.
    """
    parts = part_files(labelling)
    manifest = dict(labelling.manifest) | {
        "parts": promised_files(labelling, parts),
        "decision": asdict(labelling.decision),
        "rules": [asdict(rule) for rule in labelling.findings.rules],
        "skipped": list(labelling.skipped),
        "remarks": list(labelling.assessment.remarks) if labelling.assessment else [],
    }
    kept = lasting_digests(folder) if files is None else dict(files)
    contents: dict[str, str | bytes] = {
        **findings_texts(labelling),
        **(assessment_texts(labelling.assessment, labelling.findings.sieves) if labelling.assessment else {}),
        **parts,
        REPORT: report,
    }
    manifest["files"] = dict(sorted((kept | digests(contents)).items()))
    contents[MANIFEST] = _manifest_text(manifest)
    with write_errors("the results of the run"):
        write_files({folder / name: content for name, content in contents.items()})
        for name in RUN.holds - contents.keys() - LASTING:  # from an earlier outcome
            (folder / name).unlink(missing_ok=True)
        clear_figures(folder)


def write_report(folder: Path, report: str) -> None:
    """Write the report of a run into its folder, and its SHA-256 into the manifest.

    Raises:
        BadInput: When it cannot be written.
    """
    manifest = read_manifest(folder)
    contents: dict[str, str | bytes] = {REPORT: report}
    if isinstance(manifest.get("files"), dict):
        manifest["files"] |= digests(contents)
        contents[MANIFEST] = _manifest_text(manifest)
    with write_errors(f"'{folder / REPORT}'"):
        write_files({folder / name: content for name, content in contents.items()})


def _manifest_text(manifest: dict[str, Any]) -> str:
    return json.dumps(_json_types(manifest), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def findings_texts(labelling: Labelling) -> dict[str, str]:
    """Return the text of the tables of findings and labels, by file name."""
    return {
        FINDINGS: labelling.frame().to_csv(index=False, lineterminator="\n"),
        LABELS: labelling.labels().to_csv(index=False, lineterminator="\n"),
    }


def _json_types(value: Any) -> Any:
    """Convert to JSON types only; NaN and infinities become None."""
    if isinstance(value, dict):
        return {str(key): _json_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_types(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


@accept_address()
def load(folder: str | Path) -> Labelling:
    """Read a labelling from its folder or address.

    Raises:
        BadInput: When the folder is no complete run.
    """
    place = Path(folder)
    if not (place / MANIFEST).is_file():
        if (place / PLAN).is_file():
            raise BadInput(
                f"a run is read when it is finished, but the run in '{place}' is not; start the same command "
                f"again"
            )
        raise BadInput(f"a run folder holds a {MANIFEST}, but '{place}' does not; give the folder of a run")
    try:
        manifest = read_manifest(place)
        rules = tuple(_parse_rule(fields) for fields in manifest.pop("rules"))
        decision = Decision(**manifest.pop("decision"))
        skipped = tuple(manifest.pop("skipped"))
        manifest.pop("files", None)
        scores = _read_scores(place, tuple(rule.sieve for rule in rules), manifest["model"])
        findings = _read_findings(place, rules, (scores.layers, scores.heads))
        assessment = read_assessment(place, findings.count.shape, manifest.pop("remarks", ()))
        moments = read_moments(place, manifest, scores)
        parts = read_parts(place, scores, manifest.pop("parts", None))
    except (OSError, KeyError, TypeError, ValueError, EOFError, csv.Error, BadInput) as error:
        raise BadInput(
            f"the run in '{place}' is damaged or from another version ({type(error).__name__}: {error}); "
            f"run it again"
        ) from error
    return Labelling(scores, findings, decision, manifest, skipped, assessment, **parts, moments=moments)


def _parse_rule(fields: dict[str, Any]) -> Rule:
    known: dict[str, Any] = {name: float("nan") if value is None else value for name, value in fields.items()}
    return Rule(**known)


def _read_scores(folder: Path, sieves: Sequence[str], model: dict[str, Any]) -> Scores:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = sorted((folder / SCORES).glob("part-*.parquet"))
    table = pa.concat_tables([pq.read_table(part) for part in parts])
    return scores_from_tables(
        table, pq.read_table(folder / EXAMPLES), sieves, (int(model["layers"]), int(model["heads"]))
    )


def _read_findings(folder: Path, rules: tuple[Rule, ...], grid: tuple[int, int]) -> Findings:
    rows, arrays = read_head_grids(folder / FINDINGS, [rule.sieve for rule in rules], COLUMNS, grid)
    codes = {name: code for code, name in enumerate(DECISIONS)} | {"": -1}
    decision = np.array([codes[row["decision"]] for row in rows], dtype=np.int8)
    return Findings(rules=rules, decision=decision.reshape(len(rules), *grid), **arrays)
