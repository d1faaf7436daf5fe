"""Compare two finished runs head by head: ``compare()``; no model is needed.

Settings, folders and what may be replaced are checked before scipy or plotly is imported.
"""

from pathlib import Path

from headroles.addresses import check_place, is_address
from headroles.options.finished import CompareOptions
from headroles.options.keywords import keywords_of
from headroles.records.comparison import Comparison
from headroles.storage.comparison import write_comparison
from headroles.storage.folder import COMPARISON, check_free
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.remote import local_copy
from headroles.storage.run import load

SETTINGS = ("alpha", "test", "correction", "family", "resamples", "resample_seed", "interval")
"""Settings of the decision for both runs; those not given are as in run A."""


@keywords_of(CompareOptions, "dir_a", "dir_b")
def compare(options: CompareOptions) -> Comparison:
    """Compare two runs head by head: differences, equivalences, and roles gained and lost.

    Columns that both runs have are compared, the rest is noted. Inputs that both have are paired, and so are
    those of one model that have equal layout. Other inputs have no pairs: then each unit of the smaller run
    is set against a random part of the larger, and nothing is swapped. Differences are B − A. Both runs are
    judged again with one decision, so that their labels are comparable. Scores that are the same in both
    are called identical, without a test.

    Args:
        {options}

    Raises:
        HeadrolesError: When the runs do not match or a setting does not exist; in one sentence, with
            nothing left half-written.
    """
    for where in (options.dir_a, options.dir_b):
        check_run_folder(where)
    if is_address(options.out or ""):
        with local_copy(options.out or "", back=True, new=True) as local_folder:
            return _compare(options, local_folder)
    return _compare(options, None if options.out is None else Path(options.out))


def _compare(options: CompareOptions, folder: Path | None) -> Comparison:
    """Compare two runs, and write the result into a folder, if there is one."""
    settings = {"a": options.dir_a, "b": options.dir_b, "bound": options.bound, "swaps": options.swaps}
    settings |= {name: value for name, value in options.given().items() if name in SETTINGS}
    with lock_run_folder(folder):
        if folder is not None:
            check_free(folder, settings, options.overwrite, COMPARISON)
        runs = load(options.dir_a), load(options.dir_b)
        from headroles.comparing.differences import compare_runs
        from headroles.reports.html import page_html
        from headroles.reports.kinds.compare_report import report

        compared = compare_runs(*runs, settings)
        if folder is not None:
            write_comparison(folder, compared, page_html(report(compared)))
    return compared


def default_folder(dir_a: str, dir_b: str) -> str:
    """Return the folder that the command uses by default: ``compare/<name A>-<name B>``.

    Example:
        >>> default_folder("runs/QNLI-before", "runs/QNLI-after/")
        'compare/QNLI-before-QNLI-after'
    """
    for where in (dir_a, dir_b):
        check_place(where)
    return str(Path("compare") / "-".join(Path(run_folder).resolve().name for run_folder in (dir_a, dir_b)))
