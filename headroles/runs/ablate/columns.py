"""Columns of a run that takes heads out, and their rules."""

from collections.abc import Sequence

from headroles.records.causal.columns import (
    BY_TOKEN,
    CLEAN,
    LOSS,
    NORM,
    OF_ROLES,
    SCREEN,
    SITES,
    WHOLE,
    Column,
    parse_column,
)
from headroles.records.rules.rule import Rule

QUESTIONS = {
    LOSS: "Does the loss rise when the head is taken out?",
    "distribution": "Does the output distribution change when the head is taken out?",
    "representation": "Does the representation of the input change when the head is taken out?",
    "tokens": "Do the hidden states of tokens change when the head is taken out?",
}


def columns_of(
    outcomes: Sequence[str],
    by: Sequence[str],
    *,
    sites: Sequence[str] = (),
    cells: Sequence[str] = (),
    screened: bool = False,
    by_token: Sequence[str] = BY_TOKEN,
) -> tuple[Column, ...]:
    """Return the columns of a run in their order.

    Args:
        outcomes: What damage is measured on.
        by: Interventions.
        sites: Roles that have sites among the tokens; their damage is that of the main intervention.
        cells: Roles whose cells are removed, where ``by`` says so.
        screened: Whether there is damage to first order.
        by_token: Outcomes that have a value for each token of this model.

    Example:
        >>> columns = columns_of(["loss"], ["mean", "cells"], sites=["induction"], cells=["local"])
        >>> [column.name for column in columns]
        ['loss:clean', 'loss:mean', 'loss:sites:induction', 'loss:cells:local', 'norm']
    """
    columns: list[Column] = []
    for outcome in outcomes:
        columns += [Column(outcome, CLEAN)] if outcome == LOSS else []
        columns += [Column(outcome, what) for what in by if what in WHOLE]
        columns += [Column(outcome, SCREEN)] if screened and outcome == LOSS else []
        columns += [Column(outcome, SITES, role) for role in sites if outcome in by_token]
        columns += [Column(outcome, what, role) for what in by if what in OF_ROLES for role in cells]
    return (*columns, Column("", NORM))


def column_rules(names: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rule of each column; margins of arms are set when the mean loss is known.

    Args:
        names: Names of the columns.

    Raises:
        ValueError: When no run has such a column.
    """
    return tuple(_rule(parse_column(name)) for name in names)


def _rule(column: Column) -> Rule:
    bounded = column.outcome not in ("", LOSS)
    spread = 1.0 if bounded else float("inf")
    low = {SITES: -spread, SCREEN: -float("inf")}.get(column.what, 0.0 if bounded else -float("inf"))
    return Rule(
        column.name,
        QUESTIONS.get(column.outcome, "") if column.arm else "",
        margin=0.0,
        role=column.arm,
        low=low if abs(low) < float("inf") else float("nan"),
        high=spread if bounded else float("nan"),
    )
