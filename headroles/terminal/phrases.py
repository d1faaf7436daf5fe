"""Lines of text for the terminal: test and correction, stability of labels, and the plan of a study."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from headroles.records.assessment import Assessment, RoleOverlap
from headroles.records.layers import Stack
from headroles.records.numbers import two_decimals
from headroles.records.roles import CONTROLS, TAKES, VALUES
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.records import Summary, Support
from headroles.reports.summary.verdicts import counts_beyond
from headroles.reports.words.words import (
    ABSENT,
    BOTH,
    FAMILIES,
    POWER,
    STEADY,
    uses_resamples,
)

if TYPE_CHECKING:
    from headroles.planning import Study

SPACE = "\u00a0"
MOST_PLACES = 12
"""Most heads that a line names."""


def describe_run(run: Mapping[str, Any]) -> str:
    """Return folder, model and inputs of a run, as far as its manifest names them."""
    model, source = run.get("model", {}).get("name"), run.get("source", {}).get("name")
    parts = [f"model {model}" if model else "", str(run.get("task") or ""), str(source or "")]
    return ", ".join([str(run["folder"]), *(part for part in parts if part)])


def describe_test(decision: Decision, preset: str | None, rules: Sequence[Rule] = ()) -> str:
    """Return test, correction and family, with interval, resamples and seed where they matter.

    Example:
        >>> describe_test(Decision(test="sign-flip", correction="maxT"), "calibrated").split("; ")[1]
        '10,000 resamples, seed 0'
    """
    over = FAMILIES.get(decision.family, decision.family) + BOTH * any(rule.together for rule in rules)
    words = f"{decision.test}, {decision.correction} over {over}, alpha {decision.alpha:g}"
    words += f", preset {preset}" if preset else ""
    if decision.interval != "test":
        words += f", interval {decision.interval}"
    return words + f"; {decision.resamples:,} resamples, seed {decision.seed}" * uses_resamples(decision)


def verdict_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return name and text of each line on explained, strong and absent heads, and on shares of units."""
    lines = []
    controls = sorted(
        {one for role in summary.roles if role.tally.explained for one in role.control.split(" or ")}
    )
    others = [control for control in controls if control != CONTROLS[VALUES]]
    if others:
        words = f"score above the threshold, but {' or '.join(others)} accounts for it"
        lines.append(("words", f"explained: {words}"))
    if CONTROLS[VALUES] in controls:
        lines.append(("words", f"explained, for parked: the head attends there, and {TAKES}"))
    strong = [
        f"{role.sieve}: {counts_beyond(role)}{_places(heads, summary.table.stack)}"
        for role, heads in zip(summary.roles, summary.strong, strict=True)
        if role.stronger and role.tally.role
    ]
    if strong:
        lines.append(("strong", "; ".join(strong)))
    absent = [
        f"{role.sieve} {role.tally.absent} of {role.tally.not_role}"
        for role in summary.roles
        if role.tally.absent
    ]
    if absent:
        lines.append(("absent", f"not, and mean within ± {ABSENT:g} of chance: {', '.join(absent)}"))
    few = [
        f"{role.sieve} ({firmness.minority} of {firmness.labels})"
        for role, firmness in zip(summary.roles, summary.supports, strict=False)
        if firmness.minority
    ]
    if few:
        words = f"heads that score above the threshold in under half of the units: {', '.join(few)}"
        lines.append(("share", words))
    return lines


def _places(heads: Bool[np.ndarray, "layers heads"], stack: Stack) -> str:
    """Return the names of heads, in brackets; "" where there are none, or too many for a line."""
    places = [stack.name(layer, head) for layer, head in np.argwhere(heads).tolist()]
    return f" ({', '.join(places)})" if 0 < len(places) <= MOST_PLACES else ""


def support_lines(label_supports: Sequence[Support], assessment: Assessment | None) -> list[tuple[str, str]]:
    """Return name and text of each line below the counts: stability, power, design effect and overlap."""
    lines = []
    if any(support.steady is not None for support in label_supports):
        words = f"in a fresh sample of as many units, the label is found again with probability ≥ {STEADY:g}"
        lines.append(("stable", f"{words} (not the probability that it is true)"))
    effects = _range(end for support in label_supports for end in support.detectable)
    if effects:
        words = f"found with power {POWER:g}: {effects} SD above the threshold (by role, without contrasts)"
        lines.append(("effects", words))
    design = _range(support.design for support in label_supports)
    if design:
        lines.append(("groups", f"units hold several examples: median design effect {design}, by role"))
    pair = {
        pair.contrasts: pair
        for pair in (assessment.together if assessment else ())
        if (pair.first, pair.second) == ("syntactic", "local")
    }
    if len(pair) == 2:
        lines.append(("overlap", _overlap(pair["with"], pair["without"])))
    return lines


def _range(values: Iterable[float]) -> str:
    """Return the smallest and largest number; one where they look equal, "" where there is none."""
    numbers = [value for value in values if value == value]
    if not numbers:
        return ""
    low, high = two_decimals(min(numbers)), two_decimals(max(numbers))
    return low if low == high else f"{low} to {high}"


def _overlap(found: RoleOverlap, bare: RoleOverlap) -> str:
    """Return how many syntactic heads are also local, with and without the contrast."""
    return (
        f"syntactic heads that are also local: {found.both} of {found.heads_first}; without the contrast "
        f"beyond distance {bare.both} of {bare.heads_first}"
    )


STEPWISE = ("holm", "holm-sidak", "maxT")
"""Corrections that demand less of a head for every other head with the role."""


def plan_lines(study: "Study") -> list[tuple[str, str]]:
    """Return name and text of each line of a plan."""
    family = FAMILIES[study.family]
    case, other = study.case, study.orientation
    assumed = f"{study.correction} over {family} at alpha {study.alpha:g}"
    if study.correction == "none":
        assumed = f"no correction, alpha {study.alpha:g} for every head"
    if study.correction in STEPWISE:
        assumed += "; less is needed where other heads are found, too"
    if case.share is not None:
        assumed += f", if a share of {case.share:g} of them come out as roles"
    if other is not None:
        assumed += ", if this head alone holds the role (the cautious case)"
    lines = [
        (
            "collect",
            f"{case.examples:,} examples, to find a head whose mean lies {study.effect:g} SD above the "
            f"threshold with probability {study.power:g}",
        ),
        (
            "both",
            f"{study.joint.examples:,} examples for a role with a contrast (block, syntactic), if both "
            f"means lie {study.effect:g} SD above; each is found with probability √{study.power:g} = "
            f"{study.power**0.5:.3g}, both with {study.power:g} or more",
        ),
        ("cut", f"p ≤ {case.cut:.3g} = {case.words}: {assumed}"),
    ]
    if other is not None:
        lines.append(
            (
                "or",
                f"{other.examples:,} examples at p ≤ {other.cut:.3g} = {other.words}, if one head in "
                f"ten holds it (--share {other.share:g})",
            )
        )
    lines += [
        (
            "effect",
            "(mean − threshold) / SD over units, the column effect of findings.csv; the threshold is "
            "chance plus the margin",
        ),
        ("unit", "an example, or the group where examples come from groups (such as documents)"),
    ]
    return lines + [("note", note) for note in study.notes]
