"""Test the roles of one finished run on the inputs of another: ``replicate()``; no model is needed.

Folders and the file to write are checked before scipy is imported.
"""

from dataclasses import replace
from pathlib import Path

from headroles.options.finished import ReplicateOptions
from headroles.options.keywords import keywords_of
from headroles.records.replication import REPLICATES, Replication
from headroles.stats.decision import BETTING, check_decision
from headroles.storage.folder import write_text
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.integrity.origin import check_replaceable, mark_of
from headroles.storage.run import load


@keywords_of(ReplicateOptions, "dir_a", "dir_b")
def replicate(options: ReplicateOptions) -> Replication:
    """Test the roles that run A found on the inputs of run B, and count how many hold there.

    Both runs are of one model; their inputs differ. B is an independent test of the roles of A.
    It is judged by the test, margins, alpha and families of A, and corrected over the roles of A only. Where
    A was labelled by betting, which needs bounds that B may not have, the test is that of B. No
    model is needed. Heads that have a role in B only are not reported.

    Args:
        {options}

    Raises:
        HeadrolesError: When the folders are no runs, the inputs are the same, no column is in both, or the
            file cannot be written; in one sentence.
    """
    folders = options.dir_a, options.dir_b
    for where in folders:
        check_run_folder(where)
    if options.out is not None:
        check_replaceable(Path(options.out), mark_of(REPLICATES.csv()), options.overwrite)
    first, second = (load(folder) for folder in folders)
    correction = options.correction or first.decision.correction
    test = second.decision.test if first.decision.test == BETTING else first.decision.test
    decision = replace(first.decision, correction=correction, test=test)
    check_decision(decision)
    from headroles.comparing.replication import replicate_run

    replication = replicate_run(first, second, decision, folders)
    if options.out is not None:
        write_text(Path(options.out), replication.replicates.csv())
    return replication
