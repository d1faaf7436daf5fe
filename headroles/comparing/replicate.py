"""Test the roles of one finished run on the inputs of another: ``replicate()``; no model is needed.

Folders and the file to write are checked before scipy is imported.
"""

from dataclasses import fields, replace
from pathlib import Path

from headroles.addresses import check_place
from headroles.records.example import Decision
from headroles.records.replication import Replicate, Replication
from headroles.stats.decision import check_decision
from headroles.storage.folder import write_text
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.integrity.origin import check_replaceable, mark_of
from headroles.storage.run import load

COLUMNS = tuple(field.name for field in fields(Replicate))
"""Columns of the CSV file."""


def replicate(
    dir_a: str | Path,
    dir_b: str | Path,
    *,
    correction: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Replication:
    """Test the roles that run A found on the inputs of run B, and count how many hold there.

    Both runs are of one model; their inputs differ. B is an independent test of the roles of A.
    It is judged by the test, margins, alpha and families of A, and corrected over the roles of A only. No
    model is needed. Heads that have a role in B only are not reported.

    Args:
        dir_a: Folder of run A, whose roles are tested.
        dir_b: Folder of run B, on whose inputs they are tested.
        correction: Correction of B, such as "holm"; None: that of A.
        out: CSV file to write, one row per role of A; None: nothing is written.
        overwrite: Whether a file at ``out`` that is no such table of headroles is replaced.

    Raises:
        HeadrolesError: When the folders are no runs, the inputs are the same, no column is in both, or the
            file cannot be written; in one sentence.
    """
    for where in (dir_a, dir_b):
        check_run_folder(where)
    if out is not None:
        check_place(out)
        check_replaceable(Path(out), mark_of(",".join(COLUMNS)), overwrite)
    if correction is not None:
        check_decision(Decision(correction=correction))
    first, second = (load(folder) for folder in (dir_a, dir_b))
    decision = first.decision if correction is None else replace(first.decision, correction=correction)
    check_decision(decision)
    from headroles.comparing.replication import replicate_run

    replication = replicate_run(first, second, decision, (str(dir_a), str(dir_b)))
    if out is not None:
        write_text(Path(out), replication.frame().to_csv(index=False, lineterminator="\n"))
    return replication
