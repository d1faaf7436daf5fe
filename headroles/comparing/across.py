"""What holds across the runs of an atlas: roles in at least u of k runs, pooled means, training steps."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.inputs.identity import shared_inputs
from headroles.records.atlas.across import CONSENSUS, TRENDS
from headroles.records.findings import Labelling
from headroles.records.numbers import percent_text
from headroles.records.table import Table
from headroles.stats.across.conjunction import conjunctions
from headroles.stats.across.meta import NOTHING, pool_means
from headroles.stats.across.replicability import replicability_r
from headroles.stats.across.steps import emergence, losses, trends
from headroles.stats.columns import Columns
from headroles.stats.correction import adjust, significant
from headroles.stats.decision import CORRECTIONS
from headroles.stats.engine import counted_p, evidence_columns

DIRECTIONS = {1: "rises", -1: "falls", 0: "undetermined"}
"""Signs of a significant slope in words."""
FEWEST_STEPS = 3
"""Fewest checkpoints between which a trend is tested."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRun:
    """One run with what its families counted.

    Attributes:
        name: Its name in the atlas.
        labelling: The run.
        columns: What was tested.
        p: p of roles, 1 where a claim hinges on few units.
        p_not: p of nots, likewise.
    """

    name: str
    labelling: Labelling
    columns: Columns
    p: Float[np.ndarray, "sieves layers heads"]
    p_not: Float[np.ndarray, "sieves layers heads"]

    @property
    def correction(self) -> str:
        """Name of the correction of its families; Holm's in place of one that resamples."""
        name = self.labelling.decision.correction
        return name if name in CORRECTIONS else "holm"


def judged_run(name: str, labelling: Labelling) -> JudgedRun:
    """Return a run with its columns and the p that its families counted."""
    decision, findings = labelling.decision, labelling.findings
    columns = evidence_columns(labelling.scores, findings.rules, decision, labelling.moments)
    return JudgedRun(name, labelling, columns, *counted_p(columns, findings, decision))


def shared_notes(group: str, runs: Sequence[JudgedRun]) -> list[str]:
    """Return a sentence where runs of a group share a text, an input, a document or a unit; else [].

    Such runs are not independent: then neither p are multiplied, nor r values given, nor means pooled.

    Args:
        group: Its name.
        runs: Two or more.
    """
    shared = []
    for first, second in combinations(runs, 2):
        manifests = first.labelling.manifest, second.labelling.manifest
        share, what = shared_inputs(*manifests, (first.labelling.scores.units, second.labelling.scores.units))
        if share > 0:
            shared.append(f"{second.name} has about {percent_text(share)} of its {what} from {first.name}")
    if not shared:
        return []
    more = f", and {len(shared) - 1} more pairs share some" if len(shared) > 1 else ""
    return [
        f"Runs of {group} share inputs ({shared[0]}{more}). So they are no independent evidence: p are "
        "combined by Bonferroni's method, and there are no r values and no pooled means."
    ]


