"""Interventions in words: what is measured, in which unit, what a verdict means, and the counts of heads."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from headroles.records.causal.ablation import (
    ENOUGH_FOR_LITTLE,
    FEWEST_UNITS,
    VERDICTS,
    Ablation,
    CellTest,
    GroupTest,
    MarginRow,
    RoleTest,
    SiteTest,
)
from headroles.records.causal.columns import (
    CELLS,
    CLEAN,
    LOSS,
    MATCHED,
    NORM,
    SCREEN,
    SITES,
    main_arm,
    parse_column,
)
from headroles.records.findings import Labelling
from headroles.records.layers import Stack, by_position
from headroles.records.numbers import isolate, number, plural, share
from headroles.records.rules.rule import Decision
from headroles.records.shown.phrases import phrase_of
from headroles.reports.maps import CellLook

NEEDED, NEGLIGIBLE, UNDETERMINED, UNTESTABLE, INTERFERING = range(len(VERDICTS))
"""Codes of the verdicts."""
FAMILIES = {
    "sieve": "the heads of one arm",
    "run": "all heads and arms of the run",
    "layer": "the heads of one arm in one layer",
}
OUTCOMES = {
    LOSS: "loss",
    "distribution": "output distribution",
    "representation": "representation",
    "tokens": "token states",
}
"""What damage is measured on, in few words."""
MEASURES = {
    LOSS: "rise of the loss",
    "distribution": "total variation between the output distributions with and without the head (0 to 1)",
    "representation": "1 − cosine of the representations with and without the head",
    "tokens": "1 − cosine of the hidden states of tokens with and without the head",
}
"""What a damage is."""
SCALES = {"distribution": "total variation", "representation": "1 − cosine", "tokens": "1 − cosine"}
"""The scale of a damage that has no unit."""
LOSS_IS = "The loss of an input is the "
"""Beginning of the sentence in which a manifest states the loss."""
REPLACED = {
    "mean": "mean output",
    "zero": "zero",
    "resample": "output on other inputs",
    "even": "even attention",
}
"""What stands in place of a head's own output or attention."""
ACTS = {
    "mean": "its output is replaced by its mean over other inputs",
    "zero": "its output is replaced by zero",
    "resample": "its output is replaced by its output on other inputs",
    "even": "its attention is replaced by even attention",
}
OTHER_COLUMNS = {
    CLEAN: "{outcome} without intervention",
    SCREEN: "{outcome}, damage to first order",
    SITES: "{outcome} at sites of {role} beyond other tokens",
    CELLS: "{outcome} without the cells of {role}",
    MATCHED: "{outcome} without other cells, matched to those of {role}",
}
"""Columns that are no arm, in words."""
RARE = 0.02
"""Share of inputs of a kind that the page tells how often a sample lacks."""
MARKS = ("◆", "○", "", "×", "▼")
"""Marks of the verdicts in maps and tables; heads that stay undetermined are hatched."""

CELL_LOOKS = (
    CellLook(VERDICTS[NEEDED], MARKS[NEEDED], tone=1, shade=1),
    CellLook(VERDICTS[NEGLIGIBLE], MARKS[NEGLIGIBLE], tone=7, faint=True, shade=1),
    CellLook(VERDICTS[UNDETERMINED], MARKS[UNDETERMINED], hatched=True),
    CellLook(VERDICTS[UNTESTABLE], MARKS[UNTESTABLE]),
    CellLook(VERDICTS[INTERFERING], MARKS[INTERFERING], tone=0, shade=1),
)
"""Looks of the cells of maps, by code of the verdict."""

Row = TypeVar("Row", SiteTest, RoleTest, GroupTest, MarginRow)


def arm_name(arm: str) -> str:
    """Return a column in words.

    Example:
        >>> arm_name("loss:mean"), arm_name("representation:zero"), arm_name("norm")
        ('loss, mean output', 'representation, zero', 'norm of the head’s part of the output')
        >>> arm_name("loss:sites:induction")
        'loss at sites of induction beyond other tokens'
    """
    column = parse_column(arm)
    if column.what == NORM:
        return "norm of the head’s part of the output"
    outcome = OUTCOMES[column.outcome]
    if column.arm:
        return f"{outcome}, {REPLACED[column.what]}"
    return OTHER_COLUMNS[column.what].format(outcome=outcome, role=column.role)


def role_title(role: str) -> str:
    """Return a role in words, as sentences and figures name it.

    Example:
        >>> role_title("syntactic:amod"), role_title("delimiter:cls")
        ('adjective → noun', 'class token')
    """
    return isolate(phrase_of(role).title)


