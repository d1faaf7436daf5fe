"""Compare two finished runs head by head: ``compare()``; no model is needed."""

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headroles.addresses import check_place, is_address
from headroles.comparing.match import match_runs
from headroles.options.finished import CompareOptions
from headroles.options.keywords import keywords_of
from headroles.records.comparison import Comparison
from headroles.records.example import Decision
from headroles.records.findings import Findings, Labelling
from headroles.reports.compare_page import comparison_page
from headroles.reports.words.words import plural
from headroles.stats.columns import Columns
from headroles.stats.comparing.paired import column_pairs, paired_differences
from headroles.stats.comparing.summary import by_layer, remarks
from headroles.stats.comparing.swaps import compare_by_swaps
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid
from headroles.storage.comparison import write_comparison
from headroles.storage.folder import COMPARISON, check_free
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.remote import local_copy
from headroles.storage.run import load

MANIFEST_FIELDS = (
    "command", "headroles", "task", "source", "tokenizer", "model", "parser", "preset", "statistic",
    "counts", "versions",
)  # fmt: skip
"""Fields of the manifest of each run that a comparison records."""
PACKAGES = ("numpy", "scipy", "statsmodels", "pandas", "plotly")
DECISION_NAMES = {"resample_seed": "seed"}
SETTINGS = ("alpha", "test", "correction", "family", "resamples", "resample_seed", "interval")
"""Settings of the decision for both runs; those not given are as in run A."""


@keywords_of(CompareOptions, "dir_a", "dir_b")
def compare(options: CompareOptions) -> Comparison:
    """Compare two runs head by head: differences, equivalences, and roles gained and lost.

    The runs score the same examples with the same sieves under two models, or one model on two inputs
    of equal layout. Differences are B − A. Both runs are judged again with one decision, so that their
    labels are comparable.

    Args:
        {options}

    Raises:
        HeadrolesError: When the runs do not match or a setting does not exist; in one sentence, with
            nothing left half-written.
    """
    if is_address(options.out or ""):
        with local_copy(options.out or "", back=True) as local_folder:
            return _compare(options, local_folder)
    return _compare(options, None if options.out is None else Path(options.out))


def _compare(options: CompareOptions, folder: Path | None) -> Comparison:
    """Compare two runs, and write the result into a folder, if there is one."""
    settings = {"a": options.dir_a, "b": options.dir_b, "bound": options.bound, "swaps": options.swaps}
    settings |= {name: value for name, value in options.given().items() if name in SETTINGS}
    with lock_run_folder(folder):
        if folder is not None:
            check_free(folder, settings, options.overwrite, COMPARISON)
        compared = _compare_folders(options.dir_a, options.dir_b, settings)
        if folder is not None:
            write_comparison(folder, compared, comparison_page(compared))
    return compared


def _compare_folders(dir_a: str | Path, dir_b: str | Path, settings: dict[str, Any]) -> Comparison:
    """Load two runs and compare them by these settings; nothing is written."""
    first, second, way = match_runs(load(dir_a), load(dir_b))
    given = {DECISION_NAMES.get(name, name): settings[name] for name in SETTINGS if name in settings}
    decision = replace(first.decision, **given)
    compared = _compare_matched(first, second, decision, settings["bound"], settings["swaps"])
    notes = [
        *_subsample_notes((first, second)),
        *_changed_labels((first, second), (compared.before, compared.after)),
    ]
    manifest = _manifest(settings, compared, first, second) | {"matched": way}
    all_remarks = (*compared.remarks, *notes)
    return replace(compared, manifest=manifest | {"remarks": list(all_remarks)}, remarks=all_remarks)


def _compare_matched(
    first: Labelling, second: Labelling, decision: Decision, bound: float, swaps: int
) -> Comparison:
    """Compute all statistics of two runs that match."""
    both = (first.scores, second.scores)
    rules = (first.findings.rules, second.findings.rules)
    before, after = (
        judge(scores, run_rules, decision) for scores, run_rules in zip(both, rules, strict=True)
    )
    differences = paired_differences(*both, rules, decision, bound)
    columns = [Columns(scores, run_rules) for scores, run_rules in zip(both, rules, strict=True)]
    grid = Grid(first.scores.layers, first.scores.heads)
    changed_columns = [pair.column for pair in column_pairs(*both, rules)]
    return Comparison(
        differences,
        before,
        after,
        decision,
        bound,
        layers=tuple(by_layer(differences, before, after)),
        swaps=tuple(compare_by_swaps(columns[0], columns[1], grid, decision, swaps)),
        remarks=tuple(remarks(differences, changed_columns, decision, bound, swaps)),
    )


def _subsample_notes(stored: tuple[Labelling, Labelling]) -> list[str]:
    """Return a note for each run that kept sums: only its subsample of scores can be compared."""
    return [
        f"{name} kept sums of {run.moments.examples:,} inputs, which hold no differences input by "
        f"input: it is compared, and judged again, on the random {len(run.scores.examples):,} of them whose "
        f"scores it kept."
        for name, run in zip("AB", stored, strict=True)
        if run.moments is not None
    ]


def _changed_labels(
    stored: tuple[Labelling, Labelling], findings_again: tuple[Findings, Findings]
) -> list[str]:
    """Return how many labels of each run the joint decision changed."""
    notes = []
    for name, run, findings in zip("AB", stored, findings_again, strict=True):
        roles = [rule.role for rule in findings.rules]
        changed = int(((run.findings.decision == 0) != (findings.decision == 0))[roles].sum())
        on = "on the units of both joined" if run.moments is None else "on its subsample alone"
        if changed:
            notes.append(
                f"judged again, with one decision for both runs and {on}, {name} differs from its own folder "
                f"in {plural(changed, 'label')}."
            )
    return notes


def _manifest(
    settings: Mapping[str, Any], compared: Comparison, first: Labelling, second: Labelling
) -> dict[str, Any]:
    """Return everything needed to reproduce the comparison, in JSON types; no time of day."""
    runs = {
        name: {"folder": settings[name]}
        | {key: run.manifest[key] for key in MANIFEST_FIELDS if key in run.manifest}
        for name, run in (("a", first), ("b", second))
    }
    scores = first.scores
    return {
        "headroles": version("headroles"),
        "kind": "comparison",
        "command": _command(settings),
        **runs,
        "settings": dict(settings),
        "decision": asdict(compared.decision),
        "counts": {"examples": len(scores.examples), "units": len(set(scores.units))},
        "rules": [
            {"sieve": rule.sieve, "margin": rule.margin, "contrast": rule.contrast, "role": rule.role}
            for rule in compared.differences.rules
        ],
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }


def _command(settings: Mapping[str, Any]) -> str:
    """Return the command line that gives this comparison."""
    usual = {"bound": 0.05, "swaps": 1000}
    words = ["headroles", "compare", settings["a"], settings["b"]]
    for name, value in settings.items():
        if name not in ("a", "b") and value != usual.get(name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def default_folder(dir_a: str, dir_b: str) -> str:
    """Return the folder that the command uses by default: ``compare/<name A>-<name B>``.

    Example:
        >>> default_folder("runs/QNLI-before", "runs/QNLI-after/")
        'compare/QNLI-before-QNLI-after'
    """
    for where in (dir_a, dir_b):
        check_place(where)
    return str(Path("compare") / "-".join(Path(run_folder).resolve().name for run_folder in (dir_a, dir_b)))
