"""Judge a table of scores: ``judge_scores()``."""

import platform
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headroles.addresses import is_address
from headroles.options.finished import ScoresOptions
from headroles.options.inputs import input_name
from headroles.options.keywords import keywords_of
from headroles.records.findings import Labelling
from headroles.records.layers import plain_stack
from headroles.records.objects import DataObject
from headroles.stats.decision import check_decision
from headroles.storage.folder import output_folder, stage_folder
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.remote import local_copy

PACKAGES = ("numpy", "scipy", "statsmodels", "pandas", "pyarrow")


@keywords_of(ScoresOptions, "scores")
def judge_scores(options: ScoresOptions) -> Labelling:
    """Judge a table of scores from anywhere: test every head, correct for their number, and label heads.

    The table has a row for each unit, layer and head. ``unit`` names an input that was drawn independently of
    the others, ``layer`` and ``head`` count from 0, and ``score`` is a number; where there is none, it is
    NaN, or the row is missing. A head's null hypothesis is that its mean score is at most ``null + margin``;
    for "not" that it is at least this. Further columns may be there:

    - ``sieve``: what is scored; the heads of a sieve are tested together. One sieve "score" where absent.
    - ``null``: score that chance gives, the same for all heads of a unit; 0 where neither the table nor
      ``null`` says it.
    - ``group``: names units that depend on each other; their mean is one unit then.
    - ``cells``: number of things that a score is the mean of. With ``pooled`` (true) they weigh it.
    - ``tokens``: length of a unit in tokens, for the counts.
    - ``margin``, ``low``, ``high``, ``question``, ``contrast``, ``stronger``, ``weaker``, ``role``,
      ``pooled``: one value for each sieve, as in ``rules`` of a manifest. ``contrast`` names the sieve that
      must also lie beyond its margin for a role. Sieves that others name so are no roles.

    Bounds decide what is said of heads without spread, and of claims that hinge on few units. Without
    ``low`` and ``high``, heads without spread stay undetermined. Scores are kept in single precision.

    Args:
        {options}

    Returns:
        Scores, findings and labels, as of a run of ``label``; with ``out`` they are also written.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    from headroles.runs.scores.table import check_table

    check_decision(options.decision)
    check_table(options.scores)
    with ExitStack() as stack:
        out = options.out
        if out is not None and is_address(out):
            out = str(stack.enter_context(local_copy(out, back=True, new=True)))
        stack.enter_context(lock_run_folder(out))
        folder = output_folder(out, options.settings(), options.overwrite)
        judged = _judge(options)
        if folder is not None:
            _write(folder, judged)
    return replace(judged, folder=options.out)


def _judge(options: ScoresOptions) -> Labelling:
    """Read the table, and judge it."""
    from headroles.judging.scores import judge_scores as judge
    from headroles.runs.scores.table import read_table
    from headroles.stats.resolution import check_resolution

    table = read_table(options)
    scores, rules = table.scores, table.rules
    check_resolution(options.decision, rules, scores.layers, scores.heads)
    judged = judge(scores, rules, options, options.decision)
    return replace(judged, manifest=_manifest(options, judged, table.sha256), skipped=table.notes)


def _manifest(options: ScoresOptions, judged: Labelling, sha256: str) -> dict[str, Any]:
    """Return everything needed to reproduce the run, in JSON types."""
    from headroles.runs.manifest import counts_of

    scores = judged.scores
    name = options.scores.name if isinstance(options.scores, DataObject) else str(options.scores)
    return {
        "headroles": version("headroles"),
        "command": options.command(),
        "source": {"kind": "scores", "name": name, "rows": len(scores.examples), "sha256": sha256},
        "model": {
            "name": options.model_name or input_name(name),
            **plain_stack(scores.layers).described,
            "heads": scores.heads,
        },
        "settings": options.settings(),
        "counts": counts_of(scores),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "statistic": "given",
        "notes": [],
    }


def _write(folder: Path, judged: Labelling) -> None:
    """Write the run into its folder, in one step."""
    from headroles.kinds import kind_of
    from headroles.storage.run import write_examples, write_part, write_results

    page = kind_of(judged).page(judged)
    with stage_folder(folder) as staging:
        write_part(staging, 0, judged.scores)
        write_examples(staging, judged.scores)
        write_results(staging, judged, page)


def default_folder(scores: str) -> str:
    """Return the folder that the command uses by default: ``runs/`` and the name of the table.

    Example:
        >>> default_folder("tables/retrieval.parquet")
        'runs/retrieval'
    """
    return str(Path("runs") / input_name(scores))