def loss_of(labelling: Labelling) -> str:
    """Return what the loss of a run is, such as "cross-entropy of its label"; "" where none is recorded."""
    facts = labelling.manifest.get("ablation")
    text = str(facts.get("loss") or "") if isinstance(facts, Mapping) else ""
    return text.removeprefix(LOSS_IS).rstrip(".")


def unit_of(labelling: Labelling, arm: str) -> str:
    """Return the unit of a column's numbers after a blank; "" where they have none.

    Cross-entropies are in nats. A squared error and outcomes between 0 and 1 have no unit.
    """
    loss = parse_column(arm).outcome == LOSS
    return " nats" if loss and "squared" not in loss_of(labelling) else ""


def axis_title(labelling: Labelling, arm: str) -> str:
    """Return the title of an axis of damage, such as "damage: loss (nats)"."""
    return f"damage: {OUTCOMES[parse_column(arm).outcome]}{unit_title(labelling, arm)}"


def unit_title(labelling: Labelling, arm: str) -> str:
    """Return the unit of a column, or the scale of a number without one, in brackets after a blank."""
    unit = unit_of(labelling, arm).strip() or SCALES.get(parse_column(arm).outcome, "")
    return f" ({unit})" if unit else ""


def tone(place: int) -> str:
    """Return a colour of the page by its number."""
    return f"var(--tone-{place})"


def measure_of(labelling: Labelling, arm: str) -> str:
    """Return what the damage of an arm is, as a noun phrase, with the loss and its unit."""
    outcome = parse_column(arm).outcome
    if outcome != LOSS:
        return MEASURES[outcome]
    loss, unit = loss_of(labelling), unit_of(labelling, arm)
    return f"rise of the loss{f' ({isolate(loss)})' if loss else ''}{f' in{unit}' if unit else ''}"


