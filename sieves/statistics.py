"""Surface statistics of attention: their columns, words and rules; ``surface`` computes them."""

import numpy as np

from headroles.records.roles import RoleWords
from headroles.records.rules.rule import Rule

KINDS = ("first", "separator", "punctuation", "other")
"""Kinds of token."""

MASSES = {
    "surface:first": "to the first or class token",
    "surface:separator": "to separators",
    "surface:separator→separator": "from separators to separators",
    "surface:other→separator": "from all other tokens to separators",
    "surface:punctuation": "to punctuation marks",
    "surface:previous": "to the previous token",
    "surface:next": "to the next token",
    "surface:self": "to the token itself",
    "surface:first→first": "from the first or class token to itself",
    "surface:first→separator": "from the first or class token to separators",
    "surface:first→text": "from the first or class token to the texts",
    "surface:separator→first": "from separators to the first or class token",
    "surface:separator→self": "from separators to themselves",
    "surface:separator→own-text": "from separators to the text that they end",
    "surface:separator→other-text": "from separators to the other text",
}
"""Columns of mean attention, and the cells that each counts."""
ENTROPIES = {
    "surface:entropy": "over all queries",
    "surface:entropy-first": "of the first or class token",
}
"""Columns of entropy in nats, and whose rows each counts."""
WORDS = {
    "surface:first": ("first token", "looks at the first token"),
    "surface:separator": ("separators", "looks at separators"),
    "surface:separator→separator": ("separators → separators", "looks from separators to separators"),
    "surface:other→separator": ("other tokens → separators", "looks from other tokens to separators"),
    "surface:punctuation": ("punctuation", "looks at punctuation"),
    "surface:previous": ("previous token", "looks at the previous token"),
    "surface:next": ("next token", "looks at the next token"),
    "surface:self": ("the token itself", "looks at the token itself"),
    "surface:first→first": ("first token → itself", "looks from the first token to itself"),
    "surface:first→separator": ("first token → separators", "looks from the first token to separators"),
    "surface:first→text": ("first token → texts", "looks from the first token to the texts"),
    "surface:separator→first": ("separators → first token", "looks from separators to the first token"),
    "surface:separator→self": ("separators → themselves", "looks from separators to themselves"),
    "surface:separator→own-text": ("separators → own text", "looks from separators to the text they end"),
    "surface:separator→other-text": ("separators → other text", "looks from separators to the other text"),
    "surface:entropy": ("entropy of all rows", "spreads its attention"),
    "surface:entropy-first": ("entropy of the first row", "spreads the attention of the first token"),
}
"""Title of each column, and what a head does where it lies above even attention."""
COLUMNS = (*MASSES, *ENTROPIES)
IMPORTANCES = {"gradient": "|∂loss/∂attention|", "attention×gradient": "|attention × ∂loss/∂attention|"}
"""Measures of importance, the first parts of their columns' names, and the formulas that are averaged."""


def column_words(statistic: str) -> RoleWords | None:
    """Return the words of a statistic, the column without "surface:"; None of another name."""
    words = WORDS.get(f"surface:{statistic}")
    return RoleWords(*words, works=("clark2019what",)) if words else None


def rules(longest: int) -> tuple[Rule, ...]:
    """Return the rules that judge the columns against attention that is even over the visible keys.

    The null is that of each example (``SurfacePlan.even``) and the margin 0, so that "role" reads "above even
    attention" and "not" reads "below even attention".

    Args:
        longest: Most tokens an input may have, which bounds the entropies.

    Example:
        >>> [rule.high for rule in rules(128)][-2:] == [np.log(128)] * 2
        True
    """
    masses = [
        Rule(
            name,
            f"Is mean attention {counts} above what even attention gives?",
            margin=0.0,
            low=0.0,
            high=1.0,
        )
        for name, counts in MASSES.items()
    ]
    spread = float(np.log(longest))
    return (
        *masses,
        *(Rule(name, _spread(whose), margin=0.0, low=0.0, high=spread) for name, whose in ENTROPIES.items()),
    )


def importance_rules() -> tuple[Rule, ...]:
    """Return the rules of the columns of importance, which are not judged: even attention gives no null.

    Example:
        >>> [rule.sieve for rule in importance_rules()][3:5]
        ['gradient:other', 'attention×gradient:first']
    """
    return tuple(
        Rule(f"{measure}:{kind}", f"{formula} on the cells of {kind} tokens", margin=0.0, role=False, low=0.0)
        for measure, formula in IMPORTANCES.items()
        for kind in KINDS
    )


def _spread(whose: str) -> str:
    return (
        f"Is the mean entropy {whose} other than that of even attention? It cannot lie above, so that only "
        f"'below' is a finding, and hardly a surprising one."
    )
