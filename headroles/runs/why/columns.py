"""Columns of a run that asks what makes heads attend, and their rules."""

from collections.abc import Sequence

from headroles.records.rules.rule import Rule

CONTRAST, VERTICAL = "contrast", "vertical"
"""First parts of the names of columns: the whole contrast, and how far its vertical part exceeds the rest."""
QUESTION = "Is most of the contrast the same for all queries?"
TOGETHER = "families"
"""Name of the family of tests: all heads of all roles."""


def column_names(roles: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of some roles in their order.

    Example:
        >>> column_names(["first"])
        ('contrast:first', 'vertical:first')
    """
    return tuple(f"{what}:{role}" for role in roles for what in (CONTRAST, VERTICAL))


def column_rules(names: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rule of each column.

    Args:
        names: Names of the columns.

    Example:
        >>> [rule.role for rule in column_rules(column_names(["first"]))]
        [False, True]
    """
    return tuple(
        Rule(
            name,
            QUESTION if vertical else "",
            margin=0.0,
            role=vertical,
            together=TOGETHER if vertical else "",
        )
        for name in names
        for vertical in (name.partition(":")[0] == VERTICAL,)
    )
