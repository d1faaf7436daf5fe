"""Run folders: a labelling as tables, JSON and Parquet with SHA-256 of every file, and read back.

No pickle is written or read.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from headroles.errors import BadInput
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, FINDINGS, Findings, Labelling, findings_of, labels_of
from headroles.records.layers import number_layers, stack_of
from headroles.records.rules.rule import Decision, Rule
from headroles.storage.arrow.files import read_parquet
from headroles.storage.folder import (
    ABLATION_FILES,
    CLUSTER_FILES,
    EARLIER_RUN,
    EXAMPLES,
    FIGURES,
    KEPT_MAP_FILES,
    LABELS,
    MANIFEST,
    MOMENTS,
    ORIGIN_FILES,
    PARTS,
    PLAN,
    PROBE_FILES,
    REPORT,
    RUN,
    SCORES,
    SHARDS,
    SURFACE_FILES,
    TABLES,
    figure_names,
    read_manifest,
    write_errors,
    write_files,
)
from headroles.storage.integrity.leftovers import partial_path
from headroles.storage.integrity.manifest import damaged_error, manifest_text, read_checked_manifest
from headroles.storage.integrity.reading import check_files, read_settled
from headroles.storage.integrity.switch import file_names, replace_files
from headroles.storage.moments import read_moments
from headroles.storage.parts import part_files, promised_files, read_parts
from headroles.storage.places import sha256_of
from headroles.storage.remote import accept_address
from headroles.storage.scores import examples_bytes, part_bytes, part_name, scores_from_tables
from headroles.storage.tables import (
    assessment_texts,
    places_of_layers,
    read_assessment,
    read_head_grids,
)

LASTING = frozenset({SCORES, EXAMPLES, MOMENTS, FIGURES, PLAN, SHARDS, EARLIER_RUN})
"""Files and folders of a run that do not depend on the decision."""
READ = frozenset({*TABLES, EXAMPLES, MOMENTS}) - {LABELS}
"""Files that every run is read from where they are there, besides those of its scores."""
PART_FILES = (PROBE_FILES, SURFACE_FILES, CLUSTER_FILES, ABLATION_FILES, ORIGIN_FILES, KEPT_MAP_FILES)
"""Files of the parts that only some runs have."""


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


def lasting_digests(folder: Path, *, maps: bool = False) -> dict[str, str]:
    """Return SHA-256 of the files of a run that do not depend on the decision; of kept maps where asked.

    The digests are those of its manifest, so that a file that was altered since is not mistaken for right.
    Where there is no manifest, or it has no digests, they are computed from the files.
    """
    known, kept = read_manifest(folder).get("files"), KEPT_MAP_FILES if maps else ()
    if isinstance(known, dict):
        return {name: digest for name, digest in known.items() if name.split("/")[0] in {*LASTING, *kept}}
    paths = [folder / name for name in (EXAMPLES, MOMENTS, PLAN, *kept)]
    paths += [path for name in (SCORES, SHARDS) for path in (folder / name).glob("[!.]*")]
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
    folder: Path,
    labelling: Labelling,
    report: str,
    files: Mapping[str, str] | None = None,
    *,
    maps_stay: bool = False,
) -> None:
    """Write tables, report and manifest in one step: a kill leaves the earlier outcome or the new one, whole.

    The manifest has the SHA-256 of every other file, except figures.

    Args:
        folder: Folder of the run.
        labelling: Result of the run.
        report: The HTML page.
        files: SHA-256, by name, of files in the folder that stay, so that others among scores and shards
            leave; None: those of ``lasting_digests``, and nothing there leaves.
        maps_stay: Whether the files of kept maps in the folder stay as they are.

    Raises:
        BadInput: When they cannot be written; the earlier outcome or the new one then counts, whole.
    """
    kept = lasting_digests(folder, maps=maps_stay) if files is None else dict(files)
    there = kept.keys() & {*KEPT_MAP_FILES}
    parts = part_files(replace(labelling, exhibited=None) if there else labelling)
    scores = labelling.scores
    manifest = dict(labelling.manifest) | {
        "model": {**(labelling.manifest.get("model") or {}), **scores.stack.described, "heads": scores.heads},
        "parts": promised_files(labelling, [*parts, *there]),
        "decision": asdict(labelling.decision),
        "rules": [asdict(rule) for rule in labelling.findings.rules],
        "skipped": list(labelling.skipped),
        "remarks": list(labelling.assessment.remarks) if labelling.assessment else [],
    }
    contents: dict[str, str | bytes] = {
        name: number_layers(text, scores.stack.numbers) if isinstance(text, str) else text
        for name, text in parts.items()
    }
    if labelling.assessment:
        contents |= assessment_texts(labelling.assessment, labelling.findings.sieves, scores.stack)
    contents |= {**findings_texts(labelling), REPORT: report}
    new_plan = partial_path(folder / PLAN)
    if new_plan.is_file():  # of a run that differs from the one that is there in its decision only
        contents[PLAN] = new_plan.read_bytes()
    manifest["files"] = dict(sorted((kept | digests(contents)).items()))
    contents[MANIFEST] = manifest_text(manifest)
    earlier = {*(RUN.holds - contents.keys() - there - LASTING), *figure_names(folder)}
    if files is not None:  # files of shards that were only needed on the way
        earlier |= {name for name in file_names(folder) if _folder_of(name) in (SHARDS, SCORES)} - {*files}
    with write_errors("the results of the run"):
        replace_files(folder, contents, earlier, MANIFEST)
        new_plan.unlink(missing_ok=True)


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0]


def write_report(folder: Path, report: str) -> None:
    """Write the report of a run into its folder, and its SHA-256 into the manifest, both at once.

    Raises:
        BadInput: When it cannot be written, or the manifest is damaged.
    """
    manifest = read_checked_manifest(folder, RUN)
    contents: dict[str, str | bytes] = {REPORT: report}
    manifest["files"] |= digests(contents)
    contents[MANIFEST] = manifest_text(manifest)
    with write_errors(f"'{folder / REPORT}'"):
        replace_files(folder, contents, (), MANIFEST)


def findings_texts(labelling: Labelling) -> dict[str, str]:
    """Return the text of the tables of findings and labels, by file name."""
    return {table.file: table.csv() for table in (findings_of(labelling), labels_of(labelling))}


def load(folder: str | Path) -> Labelling:
    """Read a labelling from its folder or address.

    Each file that is read must have the SHA-256 of the manifest.

    Raises:
        BadInput: When the folder is no complete run, or a file of it was altered.
    """
    return replace(_load_settled(folder), folder=str(folder))


@accept_address()
def _load_settled(folder: str | Path) -> Labelling:
    """Read a labelling when no command is changing its folder."""
    return read_settled(Path(folder), _load)


def _load(place: Path) -> Labelling:
    """Read a labelling from a folder that no command is changing."""
    manifest = read_checked_manifest(place, RUN)
    try:
        check_files(place, manifest.pop("files"), _is_read_of(manifest.get("parts")))
        rules = tuple(_parse_rule(fields) for fields in manifest.pop("rules"))
        decision = Decision(**manifest.pop("decision"))
        skipped = tuple(manifest.pop("skipped"))
        scores = _read_scores(place, tuple(rule.sieve for rule in rules), manifest["model"])
        with places_of_layers(scores.stack):
            findings = _read_findings(place, rules, scores)
            grid = (scores.layers, scores.heads)
            assessment = read_assessment(place, grid, findings.sieves, manifest.pop("remarks", ()))
            moments = read_moments(place, manifest, scores)
            parts = read_parts(place, scores, manifest.pop("parts", None))
    except (OSError, KeyError, TypeError, ValueError, EOFError, csv.Error, BadInput) as error:
        raise damaged_error(place, RUN, error) from error
    return Labelling(scores, findings, decision, manifest, skipped, assessment, **parts, moments=moments)


def _is_read_of(promise: Any) -> Callable[[str], bool]:
    """Return whether a run is read from a file of a name, by the parts that its manifest promises."""
    known = isinstance(promise, dict)
    promised = {str(name) for files in promise.values() if files for name in files} if known else {*PARTS}
    names = READ.union(*(files for files in PART_FILES if not promised.isdisjoint(files)))
    return lambda name: name in names or (name.startswith(f"{SCORES}/part-") and name.endswith(".parquet"))


def _parse_rule(fields: dict[str, Any]) -> Rule:
    known: dict[str, Any] = {name: float("nan") if value is None else value for name, value in fields.items()}
    return Rule(**known)


def _read_scores(folder: Path, sieves: Sequence[str], model: dict[str, Any]) -> Scores:
    import pyarrow as pa

    parts = sorted((folder / SCORES).glob("part-*.parquet"))
    table = pa.concat_tables([read_parquet(part) for part in parts])
    stack = stack_of(model)
    scores = scores_from_tables(
        table, read_parquet(folder / EXAMPLES), sieves, (len(stack.layers), int(model["heads"]))
    )
    return replace(scores, stack=stack)


def _read_findings(folder: Path, rules: tuple[Rule, ...], scores: Scores) -> Findings:
    grid = (scores.layers, scores.heads)
    arrays = read_head_grids(FINDINGS, folder, [rule.sieve for rule in rules], grid)
    codes = {name: code for code, name in enumerate(DECISIONS)} | {"": -1}
    decision = np.vectorize(codes.__getitem__, otypes=[np.int8])(arrays.pop("decision"))
    return Findings(rules=rules, decision=decision, **arrays)