def consensus_rows(group: str, runs: Sequence[JudgedRun], apart: bool) -> Table:
    """Return every role and head over the runs of one group.

    Args:
        group: Its name.
        runs: Two or more runs of one model by one rule.
        apart: Whether no two of them share an input (``shared_notes``).

    Returns:
        Roles that two runs or more tested, head after head.
    """
    combination = "fisher" if apart else "bonferroni"
    decision, correction = runs[0].labelling.decision, runs[0].correction
    rows: list[dict[str, Any]] = []
    for role in dict.fromkeys(name for run in runs for name in run.labelling.findings.roles):
        having = [run for run in runs if role in run.labelling.findings.roles]
        if len(having) < 2:
            continue
        places = [run.labelling.findings.of(role) for run in having]
        p, held, means, errors = (
            np.stack(part) for part in zip(*map(_evidence, having, places), strict=True)
        )
        held_in = conjunctions(p, combination, correction, decision.alpha)
        known = (~np.isnan(p)).sum(axis=0)
        p_all, q_all = held_in.p[-1], held_in.q[-1]
        r = np.full(p.shape[1], np.nan)
        if len(having) == 2 and apart:
            r = replicability_r(p[0], p[1], decision.alpha)
        heads, layers = having[0].labelling.scores.heads, having[0].labelling.scores.stack.numbers
        for head in range(p.shape[1]):
            pooled = pool_means(means[:, head], errors[:, head]) if apart else NOTHING
            rows.append({
                "group": group, "sieve": role, "layer": layers[head // heads], "head": head % heads,
                "runs": known[head], "held": held[:, head].sum(), "at_least": held_in.at_least[head],
                "p_all": p_all[head], "q_all": q_all[head], "combination": combination, "r": r[head],
                **asdict(pooled),
            })  # fmt: skip
    return CONSENSUS.rows(rows)


def _evidence(run: JudgedRun, place: int) -> tuple[np.ndarray, ...]:
    """Return p, labels, means and standard errors of one role, head after head."""
    findings = run.labelling.findings
    sample = run.columns[place].sample
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = sample.sd / np.sqrt(sample.count)
    held = findings.decision[place] == 0
    return run.p[place].ravel(), held.ravel(), findings.mean[place].ravel(), errors


def step_rows(runs: Sequence[JudgedRun]) -> Table:
    """Return every role and head over the checkpoints of one training, in the order of the runs.

    Args:
        runs: The checkpoints, first to last.

    Raises:
        BadInput: When there are fewer than three, or they differ in heads, inputs or rule.
    """
    _check_steps(runs)
    names, first = [run.name for run in runs], runs[0].labelling
    decision, correction, heads = first.decision, runs[0].correction, first.scores.heads
    layers = first.scores.stack.numbers
    rows: list[dict[str, Any]] = []
    for role in first.findings.roles:
        places = [run.labelling.findings.of(role) for run in runs]
        p, p_not = (
            np.stack([part[place].ravel() for part, place in zip(parts, places, strict=True)])
            for parts in ([run.p for run in runs], [run.p_not for run in runs])
        )
        columns = [run.columns[place] for run, place in zip(runs, places, strict=True)]
        values = np.stack([column.values for column in columns])
        low, high = min(column.low for column in columns), max(column.high for column in columns)
        mean, slope = trends(values, low, high)
        two_sided = np.minimum(1.0, 2 * np.minimum(slope.p, slope.p_not))
        q = adjust(two_sided, correction, decision.alpha)
        sign = significant(q, decision.alpha, two_sided) * np.where(slope.p < slope.p_not, 1, -1)
        found = emergence(p, p_not, correction, decision.alpha)
        lost = losses(p, p_not, correction, decision.alpha)
        for head in range(p.shape[1]):
            trend = "untestable" if np.isnan(two_sided[head]) else DIRECTIONS[int(sign[head])]
            earliest = int(found.earliest[head])
            rows.append({
                "sieve": role, "layer": layers[head // heads], "head": head % heads, "slope": mean[head],
                "low": slope.low[head], "high": slope.high[head], "p": two_sided[head], "q": q[head],
                "trend": trend, "emerged": _name(names, int(found.step[head])),
                "earliest": _name(names, earliest if earliest else -1),
                "latest": _name(names, int(found.latest[head])), "lost": _name(names, int(lost[head])),
            })  # fmt: skip
    return TRENDS.rows(rows)


def _name(names: Sequence[str], place: int) -> str:
    """Return the name of a step; "" for none, and past the last."""
    return names[place] if 0 <= place < len(names) else ""


def _check_steps(runs: Sequence[JudgedRun]) -> None:
    """Check that runs can be steps of one training.

    Raises:
        BadInput: When there are fewer than three, or they differ in heads, roles, inputs or rule.
    """
    if len(runs) < FEWEST_STEPS:
        raise BadInput(
            f"a trend needs {FEWEST_STEPS} checkpoints or more, but got {len(runs)}; name more runs, or "
            "leave --steps out"
        )
    first = runs[0].labelling
    for run in runs[1:]:
        other = run.labelling
        for what, own, theirs in (
            ("heads", first.findings.count.shape[1:], other.findings.count.shape[1:]),
            ("roles", first.findings.roles, other.findings.roles),
            ("units", first.scores.units, other.scores.units),
            ("margins and thresholds", _thresholds(first), _thresholds(other)),
            ("rule of decision", first.decision, other.decision),
        ):
            if own != theirs:
                raise BadInput(
                    f"checkpoints of one training are compared unit by unit, but the {what} of "
                    f"'{run.name}' differ from those of '{runs[0].name}'; label all checkpoints on the "
                    "same inputs with the same options"
                )


def _thresholds(labelling: Labelling) -> list[float]:
    """Return the margins of all columns."""
    return [rule.margin for rule in labelling.findings.rules]
