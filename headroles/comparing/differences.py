"""Compute the differences of two matched runs, how their labels changed, and the record of both."""

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

from headroles.comparing.match import Match, match_runs, select_columns
from headroles.options.described import described
from headroles.options.finished import CompareOptions, decision_fields
from headroles.records.comparison import APART, Comparison
from headroles.records.findings import Findings, Labelling
from headroles.records.numbers import plural
from headroles.records.rules.rule import Decision
from headroles.stats.columns import Columns, select_sieves
from headroles.stats.comparing.apart import pair_at_random
from headroles.stats.comparing.paired import paired_differences
from headroles.stats.comparing.summary import by_layer, explained_labels, remarks
from headroles.stats.comparing.swaps import compare_by_swaps, labels_moved
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid

MANIFEST_FIELDS = (
    "command", "headroles", "task", "source", "tokenizer", "model", "parser", "preset", "statistic",
    "counts", "versions",
)  # fmt: skip
"""Fields of the manifest of each run that a comparison records."""
PACKAGES = ("numpy", "scipy", "statsmodels", "pandas", "plotly")


def compare_runs(first: Labelling, second: Labelling, settings: Mapping[str, Any]) -> Comparison:
    """Return the comparison of two runs by these settings; nothing is written.

    Args:
        first: Run A.
        second: Run B.
        settings: Folders of both as "a" and "b", "bound", "swaps", and settings of the decision that differ
            from those of run A, by the names of ``headroles judge``.

    Raises:
        HeadrolesError: When the runs do not match, or the decision cannot be carried out.
    """
    match = match_runs(first, second)
    first, second = match.first, match.second
    decision = replace(first.decision, **decision_fields(settings))
    compared = _compare_matched(match, decision, settings["bound"], settings["swaps"])
    notes = [
        *match.notes,
        *_label_notes(compared, first.decision.test),
        *explained_labels(compared.before, compared.after),
        *_weight_notes((first, second)),
        *_subsample_notes((first, second)),
        *_changed_labels(match, (compared.before, compared.after)),
    ]
    manifest = _manifest(settings, compared, match) | {"matched": match.way}
    all_remarks = (*compared.remarks, *notes)
    return replace(compared, manifest=manifest | {"remarks": list(all_remarks)}, remarks=all_remarks)


def _compare_matched(match: Match, decision: Decision, bound: float, swaps: int) -> Comparison:
    """Compute all statistics of two runs that match; labels are those of the test of run A."""
    labels = replace(decision, test=match.first.decision.test)
    runs, places, rules = (match.first, match.second), (match.own, match.other), match.rules
    before, after = (
        select_columns(judge(run.scores, rules_of_run, labels), own)
        for run, rules_of_run, own in zip(runs, match.judged_by, places, strict=True)
    )
    one, other = (select_sieves(run.scores, own) for run, own in zip(runs, places, strict=True))
    if match.swaps_fit:
        grid = Grid(one.layers, one.heads)
        moved = compare_by_swaps(Columns(one, rules[0]), Columns(other, rules[1]), grid, labels, swaps)
    else:
        moved = labels_moved(before, after)
    if match.way == APART:
        one, other = pair_at_random(one, other, [rule.pooled for rule in rules[0]], decision.seed)
    differences = paired_differences(one, other, rules, decision, bound)
    swapped = labels if swaps and match.swaps_fit else None
    return Comparison(
        differences,
        before,
        after,
        decision,
        bound,
        layers=by_layer(differences, before, after, match.first.scores.stack),
        swaps=moved,
        remarks=tuple(remarks(differences, decision, bound, swapped)),
    )


def _label_notes(compared: Comparison, label_test: str) -> list[str]:
    """Return a note where labels have another test than differences."""
    if label_test == compared.decision.test:
        return []
    return [
        f"Labels of both runs are tested by {label_test}, as in A. Differences are tested by "
        f"{compared.decision.test}."
    ]


def _weight_notes(stored: tuple[Labelling, Labelling]) -> list[str]:
    """Return a note where only one run read attention weighted by the norms of values."""
    by_norm = [(run.manifest.get("model") or {}).get("weights") == "norm" for run in stored]
    if by_norm[0] == by_norm[1]:
        return []
    return [
        f"Attention of {'B' if by_norm[1] else 'A'} is weighted by the norms of the values that it moves, "
        f"that of {'A' if by_norm[1] else 'B'} is not."
    ]


def _subsample_notes(stored: tuple[Labelling, Labelling]) -> list[str]:
    """Return a note for each run that kept sums: only its subsample of scores can be compared."""
    return [
        f"{name} kept sums of {run.moments.examples:,} inputs, without differences input by input. It is "
        f"compared, and judged again, on the random {len(run.scores.examples):,} of them whose scores it "
        "kept."
        for name, run in zip("AB", stored, strict=True)
        if run.moments is not None
    ]


def _changed_labels(match: Match, findings_again: tuple[Findings, Findings]) -> list[str]:
    """Return how many labels of each run the joint decision changed."""
    notes, runs, places = [], (match.first, match.second), (match.own, match.other)
    units = "" if match.way == APART else " and on the units of both joined"
    for name, run, own, findings in zip("AB", runs, places, findings_again, strict=True):
        roles = [rule.role for rule in findings.rules]
        changed = int(((run.findings.decision[own] == 0) != (findings.decision == 0))[roles].sum())
        on = units if run.moments is None else " and on its subsample alone"
        if changed:
            notes.append(
                f"judged again, with one decision for both runs{on}, {name} differs from its own folder "
                f"in {plural(changed, 'label')}."
            )
    return notes


def _manifest(settings: Mapping[str, Any], compared: Comparison, match: Match) -> dict[str, Any]:
    """Return everything needed to reproduce the comparison, in JSON types; no time of day."""
    runs = {
        name: {"folder": settings[name]}
        | {key: run.manifest[key] for key in MANIFEST_FIELDS if key in run.manifest}
        for name, run in (("a", match.first), ("b", match.second))
    }
    read = [run.scores for run in (match.first, match.second)]
    examples, units = [len(scores.examples) for scores in read], [len(set(scores.units)) for scores in read]
    return {
        "headroles": version("headroles"),
        "kind": "comparison",
        "command": _command(settings),
        **runs,
        "settings": dict(settings),
        "decision": asdict(compared.decision),
        "label_test": match.first.decision.test,
        "counts": {
            "examples": sum(examples) if match.way == APART else examples[0],
            "units": min(units),
        },
        "rules": [
            {"sieve": rule.sieve, "margin": rule.margin, "contrast": rule.contrast, "role": rule.role}
            for rule in compared.differences.rules
        ],
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }


def _command(settings: Mapping[str, Any]) -> str:
    """Return the command line that gives this comparison."""
    usual = {option.name: option.value for option in described(CompareOptions)}
    words = ["headroles", "compare", settings["a"], settings["b"]]
    for name, value in settings.items():
        if name not in ("a", "b") and value != usual.get(name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)
