"""Match two runs on different inputs column by column, and count the roles of one that hold in the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroles.comparing.match import select_columns
from headroles.errors import BadInput
from headroles.inputs.identity import shared_inputs
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.numbers import percent_text, plural
from headroles.records.probes import CONDITION_GAPS
from headroles.records.replication import BEST, COUNTS, Replication
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Table
from headroles.stats.columns import select_sieves
from headroles.stats.comparing.replication import (
    count_replicates,
    replicate_best_heads,
    replicate_gaps,
    replicate_roles,
    replication_remarks,
)

MANIFEST_FIELDS = (
    "command",
    "headroles",
    "task",
    "source",
    "tokenizer",
    "model",
    "parser",
    "preset",
    "statistic",
)
"""Fields of the manifest of each run that a replication records."""
EQUAL_SETTINGS = ("preset", "statistic")
"""Settings that must be equal in both runs."""


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Two runs that can be compared, and the columns they share.

    Attributes:
        first: Run A.
        second: Run B.
        own: Positions in A of the columns that both have, contrasts included.
        other: Their positions in B.
    """

    first: Labelling
    second: Labelling
    own: list[int]
    other: list[int]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules for B: its own chance values and bounds, and the margins of A."""
        pairs = zip(self.own, self.other, strict=True)
        rules, rules_b = self.first.findings.rules, self.second.findings.rules
        return tuple(
            replace(rules_b[b], margin=rules[a].margin, together=rules[a].together) for a, b in pairs
        )

    @property
    def scores(self) -> Scores:
        """The scores of B in the columns that both runs have."""
        return select_sieves(self.second.scores, self.other)


def replicate_run(
    first: Labelling, second: Labelling, decision: Decision, folders: tuple[str, str]
) -> Replication:
    """Return the outcome of the roles of one run on the inputs of another.

    Args:
        first: Run A, whose roles are tested.
        second: Run B, on whose inputs they are tested.
        decision: Test, alpha and correction of B.
        folders: Names of both, for the record.

    Raises:
        BadInput: When the models or settings differ, the inputs are the same, or no column is in both.
    """
    runs = _matched_runs(first, second)
    shared = _shared_texts(runs)
    if shared:
        decision = replace(decision, correction="bonferroni")
    replication = _replication(runs, decision, alone=not shared)
    facts = {
        name: {"folder": folder} | {key: run.manifest[key] for key in MANIFEST_FIELDS if key in run.manifest}
        for name, folder, run in (("a", folders[0], first), ("b", folders[1], second))
    }
    return replace(replication, manifest=facts, notes=tuple(_notes(runs, replication, shared)))


def _matched_runs(first: Labelling, second: Labelling) -> _Runs:
    """Check two runs, and find the columns that mean the same in both."""
    _check_alike(first, second)
    rules, rules_b = first.findings.rules, second.findings.rules
    position = {rule.sieve: k for k, rule in enumerate(rules_b)}
    shared = [
        k
        for k, rule in enumerate(rules)
        if rule.sieve in position and rules_b[position[rule.sieve]].contrast == rule.contrast
    ]
    if not any(rules[k].role for k in shared):
        raise BadInput(
            "a replication needs at least one sieve or probe in both runs, but A and B have none in "
            f"common (A has {_first_names(first.findings.roles, 3)}; B has "
            f"{_first_names(second.findings.roles, 3)}); run both with the same sieves or probes"
        )
    return _Runs(first, second, shared, [position[rules[k].sieve] for k in shared])


def _check_alike(first: Labelling, second: Labelling) -> None:
    """Check that heads and scores of two runs are the same kind, and that their inputs differ."""
    shapes = [(run.scores.stack.numbers, run.scores.heads) for run in (first, second)]
    if shapes[0] != shapes[1]:
        raise BadInput(
            f"a replication needs the same heads in both runs, but A has {len(shapes[0][0])} layers "
            f"of {shapes[0][1]} heads and B {len(shapes[1][0])} of {shapes[1][1]}; give two runs of one model"
        )
    for name in EQUAL_SETTINGS:
        value_a, value_b = (run.manifest.get(name) for run in (first, second))
        if value_a != value_b:
            raise BadInput(
                f"a replication needs the same rules in both runs, but the {name} is {_as_text(value_a)} "
                f"in A and {_as_text(value_b)} in B; run both with one {name}"
            )
    texts = [run.manifest.get("source", {}).get("sha256") for run in (first, second)]
    if texts[0] == texts[1] and texts[0] is not None:
        raise BadInput(
            "a replication needs new inputs, but A and B read the same ones (equal SHA-256 of their "
            "texts); run one of them on other data"
        )
    for what, name in (("questions", "asked"), ("root of trees", "root")):
        value_a, value_b = (_nested(run.manifest, ("probe", name)) for run in (first, second))
        if value_a != value_b and None not in (value_a, value_b):
            raise BadInput(
                f"a replication needs the same questions in both runs, but the {what} of A is {value_a!r} "
                f"and that of B {value_b!r}; run both alike"
            )


def _replication(runs: _Runs, decision: Decision, alone: bool) -> Replication:
    """Compute all statistics of two runs that can be compared; ``alone``: A and B share no input."""
    before, rules, scores = select_columns(runs.first.findings, runs.own), runs.rules, runs.scores
    outcomes = replicate_roles(before, scores, rules, decision, runs.second.moments, alone)
    stack = runs.first.scores.stack
    means = (before.mean, runs.second.findings.mean[runs.other])
    roles = [k for k, rule in enumerate(rules) if rule.role]
    rows: dict[str, list[int]] = {}
    for k in roles:
        rows.setdefault(rules[k].together or rules[k].sieve, []).append(k)

    def counted(name: str, columns: Sequence[int]) -> dict[str, Any]:
        return count_replicates(name, columns, outcomes, means, rules)

    names = {rules[k].sieve for k in roles}
    best = _test_best_heads(runs, scores, rules, decision)
    gaps = replicate_gaps(_gaps(runs.first), _gaps(runs.second), decision)
    if not alone:  # A chose them by inputs that B has, too
        best = best.replace(q=[math.nan] * len(best), decision=[""] * len(best))
        gaps = gaps.replace(q=[math.nan] * len(gaps), decision=["undetermined"] * len(gaps))
    return Replication(
        decision=decision,
        replicates=outcomes.numbered(stack),
        columns=COUNTS.rows(counted(rules[k].sieve, [k]) for k in roles),
        rows=COUNTS.rows(counted(name, columns) for name, columns in rows.items()),
        best=best.numbered(stack),
        gaps=gaps.numbered(stack),
        only_a=tuple(name for name in runs.first.findings.roles if name not in names),
        only_b=tuple(name for name in runs.second.findings.roles if name not in names),
    )


def _gaps(run: Labelling) -> Table:
    """Return the gaps between conditions of a run; none for runs without conditions."""
    return run.probed.gaps if run.probed is not None else CONDITION_GAPS


def _test_best_heads(runs: _Runs, scores: Scores, rules: tuple[Rule, ...], decision: Decision) -> Table:
    """Test the best heads of the probes of A on B; none for other runs."""
    probed = runs.first.probed
    if probed is None:
        return BEST
    position = {rule.sieve: k for k, rule in enumerate(rules)}
    named = [(":".join(part for part in (best.row, best.direction) if part), best) for best in probed.best]
    shared = [(position[name], best) for name, best in named if name in position and best.layer >= 0]
    return replicate_best_heads([best for _, best in shared], [k for k, _ in shared], scores, rules, decision)


def _notes(runs: _Runs, replication: Replication, shared: list[str]) -> list[str]:
    """Return notes for the reader, one sentence each."""
    notes = _differences(runs.first, runs.second)
    notes += shared
    notes += replication_remarks(runs.second.scores, runs.rules, replication.decision, runs.second.moments)
    margins = [rule.margin for rule in runs.rules]
    margins_of_b = [runs.second.findings.rules[k].margin for k in runs.other]
    if margins != margins_of_b:
        many = sum(margin_a != margin_b for margin_a, margin_b in zip(margins, margins_of_b, strict=True))
        notes.append(f"B is judged by the margins of A; its own differ in {plural(many, 'column')}.")
    for name, columns, run in (("A", replication.only_a, runs.first), ("B", replication.only_b, runs.second)):
        if columns:
            columns_of_run = [run.findings.of(column) for column in columns]
            roles = int((run.findings.decision[columns_of_run] == 0).sum())
            notes.append(
                f"{plural(len(columns), 'column')} of {name} only, with {plural(roles, 'role')}, left out: "
                f"{_first_names(columns, 6)}."
            )
    return notes


def _shared_texts(runs: _Runs) -> list[str]:
    """Return a note where runs share inputs, by hash; by names of units where hashes are not known."""
    named = runs.first.scores.units, runs.second.scores.units
    share, what = shared_inputs(runs.first.manifest, runs.second.manifest, named)
    if not share:
        return []
    return [
        f"about {percent_text(share)} of the {what} of B are those of A: B is no independent test. So its p "
        "are corrected by Bonferroni's method over all heads, and not over the roles of A alone. Best heads "
        "and "
        "gaps are not decided."
    ]


def _differences(first: Labelling, second: Labelling) -> list[str]:
    """Return what differs between the runs apart from their inputs."""
    notes = []
    models = [run.manifest.get("model", {}) for run in (first, second)]
    if len({model.get("weights_sha256") or model.get("name") for model in models}) > 1:
        notes.append(
            f"the weights of the models differ (A {models[0].get('name')}, B {models[1].get('name')}), so "
            f"heads in the same place need not be the same heads."
        )
    for what, path in (
        ("parser", ("parser", "name")),
        ("scheme of relations", ("probe", "scheme")),
        ("reading", ("probe", "read")),
        ("window in tokens", ("probe", "windows", "size")),
        ("longest input in tokens", ("tokenizer", "max_length")),
    ):
        value_a, value_b = (_nested(run.manifest, path) for run in (first, second))
        if value_a != value_b:
            notes.append(f"the {what} is {_as_text(value_a)} in A and {_as_text(value_b)} in B.")
    return notes


def _nested(facts: Any, path: tuple[str, ...]) -> Any:
    """Return a nested value of a manifest; None where it is absent."""
    for name in path:
        facts = (facts or {}).get(name)
    return facts


def _first_names(names: Sequence[str], most: int) -> str:
    """Return the first names, with dots where there are more."""
    return ", ".join(names[:most]) + " …" * (len(names) > most)


def _as_text(value: Any) -> str:
    """Return a value as text."""
    return "none" if value is None else str(value)
