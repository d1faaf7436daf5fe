"""Judge answers of probes: rules, chance values, findings, best heads, and gaps between conditions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headroles.options.probe import ProbeOptions
from headroles.records.documents import Document
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.probes import BEST_HEADS, CONDITION_GAPS, CONTRAST_PART, BaselineCounts, ProbeResults
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Table
from headroles.sieves.probes.coreference import true_names
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge
from headroles.stats.probes.baselines import baseline_rows, cross_fitted_baselines, selection_half
from headroles.stats.probes.best_head import RowColumns, best_heads
from headroles.stats.probes.conditions import adjust_gaps, gaps

MARGIN = 0.05
"""How far above the best baseline an accuracy must lie. A head that uses only distance gains a little over
any fixed offset at the ends of sentences, where the offset points at nothing."""
CONTRAST_MARGIN = 0.05
DIRECTIONS = ("→", "←")


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings for judging answers.

    Attributes:
        decision: Test, correction, family, alpha.
        seed: Seed of the halves.
        honest: Whether the best heads are tested on another half than they are chosen on. If not,
            they are chosen and shown on all data, as published, and not tested.
        assessed: Options of ``headroles.stats.assessment.assess``.
    """

    decision: Decision
    seed: int
    honest: bool
    assessed: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """Conditions to compare: the condition of each example, and whether its passage has a true name."""

    names: tuple[str, ...]
    named: np.ndarray | None


def judge_settings(options: ProbeOptions) -> JudgeSettings:
    """Return the settings for judging the answers of a run."""
    return JudgeSettings(
        decision=options.decision,
        seed=options.seed,
        honest=options.preset != "published",
        assessed=options.assessed,
    )


def conditions_of(documents: Sequence[Document]) -> Conditions | None:
    """Return the conditions of the documents of the examples; None where there are none."""
    names = tuple(document.condition for document in documents)
    if not any(names):
        return None
    gap = any(document.layout == "gap" for document in documents)
    named = np.array([document.layout == "gap" and true_names(document) > 0 for document in documents])
    return Conditions(names, named if gap else None)


def judge_probes(
    scores: Scores,
    tallies: BaselineCounts,
    judging: JudgeSettings,
    margin: float,
    conditions: Conditions | None,
) -> Labelling:
    """Test every head on every row, and find the best head of each row and its accuracy.

    Args:
        scores: Shares of right answers; their chance values are filled in.
        tallies: Right answers of the baselines.
        judging: The settings.
        margin: How far above the baseline counts.
        conditions: Conditions of the examples; None for none.
    """
    in_selection_half = selection_half(scores.units, judging.seed)
    scores = replace(
        scores, null=_chance_values(scores, cross_fitted_baselines(tallies, in_selection_half), tallies)
    )
    rules = column_rules(scores.sieves, margin, _levels(scores))
    probed = ProbeResults(
        tallies=tallies,
        best=_best(scores, rules, tallies, judging),
        baselines=baseline_rows(tallies, scores.units),
        gaps=_gaps(scores, conditions, judging.decision),
    )
    return _labelling(scores, rules, judging, probed)


def judge_probes_again(
    before: Labelling, rules: Sequence[Rule], decision: Decision, options: ProbeOptions
) -> Labelling:
    """Judge the same answers by other rules; chance values, halves and trained probes stay."""
    probed = before.probed
    assert probed is not None
    assert probed.tallies is not None
    judging = replace(judge_settings(options), decision=decision)
    best = _best(before.scores, rules, probed.tallies, judging)
    probed = replace(probed, best=best, gaps=adjust_gaps(probed.gaps, decision))
    return _labelling(before.scores, rules, judging, probed)


def _labelling(
    scores: Scores, rules: Sequence[Rule], judging: JudgeSettings, probed: ProbeResults
) -> Labelling:
    """Test and assess the scores, and return them as a labelling with probes."""
    findings = judge(scores, rules, judging.decision)
    assessment = assess(scores, rules, judging.decision, findings, **judging.assessed)
    return Labelling(scores, findings, judging.decision, assessment=assessment, probed=probed)


def _best(scores: Scores, rules: Sequence[Rule], tallies: BaselineCounts, judging: JudgeSettings) -> Table:
    """Find the best head of every row, with the rows of a probe corrected together."""
    in_selection_half = selection_half(scores.units, judging.seed)
    everything = np.ones_like(in_selection_half)
    halves = (in_selection_half,) if judging.honest else (everything, everything)
    best = BEST_HEADS.joined(
        best_heads(scores, rules, tallies, rows, judging.decision, *halves)
        for rows in _by_probe(scores.sieves, tallies.rows)
    )
    if judging.honest:
        return best
    nothing = np.full(len(best), np.nan)  # they were chosen on the data that they are shown on
    tests = dict.fromkeys(("statistic", "p", "q", "p_not", "q_not"), nothing)
    return best.replace(decision=["untestable"] * len(best), **tests)


