"""The answer of a run that takes heads out: which heads matter, and whether roles say where and which."""

import math
from collections.abc import Sequence

import numpy as np

from headroles.records.causal.ablation import VERDICTS, RoleTest
from headroles.records.causal.columns import LOSS, parse_column
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, number, plural, share
from headroles.records.roles import phrase_of
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.causal.words import (
    INTERFERING,
    NEEDED,
    NEGLIGIBLE,
    OUTCOMES,
    REPLACED,
    SCALES,
    UNDETERMINED,
    UNTESTABLE,
    ablation_of,
    arm_name,
    arm_of,
    cell_rows,
    damage_text,
    measure_of,
    role_title,
    rows_of,
    threshold_text,
    unit_of,
    verdict_counts,
)
from headroles.reports.summary.account import account
from headroles.reports.words.words import error_rate

NAMED = 4
"""Roles that a sentence names at most."""
LOWER_BOUND = Sentence(
    "The damage of one head is a lower bound", ": other heads can make up for one that is missing."
)


def answer_of(labelling: Labelling) -> Answer:
    """Return what taking heads out showed, on one screen.

    Args:
        labelling: Of a run that takes heads out.

    Returns:
        Title, line, sentences and warnings. All counts are those of the tables of the run.
    """
    facts = account(labelling)
    arm, heads = arm_of(labelling), labelling.findings.count[0].size
    model = f" of {isolate(facts.model)}" if facts.model else ""
    return Answer(
        title=f"Which of the {plural(heads, 'head')}{model} matter?",
        line=" · ".join(
            [
                *(isolate(fact) for fact in facts.facts if fact),
                *filter(None, [labelling.scores.stack.words]),
                f"damage: {measure_of(labelling, arm)}",
                f"in place of a head: {REPLACED[parse_column(arm).what]}",
                f"threshold {threshold_text(labelling, arm)}",
                error_rate(labelling.decision, "verdict and arm", "verdicts", "verdict"),
            ]
        ),
        sentences=(
            *_verdicts(labelling), *_open(labelling), *_most(labelling), *_quiet(labelling),
            *_which(labelling), *_where(labelling), *_cells(labelling), *_groups(labelling), LOWER_BOUND,
        ),
        warnings=facts.warnings,
    )  # fmt: skip


def _verdicts(labelling: Labelling) -> list[Sentence]:
    """Return how many heads have each verdict."""
    arm = arm_of(labelling)
    counts = verdict_counts(labelling, arm)
    needed = counts[NEEDED]
    heads = plural(sum(counts), "head")
    lead = (
        f"{needed:,} of {heads} {'is' if needed == 1 else 'are'} needed"
        if needed
        else f"None of {heads} is shown to be needed"
    )
    rest = [
        f"{counts[code]:,} {VERDICTS[code]}"
        for code in (NEGLIGIBLE, INTERFERING, UNDETERMINED, UNTESTABLE)
        if counts[code] or code == NEGLIGIBLE
    ]
    shown = (arm, "role") if needed else ("", "")
    return [Sentence(lead, f"{_layer(labelling)}; {join_names(rest)}. Each is taken out alone.", *shown)]


def _open(labelling: Labelling) -> list[Sentence]:
    """Return at which larger margin most heads would be negligible; [] where most heads are decided."""
    arm = arm_of(labelling)
    counts = verdict_counts(labelling, arm)
    if counts[UNDETERMINED] <= sum(counts) / 2:
        return []
    rows = sorted(rows_of(ablation_of(labelling).margins, arm), key=lambda row: row.margin)
    wide = next((row for row in rows if row.negligible > sum(counts) / 2), None)
    share_of = " of the loss" if parse_column(arm).outcome == LOSS else ""
    size = "" if wide is None else share(wide.margin) if share_of else number(wide.margin)
    more = f" At a margin of {size}{share_of}, {wide.negligible:,} would be negligible." if wide else ""
    return [Sentence("These inputs leave most heads open", f". More inputs would decide more.{more}")]


def _layer(labelling: Labelling) -> str:
    """Return the layer of the needed heads, where several have one layer in common; "" elsewhere."""
    damage = ablation_of(labelling).damage
    needed = np.nonzero(damage.verdict[damage.of(arm_of(labelling))] == NEEDED)[0]
    layers = damage.verdict.shape[1]
    together = len(needed) > 1 and layers > 1 and len({*needed.tolist()}) == 1
    return f", all of layer {labelling.scores.stack.numbers[needed[0]]}" if together else ""


