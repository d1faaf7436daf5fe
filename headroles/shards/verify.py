"""Check that a finished run is as it was written, and that its findings follow from its scores.

On request the findings are also recomputed, one at a time, by scipy, statsmodels and pingouin.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose, nan
from pathlib import Path

import numpy as np

from headroles.errors import BadInput
from headroles.judging.again import judge_stored_scores
from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.shards.files import find_damaged_file, receipt_of, shard_name
from headroles.stats.oracles.recompute import Check
from headroles.storage.folder import MOMENTS, RUN, SCORES, SHARDS
from headroles.storage.integrity.manifest import read_checked_manifest
from headroles.storage.integrity.reading import read_settled
from headroles.storage.places import LocalPlace, Place
from headroles.storage.remote import accept_address
from headroles.storage.run import findings_texts, load

ROUNDING = 1e-12
"""Largest relative difference of a stored number from the same number recomputed."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Counts of what was checked and found right, and numbers held against other libraries.

    Attributes:
        files: Files whose SHA-256 is that of the manifest.
        shards: Shards whose receipts fit; 0 for runs of earlier versions that were not cut into shards.
        examples: Inputs of the run.
        findings: Findings that follow from the scores.
        checks: Quantities recomputed by other libraries, and what was not, with the reason; empty unless
            asked for. They may not fit (``refuse_differences``).
    """

    files: int
    shards: int
    examples: int
    findings: int
    checks: tuple[Check, ...] = ()


@accept_address()
def verify(folder: str | Path, *, oracles: bool = False) -> Verified:
    """Check every hash of a run folder, that all its shards are there, and that its findings follow.

    Findings and labels are computed again from the stored scores. Words must equal those of the tables, and
    numbers up to ``ROUNDING``, as another version of a library may add in another order. Figures are not
    checked, as they are drawn from the rest.

    Args:
        folder: Of a finished run of any kind.
        oracles: Whether to recompute the findings one at a time by scipy, statsmodels and pingouin
            (``stats.oracles``). Differences are returned, not refused.

    Returns:
        Counts of what was checked, and the recomputed quantities.

    Raises:
        BadInput: Naming the first file that is wrong; or when the folder is no finished run.
    """
    return read_settled(Path(folder), lambda where: _verify(where, oracles))


def _verify(where: Path, oracles: bool) -> Verified:
    """Verify a folder that no command is changing."""
    files = read_checked_manifest(where, RUN)["files"]
    place = LocalPlace(where)
    _check_files(where, place, files)
    run = load(where)
    examples = (run.manifest.get("counts") or {}).get("examples", len(run.scores.examples))
    shards = _check_shards(where, place, files, examples)
    tables = findings_texts(judge_stored_scores(run))
    for name, text in tables.items():
        if not _same_table(place.read(name).decode(errors="replace"), text):
            older = run.assessment is not None and np.isnan(run.assessment.precision.prevalence).all()
            why = " by the rules of this version (an older one made the run)" if older else ""
            raise BadInput(
                f"'{where / name}' is not what the scores of the run give{why}; decide again with headroles "
                f"judge"
            )
    checks = recompute(run) if oracles else ()
    return Verified(len(files), shards, examples, int(run.findings.count.size), checks)


def _same_table(stored: str, text: str) -> bool:
    """Return whether two CSV tables hold the same words, and the same numbers up to rounding."""
    if stored == text:
        return True
    rows, others = (list(csv.reader(table.splitlines())) for table in (stored, text))
    return [len(row) for row in rows] == [len(row) for row in others] and all(
        _same_cell(cell, other)
        for row, other_row in zip(rows, others, strict=True)
        for cell, other in zip(row, other_row, strict=True)
    )


def _same_cell(cell: str, other: str) -> bool:
    try:
        return cell == other or isclose(float(cell), float(other), rel_tol=ROUNDING)
    except ValueError:
        return False


def recompute(run: Labelling) -> tuple[Check, ...]:
    """Recompute the findings of a run by other libraries, and say what else of it is not recomputed.

    Args:
        run: As it was loaded, with what is beyond its findings.
    """
    from headroles.stats.oracles.recompute import recompute_findings

    kind = kind_of(run)
    checks = recompute_findings(
        run.scores,
        run.findings,
        run.decision,
        precision=run.assessment.precision if run.assessment else None,
        moments=run.moments,
        intervals_of_scores=kind.intervals_of_scores,
        absence=kind.absence,
        confirmed=kind.confirmed(run),
    )
    if kind.not_recomputed is None:
        return checks
    tables, reason = kind.not_recomputed
    return (*checks, Check(tables, "", 0, nan, nan, reason))


def refuse_differences(checks: Sequence[Check], folder: str) -> None:
    """Refuse a run whose findings are not those of other libraries.

    Args:
        checks: Of the run, as ``verify`` returns them.
        folder: Of the run, for the message.

    Raises:
        BadInput: Naming the quantities that differ by more than rounding.
    """
    wrong = [
        f"{check.quantity} by {check.difference:.2g} from {check.oracle} (at most {check.tolerance:g})"
        for check in checks
        if not check.fits
    ]
    if wrong:
        raise BadInput(
            f"the findings of '{folder}' must equal those of other libraries up to rounding, but they "
            f"differ in {'; '.join(wrong)}; decide again with headroles judge, or report this as an error "
            "of headroles"
        )


def _check_files(where: Path, place: Place, files: Mapping[str, str]) -> None:
    """Refuse a file that is missing or altered, and one among scores and shards that is not of the run.

    Raises:
        BadInput: Naming it.
    """
    wrong = find_damaged_file(place, files)
    if wrong is not None:
        state = "was altered since it was written" if (where / wrong).is_file() else "is missing"
        raise BadInput(f"'{where / wrong}' {state}; start the same command again, and it is made again")
    for folder in (SCORES, SHARDS):
        for name in place.names(f"{folder}/"):
            if name not in files:
                raise BadInput(f"'{where / name}' is no file of the run; move it away")


def _check_shards(where: Path, place: Place, files: Mapping[str, str], examples: int) -> int:
    """Return how many shards a run has, after checking that their receipts are of one run and name its files.

    Where sums are kept of all examples, the files of shards were added to them and are gone.

    Args:
        where: The folder.
        place: The same, as shards are written to it.
        files: SHA-256 by name, as the manifest has them.
        examples: Inputs of the run.

    Raises:
        BadInput: Naming the first receipt that does not fit.
    """
    receipts = [name for name in files if name.startswith(f"{SHARDS}/") and name.endswith(".json")]
    examples_found, identities = 0, set()
    for number in range(len(receipts)):
        name = shard_name(number, "json")
        receipt = receipt_of(place.read(name)) if name in files else None
        own = receipt is not None and (MOMENTS in files or receipt.files.items() <= files.items())
        if receipt is None or receipt.number != number or not own:
            raise BadInput(f"'{where / name}' does not say what its shard is; start the same command again")
        examples_found += receipt.examples
        identities.add(receipt.identity)
    if receipts and (examples_found != examples or len(identities) != 1):
        raise BadInput(
            f"the shards of '{where}' must belong to one run and hold its {examples} examples, but they "
            f"belong to {len(identities)} and hold {examples_found}; start the same command again"
        )
    return len(receipts)
