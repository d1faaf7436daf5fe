"""Origins of roles in words: what a verdict means, counts of heads by role, and numbers with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.causal.origins import (
    AS_ROTATED,
    BY_QUERY,
    FALLS,
    FEW,
    HOLDS,
    SUBSPACE,
    UNDETERMINED,
    UNTESTABLE,
    VERTICAL,
    Origins,
    open_share,
)
from headroles.records.findings import Labelling
from headroles.records.layers import Stack
from headroles.records.numbers import plural, share, two_decimals, with_range
from headroles.records.rules.rule import Decision
from headroles.records.table import Row, Table
from headroles.reports.maps import CellLook

FAMILIES = dict.fromkeys(("sieve", "run", "layer"), "all roles of heads")
"""Tests that are corrected together, whatever the family of the decision."""
VERDICTS = (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)
"""Verdicts on a role of a head, in the order of the codes of findings."""
MARKS = {VERTICAL: "▮", BY_QUERY: "◇", UNDETERMINED: "", UNTESTABLE: "×"}
"""Marks of the verdicts in maps; heads that stay undetermined are hatched."""
LOOKS = {VERTICAL: (1, 1), BY_QUERY: (2, 0), UNDETERMINED: (0, 4)}
"""Symbol and colour of every verdict that is drawn."""
CELL_LOOKS = (
    CellLook(VERTICAL, MARKS[VERTICAL], tone=1, shade=1),
    CellLook(BY_QUERY, MARKS[BY_QUERY], tone=0, shade=1),
    CellLook(UNDETERMINED, MARKS[UNDETERMINED], hatched=True),
    CellLook(UNTESTABLE, MARKS[UNTESTABLE], faint=True, shade=1),
)
"""Looks of the cells of maps, by code of the verdict."""
CONTRAST_COLUMN, VERTICAL_COLUMN = "contrast:", "vertical:"
"""First parts of the names of the columns of findings."""
SEPARATORS = ("delimiter:sep", "surface:separator", "delimiter")
"""Roles of separators, the clearest one first."""


@dataclass(frozen=True, slots=True)
class RoleCounts:
    """Counts of the heads of one role, by what the tests show.

    Attributes:
        role: The role.
        rows: Its heads.
        shares: Vertical shares of those that were tested.
        free: Heads that were compared with rotations.
        few: Those of them with few neurons.
        found: Dimensions, or frequency pairs, with more than twice their fair share.
        ranks: Directions beyond distance, of heads with re-deals.
        fallen: Heads that lose the role without these directions, and heads whose score was tested.
    """

    role: str
    rows: Table
    shares: tuple[float, ...]
    free: int
    few: int
    found: int
    ranks: tuple[int, ...]
    fallen: tuple[int, int]

    def count(self, verdict: str) -> int:
        """Return how many heads have a verdict."""
        return len(self.rows.where(verdict=verdict))


def origins_of(labelling: Labelling) -> Origins:
    """Return the origins of the roles of heads of a run, with the positions of their layers.

    Raises:
        ValueError: When the run is of another kind.
    """
    if labelling.origins is None:
        raise ValueError("the run did not ask where roles come from")
    stack = labelling.scores.stack
    return labelling.origins if stack.whole else _by_position(labelling.origins, stack)


@lru_cache(maxsize=1)
def _by_position(origins: Origins, stack: Stack) -> Origins:
    return replace(
        origins,
        origins=origins.origins.numbered(stack),
        dimensions=origins.dimensions.numbered(stack),
        knockouts=origins.knockouts.numbered(stack),
    )


def counts_by_role(origins: Origins) -> tuple[RoleCounts, ...]:
    """Return the counts of every role that a tested head holds, in the order of the roles."""
    return tuple(
        _counts(origins, role) for role in origins.held.roles if role in {row.role for row in origins.origins}
    )


def _counts(origins: Origins, role: str) -> RoleCounts:
    """Return the counts of one role."""
    rows = origins.origins.where(role=role)
    removed = origins.knockouts.where(role=role, scored=role, by=SUBSPACE)
    falls, untestable = (len(removed.where(verdict=word)) for word in (FALLS, UNTESTABLE))
    return RoleCounts(
        role=role,
        rows=rows,
        shares=tuple(row.share for row in rows if row.verdict != UNTESTABLE),
        free=sum(row.few != UNTESTABLE for row in rows),
        few=sum(row.few == FEW for row in rows),
        found=sum(row.found for row in rows),
        ranks=tuple(row.rank for row in rows if row.rank >= 0),
        fallen=(falls, len(removed) - untestable),
    )


def code_of(verdict: str) -> int:
    """Return the place of a verdict among those of findings.

    Example:
        >>> code_of("by query")
        1
    """
    return VERDICTS.index(verdict)


def place_name(row: Row) -> str:
    """Return the name of a head, such as "2-9"."""
    return f"{row.layer}-{row.head}"


def dimensions_of(origins: Origins, row: Row) -> Table:
    """Return the tests of the dimensions of one role of one head."""
    return origins.dimensions.where(role=row.role, layer=row.layer, head=row.head)


def share_text(row: Row) -> str:
    r"""Return the vertical share with its interval; alone where it has none.

    Example:
        >>> with_ends(1.05, 1.031, 1.083)
        '1.05 [1.03,\xa01.08]'
    """
    return with_ends(row.share, row.share_low, row.share_high)


def with_ends(value: float, low: float, high: float) -> str:
    r"""Return a share with two decimals and its interval; an open end is named as infinite.

    Example:
        >>> with_ends(0.5, float("-inf"), 1.25), with_ends(0.5, float("nan"), float("nan"))
        ('0.50 [−∞,\xa01.25]', '0.50')
    """
    return with_range(*map(open_share, (value, low, high)))


def pairs(origins: Origins) -> bool:
    """Return whether dimensions turn in pairs, so that frequency pairs are tested."""
    group = origins.products.group
    return len(np.unique(group)) < len(group)


def noun(origins: Origins, count: int) -> str:
    """Return a count of dimensions, or of frequency pairs."""
    return plural(count, "frequency pair" if pairs(origins) else "dimension")


def spread(values: Sequence[float], text: Any = two_decimals) -> str:
    """Return the median of numbers with the smallest and largest; one number where all look alike.

    Example:
        >>> spread([1.0, 1.1, 0.9]), spread([2.0]), spread([])
        ('1.00 (0.90 to 1.10)', '2.00', '–')
    """
    if not values:
        return "–"
    middle, low, high = (text(float(value)) for value in (np.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level = share(decision.alpha)
    if decision.correction == "none":
        return f"Nothing was corrected: of heads at the border of a verdict, {level} get it by chance."
    if decision.correction.startswith("fdr"):
        return (
            f"Of the roles of heads called vertical, at most {level} are expected not to be. The same holds "
            f"for “by query”, “few neurons”, “falls” and “holds”, each by itself."
        )
    return (
        f"The chance of even one role of a head that is falsely called vertical is at most {level}. The same "
        f"holds for “by query”, “few neurons”, “falls” and “holds”, each by itself."
    )


def glossary(labelling: Labelling) -> tuple[tuple[str, str], ...]:
    """Return the words of the page, each with its meaning."""
    origins = origins_of(labelling)
    one = "frequency pair" if pairs(origins) else "dimension"
    terms = [
        (
            "contrast",
            "Mean logit of the cells of a role, minus that of the other keys that the query sees. It is the "
            "sum of the parts of all dimensions of queries and keys.",
        ),
        (
            "vertical share",
            "The share of the contrast that the head’s mean query gives alone. It is 1 where every query "
            "gives the same push. It is 0 where the push averages out. It can lie outside 0 and 1. The mean "
            "query is estimated on other units; intervals and p values have its error.",
        ),
        (VERTICAL, "The vertical part is significantly larger than the rest of the contrast."),
        (BY_QUERY, "The vertical part is significantly smaller than the rest: queries differ in their push."),
        (
            f"found {one}",
            f"A {one} that has significantly more than twice its fair share of the contrast. The fair share "
            f"is the contrast divided by the number of {one}s.",
        ),
        (
            "participation",
            "The number of dimensions that share the contrast: 1 for a single dimension, and all where every "
            "dimension has the same part.",
        ),
        (
            FEW,
            "The participation is smaller than after random rotations of the head’s space. Rotations change "
            "no attention, so they show what a basis without meaning gives. Dimensions of unequal scale give "
            "it to any role: a factor of 1.65 in a quarter of random heads, at 5\u00a0% each.",
        ),
        (AS_ROTATED, "The participation is not shown to be smaller than after random rotations."),
        (
            "directions",
            "Directions of queries and keys that carry the role beyond distance. They are stronger in its "
            "cells than in cells moved by chance to other queries at the same offsets.",
        ),
        (FALLS, "Without these directions the score of the role lies significantly below its threshold."),
        (HOLDS, "Without these directions the score still lies significantly above its threshold."),
        (UNDETERMINED, "The inputs do not decide."),
        (
            UNTESTABLE,
            f"The contrast is not shown to be above 0, fewer than {FEWEST_UNITS} units count, or rotary "
            "positions fix the dimensions.",
        ),
        (
            "interval",
            "A 95\u00a0% interval of one number, not adjusted for selection. That of a share is Fieller’s.",
        ),
        ("error rate", promise(labelling.decision)),
    ]  # fmt: skip
    return tuple(terms)


def sure_sentences(labelling: Labelling) -> tuple[str, ...]:
    """Return the conditions under which the verdicts of the page hold, one sentence each.

    Args:
        labelling: Of a run that asks where roles come from.
    """
    origins = origins_of(labelling)
    sentences = [
        f"Units are split into groups that never overlap: {plural(len(origins.held.units), 'unit')} decided "
        f"the roles, {len(origins.products.units):,} measured where they come from"
        + (f", and {len(origins.knocked.units):,} the removals." if origins.knocked is not None else "."),
        f"Fewer than {FEWEST_UNITS} units decide nothing.",
        "A vertical part says what the mean query does. It does not say where in the model the key got it.",
    ]
    if origins.products.redealt.shape[1]:
        sentences.append(
            "The number of directions is no test where many queries share a key, as with special tokens: any "
            "shared key has such a direction. What their removal does is tested."
        )
    if origins.products.free.all():
        sentences.append(
            "Dimensions of a head have no meaning of their own: any rotation gives the same attention. So a "
            "found dimension is a neuron of the role only where rotations spread the contrast more. Even "
            "then, dimensions of unequal scale are enough: they concentrate all roles of a head alike."
        )
    else:
        sentences.append(
            "Rotary positions turn dimensions in pairs, so a pair is what can carry a role. Random rotations "
            "of the space would change the attention."
        )
    if origins.knockouts:
        sentences.append(
            "A removal changes one head, and its own score. It says nothing about the output of the model."
        )
    return tuple(sentences)