def _most(labelling: Labelling) -> list[Sentence]:
    """Return the head of the largest damage, and the layers of the largest and smallest; [] without any.

    Layers of which only some heads were taken out are not compared: a screen chose these by their damage.
    """
    damage, arm = ablation_of(labelling).damage, arm_of(labelling)
    place = damage.of(arm)
    means = damage.mean[place]
    if np.isnan(means).all():
        return []
    layer, head = (int(index) for index in np.unravel_index(int(np.nanargmax(means)), means.shape))
    at = (place, layer, head)
    text = damage_text(
        float(means[layer, head]), float(damage.low[at]), float(damage.high[at]), unit_of(labelling, arm)
    )
    taken = int((~np.isnan(means)).sum())
    outcome = parse_column(arm).outcome
    rest = f"of the {taken:,} that were taken out" if taken < means.size else ""
    rest += f", {text}{f' ({SCALES[outcome]} of the {OUTCOMES[outcome]})' if outcome in SCALES else ''}"
    stack = labelling.scores.stack
    rows = zip(stack.numbers, means, strict=True)
    layers = {number: float(row.mean()) for number, row in rows if not np.isnan(row).any()}
    if len(layers) > 1:
        first, last = max(layers, key=layers.__getitem__), min(layers, key=layers.__getitem__)
        rest += (
            f". Heads of layer {first} do most on average ({number(layers[first])}), those of layer {last} "
            f"least ({number(layers[last])})"
        )
    return [Sentence(f"Head {stack.name(layer, head)} does most damage", f"{rest}.")]


def _quiet(labelling: Labelling) -> list[Sentence]:
    """Return whether roles that predict no damage have negligible heads; [] where no head holds one."""
    rows = [
        row for row in rows_of(ablation_of(labelling).roles, arm_of(labelling)) if row.quiet and row.heads
    ]
    if not rows:
        return []
    first, *others = sorted(rows, key=lambda row: (":" in row.role, -row.heads))
    unit = unit_of(labelling, first.arm)
    mean = damage_text(first.damage, first.damage_low, first.damage_high, unit)
    means = {
        "negligible": f". The mean damage of all {first.heads:,} is {mean}, which is negligible",
        "undetermined": f". The mean damage of all {first.heads:,} is {mean}: not shown to be negligible",
    }
    rest = means.get(first.no_damage, "")
    if more := [_part(row) for row in others if row.negligible]:
        rest += ". Also negligible: " + join_names(more[:NAMED])
    verb = "is" if first.negligible < 2 else "are"
    return [Sentence(f"{_part(first)} {verb} negligible", f"{rest}.", first.role, "role")]


def _part(row: RoleTest) -> str:
    """Return how many heads of a role are negligible, such as "3 of 7 heads that look at commas"."""
    phrase = phrase_of(row.role)
    does = isolate(phrase.one if row.heads == 1 else phrase.many)
    return f"{row.negligible or 'None'} of {plural(row.heads, 'head')} that {does}"


def _which(labelling: Labelling) -> list[Sentence]:
    """Return which roles go with more damage, and with less; [] where none could be tested."""
    rows = [
        row
        for row in rows_of(ablation_of(labelling).roles, arm_of(labelling))
        if row.decision != "untestable"
    ]
    if not rows:
        return []
    more, less = ([row for row in rows if row.decision == f"{word} damage"] for word in ("more", "less"))
    total = plural(len(rows), "role")
    lead = (
        f"{len(more):,} of {total} {'goes' if len(more) == 1 else 'go'} with more damage"
        if more
        else f"None of {total} is shown to go with more damage"
    )
    rest = f"within layers{_other_arm(labelling, rows[0].arm)}"
    if more:
        rest += f": {_areas(sorted(more, key=lambda row: -row.area))}{_by_chance(more)}"
    if less:
        verb = "goes" if len(less) == 1 else "go"
        names = _areas(sorted(less, key=lambda row: row.area), first=not more)
        rest += f". {plural(len(less), 'role')} {verb} with less damage: {names}{_by_chance(less)}"
    return [Sentence(lead, f"{rest}.")]


def _areas(rows: Sequence[RoleTest], *, first: bool = True) -> str:
    """Return roles with the area under their curve; for the first of the answer also what 0.50 means."""
    names = [f"{role_title(row.role)} (area {row.area:.2f})" for row in rows[:NAMED]]
    names[0] = f"{names[0][:-1]}; 0.50 is no relation)" if first else names[0]
    rest = len(rows) - NAMED
    return join_names([*names, plural(rest, "other")] if rest > 0 else names)


def _by_chance(rows: Sequence[RoleTest]) -> str:
    """Return how often random labels have areas as far from 0.50; "" where it was not computed."""
    chances = sorted(row.p_labels for row in rows if not math.isnan(row.p_labels))
    if not chances:
        return ""
    low, high = share(chances[0]), share(chances[-1])
    return f". As far from 0.50 are {low if low == high else f'{low} to {high}'} of random labellings"