def damage_text(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a damage with its interval and unit; alone where it has no interval.

    Example:
        >>> damage_text(0.0663, 0.0601, 0.0724, " nats")
        '0.0663 [0.0601, 0.0724] nats'
        >>> damage_text(float("nan"), float("nan"), float("nan"))
        '–'
    """
    if math.isnan(value):
        return "–"
    ends = "" if math.isnan(low) else f" [{number(low)}, {number(high)}]"
    return f"{number(value)}{ends}{unit}"


def threshold_text(labelling: Labelling, arm: str) -> str:
    r"""Return the smallest damage of an arm that counts, with its unit; of a loss as its share, too.

    Such as "0.0342 nats (1 % of the loss)".
    """
    ablated = ablation_of(labelling)
    value = float(ablated.damage.threshold[ablated.damage.of(arm)])
    clean = clean_loss(labelling) if parse_column(arm).outcome == LOSS else math.nan
    part = "" if math.isnan(clean) or clean <= 0 else f" ({share(value / clean)} of the loss)"
    return f"{number(value)}{unit_of(labelling, arm)}{part}"


def clean_loss(labelling: Labelling) -> float:
    """Return the mean loss without intervention; NaN where it was not measured."""
    findings, name = labelling.findings, f"{LOSS}:{CLEAN}"
    if name not in findings.sieves:
        return math.nan
    return float(findings.mean[findings.of(name)].ravel()[0])


def ablation_of(labelling: Labelling) -> Ablation:
    """Return the part of a run that takes heads out, its rows with the positions of their layers.

    Raises:
        ValueError: When the run is of another kind.
    """
    if labelling.ablated is None:
        raise ValueError("the run took no heads out")
    stack = labelling.scores.stack
    return labelling.ablated if stack.whole else _by_position(labelling.ablated, stack)


@lru_cache(maxsize=1)
def _by_position(ablated: Ablation, stack: Stack) -> Ablation:
    return replace(ablated, sites=by_position(ablated.sites, stack), cells=by_position(ablated.cells, stack))


def arm_of(labelling: Labelling) -> str:
    """Return the arm whose verdicts are shown first."""
    return main_arm(ablation_of(labelling).damage.arms)


def rows_of(rows: Iterable[Row], arm: str) -> tuple[Row, ...]:
    """Return the tests of one arm; those of the first arm that has any, where this one has none."""
    known = tuple(rows)
    arms = dict.fromkeys(row.arm for row in known)
    wanted = arm if arm in arms else next(iter(arms), "")
    return tuple(row for row in known if row.arm == wanted)


def cell_rows(rows: Iterable[CellTest], arm: str) -> tuple[CellTest, ...]:
    """Return the tests of cells with the outcome of an arm; of the first outcome, where it has none."""
    known, outcome = tuple(rows), parse_column(arm).outcome
    outcomes = dict.fromkeys(row.outcome for row in known)
    wanted = outcome if outcome in outcomes else next(iter(outcomes), "")
    return tuple(row for row in known if row.outcome == wanted)


def verdict_counts(labelling: Labelling, arm: str) -> tuple[int, ...]:
    """Return how many heads have each verdict, in the order of ``VERDICTS``."""
    damage = ablation_of(labelling).damage
    codes = damage.verdict[damage.of(arm)]
    return tuple(int((codes == code).sum()) for code in range(len(VERDICTS)))


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level = share(decision.alpha)
    scope = FAMILIES.get(decision.family, FAMILIES["sieve"])
    if decision.correction == "none":
        return f"Nothing was corrected: of heads at the threshold, {level} get each verdict by chance."
    if decision.correction.startswith("fdr"):
        return (
            f"Of the heads called needed ({scope}), at most {level} are expected not to be. The same holds "
            f"for negligible and for interfering heads, each verdict by itself."
        )
    return (
        f"The chance of even one falsely needed head ({scope}) is at most {level}. The same holds for "
        f"negligible and for interfering heads, each verdict by itself."
    )


def glossary(labelling: Labelling) -> tuple[tuple[str, str], ...]:
    """Return the words of the page, each with its meaning."""
    ablated, arm = ablation_of(labelling), arm_of(labelling)
    column = parse_column(arm)
    count = int(ablated.damage.count[ablated.damage.of(arm)].max(initial=0))
    terms = [
        (
            "damage",
            f"How much worse the model gets when a head is taken out. Here: {measure_of(labelling, arm)}; "
            f"{ACTS[column.what]}.",
        ),
        ("arm", "What damage is measured on, together with what replaces the head."),
        (
            "threshold",
            f"The smallest damage that counts, {threshold_text(labelling, arm)}. Where it is a share of "
            f"the loss, the tests carry its error.",
        ),
        (
            "needed",
            "The damage lies significantly above the threshold, also with three more units at the smallest "
            "damage of any head of the layer. Inputs of a kind that no unit shows are not guarded against: a "
            f"kind that {share(RARE)} of inputs are of is missing from {share((1 - RARE) ** count)} of "
            f"samples of {plural(count, 'unit')}.",
        ),
        (
            "negligible",
            "The damage lies significantly within ± threshold, by two one-sided tests, also with three more "
            f"units as bad as the worst. Fewer than {ENOUGH_FOR_LITTLE} units never show that. Damage in "
            "inputs of a kind that no unit shows stays unseen here, too.",
        ),
        (
            "interfering",
            "The damage lies significantly below − threshold, also with three more units at the largest of "
            "any head of the layer: the model is better without the head. Fewer than "
            f"{ENOUGH_FOR_LITTLE} units never show that.",
        ),
        (
            "undetermined",
            "The inputs do not decide, or the verdict would depend on few units. "
            f"Fewer than {FEWEST_UNITS} units decide nothing.",
        ),
        ("untestable", "The head was not taken out, or its damage has no spread or too few units."),
        (
            "lower bound",
            "Other heads can make up for one that is missing. So a head that is negligible alone may matter "
            "together with others.",
        ),
    ]
    if ablated.roles:
        terms += [
            (
                "area",
                "The chance that a head with the role does more damage than one of its layer without it: "
                "0.5 for no relation, 1 where all heads with the role do more.",
            ),
            (
                "among random labels",
                "Twice the share of random labellings, with as many heads in each layer, whose area is at "
                "least as far out on the same side. More or less damage is said only where this is rare.",
            ),
        ]
    if ablated.sites:
        terms += [
            (
                "sites",
                "Tokens at which the role has something to do. Their damage is compared with that of other "
                "tokens of like loss and position, and with that of heads of the layer without the role, "
                "in parts of what each head does in all.",
            )
        ]
    if ablated.groups:
        terms += [
            (
                "random sets",
                "As many heads in each layer, and in each half of its norms, drawn at random and taken out "
                "together. What the norms of the heads foretell is taken from the damage of every set.",
            )
        ]
    return (
        *terms,
        (
            "interval",
            "A 95\u00a0% interval of one mean, not adjusted for selection. That of the largest damage is a "
            "little high.",
        ),
        ("error rate", promise(labelling.decision)),
    )
