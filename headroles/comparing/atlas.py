"""Show several label runs on one page: ``atlas()``; no model is needed.

Settings, folders and what may be replaced are checked before scipy or plotly is imported.
"""

from pathlib import Path

from headroles.addresses import check_place, is_address
from headroles.options.finished import AtlasOptions
from headroles.options.keywords import keywords_of
from headroles.records.atlas.atlas import Atlas
from headroles.storage.atlas.folder import write_atlas
from headroles.storage.folder import ATLAS, check_free
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.remote import local_copy

NAMED = 4
"""Runs that the name of the default folder has at most."""


@keywords_of(AtlasOptions, "runs")
def atlas(options: AtlasOptions) -> Atlas:
    """Show several label runs on one page: their roles, p values, roles by layer, and agreement.

    The runs label one model on several tasks or corpora, by one preset or by several. Runs of other models
    may join: they are shown by counts and by depth, and never matched head by head. Labels are those of the
    runs, which are read and never changed. The agreement of two runs of one model by one rule is Cohen's
    kappa over heads, with an interval over inputs. A head has a role in at least u of the k runs of a group
    where the test of that says so, corrected over heads; from five runs on, means are pooled by random
    effects.

    Args:
        {options}

    Raises:
        HeadrolesError: When a folder is no label run, or it cannot be written; in one sentence, with nothing
            left half-written.
    """
    for where in options.runs:
        check_run_folder(where)
    if is_address(options.out or ""):
        with local_copy(options.out or "", back=True, new=True) as local_folder:
            return _atlas(options, local_folder)
    return _atlas(options, None if options.out is None else Path(options.out))


def _atlas(options: AtlasOptions, folder: Path | None) -> Atlas:
    """Collect the runs, and write the atlas into a folder, if there is one."""
    settings = {"runs": [str(run) for run in options.runs], "steps": options.steps, "parts": options.parts}
    with lock_run_folder(folder):
        if folder is not None:
            check_free(folder, settings, options.overwrite, ATLAS)
        from headroles.comparing.collect import collect_runs
        from headroles.reports.html import page_html
        from headroles.reports.kinds.atlas_report import report

        collected = collect_runs(options.runs, options.steps, options.parts)
        if folder is not None:
            write_atlas(folder, collected, page_html(report(collected)))
    return collected


def default_folder(runs: tuple[str, ...]) -> str:
    """Return the folder that the command uses by default: ``atlas/`` and the names of the runs.

    Example:
        >>> default_folder(("runs/QNLI", "runs/QQP/"))
        'atlas/QNLI-QQP'
        >>> default_folder(tuple("abcdef"))
        'atlas/a-b-c-d-and-2'
    """
    for where in runs:
        check_place(where)
    names = [Path(run).resolve().name for run in runs]
    more = [f"and-{len(names) - NAMED}"] if len(names) > NAMED else []
    return str(Path("atlas") / "-".join([*names[:NAMED], *more]))