def _other_arm(labelling: Labelling, arm: str) -> str:
    """Return what damage is measured on in brackets, where it is not that of the verdicts."""
    return "" if arm == arm_of(labelling) else f" ({arm_name(arm)})"


def _where(labelling: Labelling) -> list[Sentence]:
    """Return how many labelled heads do more damage at the sites of their roles; [] without sites."""
    rows = rows_of(ablation_of(labelling).sites, arm_of(labelling))
    tested = [row for row in rows if row.decision != "untestable"]
    if not tested:
        return []
    count, fewer = (sum(row.decision == word for row in tested) for word in ("at its sites", "elsewhere"))
    verb = ("does" if count == 1 else "do") if count else "is shown to do"
    whose = "their" if count > 1 else "its"
    heads = plural(len(tested), "labelled head")
    lead = f"{count or 'None'} of {heads} {verb} more damage at the sites of {whose} role"
    rest = (
        f"{_other_arm(labelling, rows[0].arm)}, where it has something to do. Damage there must exceed that "
    )
    rest += "at other tokens, and that of other heads of the layer"
    rest += f". {fewer:,} {'does' if fewer == 1 else 'do'} less" if fewer else ""
    return [Sentence(lead, f"{rest.lstrip()}{_untested(len(rows) - len(tested))}.")]


def _untested(number_of_heads: int) -> str:
    """Return how many labelled heads could not be tested; "" for none."""
    return f". {number_of_heads:,} more could not be tested" if number_of_heads else ""


def _cells(labelling: Labelling) -> list[Sentence]:
    """Return for how many labelled heads the cells of the role matter; [] where none were removed."""
    rows = cell_rows(ablation_of(labelling).cells, arm_of(labelling))
    tested = [row for row in rows if row.decision != "untestable"]
    if not tested:
        return []
    words = ("its cells matter", "other cells matter more")
    own, other = (sum(row.decision == word for row in tested) for word in words)
    heads = plural(len(tested), "labelled head")
    lead = f"For {own or 'none'} of {heads}, the attention that its role counts matters more"
    rest = "than as much attention elsewhere"
    rest += f". For {other:,} it matters less" if other else ""
    return [Sentence(lead, f"{rest}{_untested(len(rows) - len(tested))}.")]


def _groups(labelling: Labelling) -> list[Sentence]:
    """Return which roles matter when all their heads are taken out; [] where no sets were."""
    rows = rows_of(ablation_of(labelling).groups, arm_of(labelling))
    if not rows:
        return []
    tested = [row for row in rows if row.decision != "untestable"]
    more = sorted((row for row in tested if row.decision == "more than random sets"), key=lambda row: row.q)
    some = f"{len(more):,} of {plural(len(tested), 'role')} do" if more else "no role are shown to do"
    lead = f"Taken out together, the heads of {some} more damage than random sets"
    names = [
        f"{role_title(row.role)} ({number(row.damage)}; random sets {number(row.random_low)} to "
        f"{number(row.random_high)})"
        for row in more[:NAMED]
    ]
    rest = f": {join_names(names)}" if names else ""
    beyond = [row.role for row in rows if row.excess_decision == "more than the sum"]
    if beyond:
        few = len(beyond) <= NAMED
        some = join_names([role_title(name) for name in beyond]) if few else plural(len(beyond), "role")
        rest += f". For {some}, the set does more damage than its heads do alone, added up"
    return [Sentence(lead, f"{rest}.")]


def head_sentence(labelling: Labelling, layer: int, head: int) -> str:
    """Return what taking one head out does.

    Args:
        labelling: Of a run that takes heads out.
        layer: Place of its layer among those that are read.
        head: Its head within the layer, from 0.
    """
    ablated, arm = ablation_of(labelling), arm_of(labelling)
    damage, at = ablated.damage, (ablated.damage.of(arm), layer, head)
    code = int(damage.verdict[at])
    text = damage_text(
        float(damage.mean[at]), float(damage.low[at]), float(damage.high[at]), unit_of(labelling, arm)
    )
    facts = (
        f": its damage, measured on the {OUTCOMES[parse_column(arm).outcome]}, is {text}. The threshold is "
        f"{threshold_text(labelling, arm)}"
    )
    held = ablated.held
    roles = [name for name in held.roles if held.heads(name)[layer, head]] if held else []
    holds = f" Its roles: {join_names([role_title(name) for name in roles])}." if roles else ""
    name = labelling.scores.stack.name(layer, head)
    return f"{name} is {VERDICTS[code]}{'' if text == '–' else facts}.{holds}"
