"""Judge runs that ask what makes heads attend: findings, origins, and knock-outs that were scored before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headroles.options.causal.why import WhyOptions
from headroles.records.causal.origins import UNDETERMINED, UNTESTABLE, Origins
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.why.columns import VERTICAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from headroles.records.causal.ablation import HeldRoles
    from headroles.records.causal.origins import Knocked, Products
    from headroles.runs.scored import ScoredRun


def judge_run(options: WhyOptions, scored: ScoredRun) -> Labelling:
    """Test the products of a new run, with the roles of its label run.

    Args:
        options: Of the run.
        scored: Its scores, and the products in the files of its shards.

    Raises:
        HeadrolesError: When the decision cannot be carried out, or the label run was altered.
    """
    from headroles.runs.held.labels import held_roles
    from headroles.runs.why.products import read_products_of

    held = held_roles(options)
    assert held is not None, "a run of this kind names a label run"
    origins = _origins(held, read_products_of(scored), options.decision, options)
    return replace(judge_columns(scored.scores, scored.rules, options.decision, options), origins=origins)


def judge_again(
    before: Labelling, rules: Sequence[Rule], decision: Decision, options: WhyOptions
) -> Labelling:
    """Test stored products and stored scores after removals again; the removals stay the same.

    Args:
        before: The stored run.
        rules: One per column.
        decision: Test, correction and level.
        options: Of the run.

    Raises:
        HeadrolesError: When the decision cannot be carried out.
    """
    stored = before.origins
    assert stored is not None, "a run of this kind has them"
    origins = _origins(stored.held, stored.products, decision, options)
    if stored.knocked is not None:
        origins = with_knock_outs(origins, stored.knocked, decision)
    return replace(judge_columns(before.scores, rules, decision, options), origins=origins)


def judge_columns(
    scores: Scores, rules: Sequence[Rule], decision: Decision, options: WhyOptions
) -> Labelling:
    """Return the findings of the columns alone, and an assessment of them.

    Args:
        scores: Of the run.
        rules: One per column.
        decision: Test, correction and level.
        options: Of the run.
    """
    from headroles.stats.assessment.assess import assess
    from headroles.stats.engine import judge

    findings = judge(scores, rules, decision)
    assessment = assess(scores, rules, decision, findings, **options.assessed, absence=False, nots=False)
    return Labelling(scores, findings, decision, assessment=assessment)


def with_knock_outs(origins: Origins, knocked: Knocked, decision: Decision) -> Origins:
    """Return origins with scores after removals and their tests.

    Args:
        origins: Tests of the products.
        knocked: Scores before and after removals.
        decision: Test, correction and level.
    """
    from headroles.stats.why.knockouts import knockout_tests

    return replace(origins, knocked=knocked, knockouts=knockout_tests(origins.products, knocked, decision))


def _origins(held: HeldRoles, products: Products, decision: Decision, options: WhyOptions) -> Origins:
    """Return the tests of products."""
    from headroles.runs.why.facts import UNTESTED
    from headroles.stats.why.judge import judge_origins

    tested = int((held.decision != UNTESTED).sum())
    origins, dimensions = judge_origins(products, held, tested, decision, options.rotations)
    return Origins(held, products, origins, dimensions)


def decided_by(labelling: Labelling, outcomes: Sequence[str]) -> np.ndarray:
    """Return the verdict of every vertical column and head by its place in ``outcomes``; −1 on contrasts.

    Args:
        labelling: The run.
        outcomes: The verdicts.
    """
    origins, findings = labelling.origins, labelling.findings
    assert origins is not None, "a run of this kind has them"
    decided = findings.decision.copy()
    decided[decided == outcomes.index(UNDETERMINED)] = outcomes.index(UNTESTABLE)
    for row in origins.origins:
        decided[findings.of(f"{VERTICAL}:{row.role}"), row.layer, row.head] = outcomes.index(row.verdict)
    return decided
