"""Compare two finished runs head by head: ``compare()``; no model is needed."""

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from headroles.addresses import check_place, is_address
from headroles.comparing.match import match_runs
from headroles.errors import BadInput, UnknownName, shorten
from headroles.options.label import options_of
from headroles.options.run import LARGEST
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
from headroles.stats.resolution import FEWEST, MOST
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


def compare(
    dir_a: str | Path,
    dir_b: str | Path,
    *,
    bound: float = 0.05,
    swaps: int = 1000,
    out: str | Path | None = None,
    overwrite: bool = False,
    **decision: Any,
) -> Comparison:
    """Compare two runs head by head: differences, equivalences, and roles gained and lost.

    The runs score the same examples with the same sieves under two models, or one model on two inputs
    of equal layout. Differences are B − A. Both runs are judged again with one decision, so that their
    labels are comparable.

    Args:
        dir_a: Folder of run A, such as that of a pretrained model.
        dir_b: Folder of run B, such as that of a fine-tuned one.
        bound: Differences within ± bound are equivalent, on the scale of the scores (0.05 is half of
            the usual margin of a role).
        swaps: Random swaps of the two runs within units, the reference for labels gained and lost; at
            least 99, or 0 for none.
        out: Folder to write, or its address; None: nothing is written.
        overwrite: Whether to replace a comparison with other settings.
        **decision: The decision for both runs, by the names of ``headroles judge``: ``alpha``, ``test``,
            ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``. Settings that are
            not given are as in run A.

    Raises:
        HeadrolesError: When the runs do not match or a setting does not exist; in one sentence, with
            nothing left half-written.
    """
    for where in (dir_a, dir_b, *(() if out is None else (out,))):
        check_place(where)
    if is_address(out or ""):
        with local_copy(out or "", back=True) as local_folder:
            return compare(
                dir_a, dir_b, bound=bound, swaps=swaps, out=local_folder, overwrite=overwrite, **decision
            )
    bound, swaps = check_bound(bound), check_swaps(swaps)
    settings = {"a": str(dir_a), "b": str(dir_b), "bound": bound, "swaps": swaps} | _given(decision)
    folder = None if out is None else Path(out)
    with lock_run_folder(folder):
        if folder is not None:
            check_free(folder, settings, overwrite, COMPARISON)
        compared = _compare_folders(dir_a, dir_b, settings)
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


def check_bound(bound: Any) -> float:
    """Return the bound as a plain number, and check that it is above 0."""
    number: Any = bound if isinstance(bound, Real) and not isinstance(bound, bool) else 0
    if not 0 < number <= LARGEST:
        raise BadInput(
            f"the bound is the largest difference that counts as none, a number above 0 on the scale of the "
            f"scores, but got {shorten(bound)}; the default is 0.05"
        )
    return float(number)


def check_swaps(swaps: Any) -> int:
    """Return the number of swaps as a plain one, and check that it is enough for a p."""
    is_whole = isinstance(swaps, Integral) and not isinstance(swaps, bool)
    if not is_whole or (swaps != 0 and not FEWEST <= swaps <= MOST):
        raise BadInput(
            f"swaps must be a whole number of at least {FEWEST} and at most {MOST:,}, or 0 for none, but "
            f"got {shorten(swaps)}"
        )
    return int(swaps)


def _given(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were given, as plain types."""
    for name in decision:
        if name not in SETTINGS:
            raise UnknownName("option", name, ("bound", "swaps", "out", "overwrite", *SETTINGS))
    settings = {name: value for name, value in decision.items() if value is not None}
    options = options_of(data="scores", **settings)
    return {name: getattr(options, name) for name in SETTINGS if name in settings}


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