def _split_column(column: str) -> tuple[str, str, bool]:
    """Split the name of a column into row, direction and whether it is a contrast.

    Example:
        >>> _split_column("dependency:nsubj:pass:→:matched"), _split_column("coreference:all")
        (('dependency:nsubj:pass', '→', True), ('coreference:all', '', False))
    """
    parts = column.split(":")
    matched = parts[-1] == CONTRAST_PART
    parts = parts[:-1] if matched else parts
    direction = parts.pop() if parts[-1] in DIRECTIONS else ""
    return ":".join(parts), direction, matched


def _chance_values(scores: Scores, null: np.ndarray, tallies: BaselineCounts) -> np.ndarray:
    """Return the chance value per column and example: that of the column's row, and 0 for contrasts."""
    filled = []
    for column in scores.sieves:
        row, _, matched = _split_column(column)
        chance = null[tallies.rows.index(row)]
        filled.append(np.where(np.isnan(chance), np.nan, 0.0) if matched else chance)
    return np.stack(filled)


def margin_of(options: ProbeOptions) -> float:
    """Return how far above the baseline an accuracy must lie."""
    return MARGIN if options.margin is None else options.margin


def column_rules(columns: Sequence[str], margin: float, levels: Sequence[float] | None = None) -> list[Rule]:
    """Return the rule of each column: its question, chance value, margin and bounds.

    Args:
        columns: Names of the columns.
        margin: How far above the baseline counts.
        levels: Mean chance value of each column; None where it is not known yet, for 0.
    """
    rules = []
    for column, level in zip(columns, levels or [0.0] * len(columns), strict=True):
        row, direction, matched = _split_column(column)
        if matched:
            question = f"Attention on the right word of {row} {direction} beyond the head's distance profile"
            rules.append(
                Rule(column, question, 0.0, CONTRAST_MARGIN, role=False, low=-1.0, high=1.0, pooled=True)
            )
        else:
            question = f"Is the head right more often than the best baseline: {_question(row, direction)}?"
            rules.append(Rule(column, question, level, margin, low=0.0, high=1.0, pooled=True, together=row))
    return rules


def _levels(scores: Scores) -> list[float]:
    """Return the mean chance value of each column over all items."""
    levels = []
    for null, cells in zip(scores.null, scores.cells, strict=True):
        known = ~np.isnan(null)
        levels.append(float(np.average(null[known], weights=cells[known])) if known.any() else 0.0)
    return levels


def _question(row: str, direction: str) -> str:
    """Return which right answer a row of a probe looks for, in words."""
    probe, _, what = row.partition(":")
    if probe == "dependency":
        arcs = "all arcs" if what == "all" else f"arcs of {what}"
        looks = "from the dependent most to its head" if direction == "→" else "most from the head to it"
        return f"{arcs}, looking {looks}"
    if probe == "trees":
        return f"arcs of the tree of greatest attention, {what} {direction}".strip()
    return f"the antecedent of {'any mention' if what == 'all' else f'a {what}'}"


def _by_probe(columns: Sequence[str], rows: Sequence[str]) -> list[list[RowColumns]]:
    """Group the rows by probe, with their columns; the rows of a probe are corrected together."""
    families: dict[str, list[RowColumns]] = {}
    for number, row in enumerate(rows):
        row_columns = [
            (position, *_split_column(name)[1:])
            for position, name in enumerate(columns)
            if _split_column(name)[0] == row
        ]
        plain = {direction: position for position, direction, matched in row_columns if not matched}
        contrasts = {direction: position for position, direction, matched in row_columns if matched}
        families.setdefault(row.split(":")[0], []).append(
            RowColumns(
                number,
                tuple(plain),
                tuple(plain.values()),
                tuple(contrasts.get(direction, -1) for direction in plain),
            )
        )
    return list(families.values())


def _gaps(scores: Scores, conditions: Conditions | None, decision: Decision) -> Table:
    """Compare heads between two conditions, by the column of all mentions."""
    if conditions is None or "coreference:all" not in scores.sieves:
        return CONDITION_GAPS
    hits = scores.values[scores.sieves.index("coreference:all")].astype(np.float64)
    return gaps(hits, conditions.names, scores.units, decision, conditions.named)
