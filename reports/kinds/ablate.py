"""What a run that takes heads out showed, in words: which heads matter, and whether roles say so."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headroles.records.causal.ablation import (
    ENOUGH_FOR_LITTLE,
    FEWEST_UNITS,
    VERDICTS,
    Ablation,
    HeldRoles,
)
from headroles.records.causal.columns import (
    CLEAN,
    LOSS,
    OUTCOME_WORDS,
    REPLACED,
    arm_name,
    main_arm,
    parse_column,
)
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, number, plural, share, with_range
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision
from headroles.records.table import Row, Table
from headroles.reports.account import account
from headroles.reports.answer import Answer, Sentence
from headroles.reports.words import error_rate

NEEDED, NEGLIGIBLE, UNDETERMINED, UNTESTABLE, INTERFERING = range(len(VERDICTS))
"""Codes of the verdicts."""
FAMILIES = {
    "sieve": "the heads of one arm",
    "run": "all heads and arms of the run",
    "layer": "the heads of one arm in one layer",
}
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
ACTS = {
    "mean": "its output is replaced by its mean over other inputs",
    "zero": "its output is replaced by zero",
    "resample": "its output is replaced by its output on other inputs",
    "even": "its attention is replaced by even attention",
}
RARE = 0.02
"""Share of inputs of a kind that the page tells how often a sample lacks."""
NAMED = 4
"""Roles that a sentence names at most."""
LOWER_BOUND = Sentence(
    "The damage of one head is a lower bound", ": other heads can make up for one that is missing."
)


def role_title(role: str) -> str:
    """Return a role in words, as sentences and figures name it.

    Example:
        >>> role_title("syntactic:amod"), role_title("delimiter:cls")
        ('adjective → noun', 'class token')
    """
    return isolate(phrase_of(role).title)


def damage_text(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a damage with its interval and unit; alone where it has no interval.

    Example:
        >>> damage_text(0.0663, 0.0601, 0.0724, " nats").split()
        ['0.0663', '[0.0601,', '0.0724]', 'nats']
    """
    return "–" if math.isnan(value) else with_range(*map(number, (value, low, high))) + unit


@dataclass(frozen=True, eq=False)
class Measured:
    """What a run took out and measured, with the words for it.

    Attributes:
        run: A run that takes heads out.
    """

    run: Labelling

    @cached_property
    def ablated(self) -> Ablation:
        """Return its tables, with positions of layers.

        Raises:
            ValueError: When the run is of another kind.
        """
        if self.run.ablated is None:
            raise ValueError("the run took no heads out")
        tables = {name: getattr(self.run.ablated, name) for name in ("sites", "cells")}
        stack = self.run.scores.stack
        return replace(self.run.ablated, **{name: rows.numbered(stack) for name, rows in tables.items()})

    @cached_property
    def arm(self) -> str:
        """Return the arm whose verdicts are shown first."""
        return main_arm(self.ablated.damage.arms)

    @property
    def arms(self) -> list[str]:
        """Return all arms, that of the answer first."""
        return [self.arm, *(arm for arm in self.ablated.damage.arms if arm != self.arm)]

    @cached_property
    def damage(self) -> Table:
        """Return a row for each arm and head, with positions of layers."""
        return self.ablated.damage.table.numbered(self.run.scores.stack)

    @property
    def held(self) -> HeldRoles | None:
        """Return the roles that were asked about; None without a label run."""
        return self.ablated.held

    @property
    def roles(self) -> list[str]:
        """Return the roles that a head holds."""
        return [role for role in self.held.roles if self.held.heads(role).any()] if self.held else []

    def rows(self, table: Table) -> Table:
        """Return the tests of the arm of the answer; those of the first that has any, where it has none."""
        column = "arm" if "arm" in table.data else "outcome"
        wanted = self.arm if column == "arm" else parse_column(self.arm).outcome
        known = table.data[column].tolist() if len(table) else []
        return table.where(**{column: wanted if wanted in known else known[0]}) if known else table

    def counts(self, arm: str) -> tuple[int, ...]:
        """Return how many heads have each verdict, in the order of ``VERDICTS``."""
        codes = self.verdicts(arm)
        return tuple(int((codes == code).sum()) for code in range(len(VERDICTS)))

    def verdicts(self, arm: str) -> np.ndarray:
        """Return the codes of the verdicts of one arm, as layers × heads."""
        codes: np.ndarray = self.ablated.damage.verdict[self.ablated.damage.of(arm)]
        return codes

    @property
    def loss(self) -> str:
        """Return what the loss is, such as "cross-entropy of its label"; "" where none is recorded."""
        facts = self.run.manifest.get("ablation")
        text = str(facts.get("loss") or "") if isinstance(facts, Mapping) else ""
        return text.removeprefix(LOSS_IS).rstrip(".")

    def clean_loss(self, arm: str) -> float:
        """Return the mean loss without intervention; NaN where not measured, and for other outcomes."""
        findings, name = self.run.findings, f"{LOSS}:{CLEAN}"
        if name not in findings.sieves or parse_column(arm).outcome != LOSS:
            return math.nan
        return float(findings.mean[findings.of(name)].ravel()[0])

    def unit(self, arm: str) -> str:
        """Return the unit of a column's numbers after a blank; "" where they have none.

        Cross-entropies are in nats. A squared error and outcomes between 0 and 1 have no unit.
        """
        loss = parse_column(arm).outcome == LOSS
        return " nats" if loss and "squared" not in self.loss else ""

    def unit_title(self, arm: str) -> str:
        """Return the unit of a column, or the scale of a number without one, in brackets after a blank."""
        unit = self.unit(arm).strip() or SCALES.get(parse_column(arm).outcome, "")
        return f" ({unit})" if unit else ""

    def axis(self, arm: str) -> str:
        """Return the title of an axis of damage, such as "damage: loss (nats)"."""
        return f"damage: {OUTCOME_WORDS[parse_column(arm).outcome]}{self.unit_title(arm)}"

    def measure(self, arm: str) -> str:
        """Return what the damage of an arm is, as a noun phrase, with the loss and its unit."""
        outcome = parse_column(arm).outcome
        if outcome != LOSS:
            return MEASURES[outcome]
        unit = self.unit(arm)
        loss = f" ({isolate(self.loss)})" if self.loss else ""
        return f"rise of the loss{loss}{f' in{unit}' if unit else ''}"

    def least(self, arm: str) -> float:
        """Return the smallest damage of an arm that counts, θ."""
        return float(self.ablated.damage.threshold[self.ablated.damage.of(arm)])

    def threshold(self, arm: str) -> str:
        r"""Return the smallest damage of an arm that counts, with its unit; of a loss as its share, too.

        Such as "0.0342 nats (1 % of the loss)".
        """
        value, clean = self.least(arm), self.clean_loss(arm)
        part = "" if math.isnan(clean) or clean <= 0 else f" ({share(value / clean)} of the loss)"
        return f"{number(value)}{self.unit(arm)}{part}"

    def largest(self, arm: str) -> Row | None:
        """Return the row of the head of the largest damage; None where no head was taken out."""
        rows = self.damage.where(arm=arm)
        means = rows["mean"]
        return None if np.isnan(means).all() else next(iter(rows.take([int(np.nanargmax(means))])))


def answer_of(measured: Measured) -> Answer:
    """Return title, line, sentences and warnings; all counts are those of the tables of the run."""
    run, arm = measured.run, measured.arm
    facts, heads = account(run), run.findings.count[0].size
    model = f" of {isolate(facts.model)}" if facts.model else ""
    return Answer(
        title=f"Which of the {plural(heads, 'head')}{model} matter?",
        line=" · ".join(
            [
                *(isolate(fact) for fact in facts.facts if fact),
                *filter(None, [run.scores.stack.words]),
                f"damage: {measured.measure(arm)}",
                f"in place of a head: {REPLACED[parse_column(arm).what]}",
                f"threshold {measured.threshold(arm)}",
                error_rate(run.decision, "verdict and arm", "verdicts", "verdict"),
            ]
        ),
        sentences=(
            *_verdicts(measured), *_most(measured), *_quiet(measured), *_which(measured), *_where(measured),
            *_cells(measured), *_together(measured), LOWER_BOUND,
        ),
        warnings=facts.warnings,
    )  # fmt: skip


def _verdicts(measured: Measured) -> list[Sentence]:
    """Return how many heads have each verdict, and what leaves most open, where most are."""
    arm, damage = measured.arm, measured.ablated.damage
    counts = measured.counts(arm)
    needed, total = counts[NEEDED], sum(counts)
    heads = plural(total, "head")
    verb = "is" if needed == 1 else "are"
    lead = f"{needed:,} of {heads} {verb} needed" if needed else f"None of {heads} is shown to be needed"
    at = {*np.nonzero(damage.verdict[damage.of(arm)] == NEEDED)[0].tolist()}
    layers = measured.run.scores.stack.numbers
    together = f", all of layer {layers[min(at)]}" if needed > 1 and len(layers) > 1 and len(at) == 1 else ""
    rest = [
        f"{counts[code]:,} {VERDICTS[code]}"
        for code in (NEGLIGIBLE, INTERFERING, UNDETERMINED, UNTESTABLE)
        if counts[code] or code == NEGLIGIBLE
    ]
    shown = (arm, "role") if needed else ("", "")
    said = [Sentence(lead, f"{together}; {join_names(rest)}. Each is taken out alone.", *shown)]
    if counts[UNDETERMINED] > total / 2:
        rows = sorted(measured.rows(measured.ablated.margins), key=lambda row: row.margin)
        wide = next((row for row in rows if row.negligible > total / 2), None)
        more = ""
        if wide is not None:
            loss = parse_column(arm).outcome == LOSS
            size = f"{share(wide.margin)} of the loss" if loss else number(wide.margin)
            more = f" At a margin of {size}, {wide.negligible:,} would be negligible."
        said.append(Sentence("These inputs leave most heads open", f". More inputs would decide more.{more}"))
    return said


def _most(measured: Measured) -> list[Sentence]:
    """Return the head of the largest damage, and the layers of the largest and smallest; [] without any.

    Layers of which only some heads were taken out are not compared: a screen chose these by their damage.
    """
    arm, damage = measured.arm, measured.ablated.damage
    row = measured.largest(arm)
    if row is None:
        return []
    means = damage.mean[damage.of(arm)]
    taken, outcome = int((~np.isnan(means)).sum()), parse_column(arm).outcome
    scale = f" ({SCALES[outcome]} of the {OUTCOME_WORDS[outcome]})" if outcome in SCALES else ""
    rest = f"of the {taken:,} that were taken out" if taken < means.size else ""
    rest += f", {damage_text(row.mean, row.low, row.high, measured.unit(arm))}{scale}"
    by_layer = zip(measured.run.scores.stack.numbers, means, strict=True)
    layers = {name: float(own.mean()) for name, own in by_layer if not np.isnan(own).any()}
    if len(layers) > 1:
        first, last = max(layers, key=layers.__getitem__), min(layers, key=layers.__getitem__)
        rest += (
            f". Heads of layer {first} do most on average ({number(layers[first])}), those of layer {last} "
            f"least ({number(layers[last])})"
        )
    return [Sentence(f"Head {row.layer}-{row.head} does most damage", f"{rest}.")]


def _quiet(measured: Measured) -> list[Sentence]:
    """Return whether roles that predict no damage have negligible heads; [] where no head holds one."""
    rows = [row for row in measured.rows(measured.ablated.roles) if row.quiet and row.heads]
    if not rows:
        return []

    def part(row: Row) -> str:
        phrase = phrase_of(row.role)
        does = isolate(phrase.one if row.heads == 1 else phrase.many)
        return f"{row.negligible or 'None'} of {plural(row.heads, 'head')} that {does}"

    first, *others = sorted(rows, key=lambda row: (":" in row.role, -row.heads))
    ends = (first.damage, first.damage_low, first.damage_high)
    mean = f". The mean damage of all {first.heads:,} is {damage_text(*ends, measured.unit(first.arm))}"
    ending = {"negligible": ", which is negligible", "undetermined": ": not shown to be negligible"}
    rest = mean + ending[first.no_damage] if first.no_damage in ending else ""
    if more := [part(row) for row in others if row.negligible]:
        rest += ". Also negligible: " + join_names(more[:NAMED])
    verb = "is" if first.negligible < 2 else "are"
    return [Sentence(f"{part(first)} {verb} negligible", f"{rest}.", first.role, "role")]


def _which(measured: Measured) -> list[Sentence]:
    """Return which roles go with more damage, and with less; [] where none could be tested."""
    rows = [row for row in measured.rows(measured.ablated.roles) if row.decision != "untestable"]
    if not rows:
        return []
    more = sorted((row for row in rows if row.decision == "more damage"), key=lambda row: -row.area)
    less = sorted((row for row in rows if row.decision == "less damage"), key=lambda row: row.area)
    total, go = plural(len(rows), "role"), {True: "goes", False: "go"}
    lead = (
        f"{len(more):,} of {total} {go[len(more) == 1]} with more damage"
        if more
        else f"None of {total} is shown to go with more damage"
    )
    rest = f"within layers{_other_arm(measured, rows[0].arm)}"
    if more:
        rest += f": {_areas(more)}{_by_chance(more)}"
    if less:
        names = _areas(less, first=not more)
        rest += f". {plural(len(less), 'role')} {go[len(less) == 1]} with less damage: {names}"
        rest += _by_chance(less)
    return [Sentence(lead, f"{rest}.")]


def _areas(rows: Sequence[Row], *, first: bool = True) -> str:
    """Return roles with the area under their curve; for the first of the answer also what 0.50 means."""
    names = [f"{role_title(row.role)} (area {row.area:.2f})" for row in rows[:NAMED]]
    names[0] = f"{names[0][:-1]}; 0.50 is no relation)" if first else names[0]
    rest = len(rows) - NAMED
    return join_names([*names, plural(rest, "other")] if rest > 0 else names)


def _by_chance(rows: Iterable[Row]) -> str:
    """Return how often random labels have areas as far from 0.50; "" where it was not computed."""
    chances = sorted(row.p_labels for row in rows if not math.isnan(row.p_labels))
    if not chances:
        return ""
    low, high = share(chances[0]), share(chances[-1])
    return f". As far from 0.50 are {low if low == high else f'{low} to {high}'} of random labellings"


def _other_arm(measured: Measured, arm: str) -> str:
    """Return what damage is measured on in brackets, where it is not that of the verdicts."""
    return "" if arm == measured.arm else f" ({arm_name(arm)})"


def _untested(rows: Table) -> str:
    """Return how many labelled heads could not be tested; "" for none."""
    count = int((rows["decision"] == "untestable").sum())
    return f". {count:,} more could not be tested" if count else ""


def _where(measured: Measured) -> list[Sentence]:
    """Return how many labelled heads do more damage at the sites of their roles; [] without sites."""
    rows = measured.rows(measured.ablated.sites)
    tested = [row.decision for row in rows if row.decision != "untestable"]
    if not tested:
        return []
    count, fewer = (tested.count(word) for word in ("at its sites", "elsewhere"))
    verb = ("does" if count == 1 else "do") if count else "is shown to do"
    lead = (
        f"{count or 'None'} of {plural(len(tested), 'labelled head')} {verb} more damage at the sites of "
        f"{'their' if count > 1 else 'its'} role"
    )
    rest = (
        f"{_other_arm(measured, rows['arm'][0])}, where it has something to do. Damage there must exceed "
        "that at other tokens, and that of other heads of the layer"
    )
    rest += f". {fewer:,} {'does' if fewer == 1 else 'do'} less" if fewer else ""
    return [Sentence(lead, f"{rest.lstrip()}{_untested(rows)}.")]


def _cells(measured: Measured) -> list[Sentence]:
    """Return for how many labelled heads the cells of the role matter; [] where none were removed."""
    rows = measured.rows(measured.ablated.cells)
    tested = [row.decision for row in rows if row.decision != "untestable"]
    if not tested:
        return []
    own, other = (tested.count(word) for word in ("its cells matter", "other cells matter more"))
    heads = plural(len(tested), "labelled head")
    lead = f"For {own or 'none'} of {heads}, the attention that its role counts matters more"
    rest = "than as much attention elsewhere" + (f". For {other:,} it matters less" if other else "")
    return [Sentence(lead, f"{rest}{_untested(rows)}.")]


def _together(measured: Measured) -> list[Sentence]:
    """Return which roles matter when all their heads are taken out; [] where no sets were."""
    rows = [*measured.rows(measured.ablated.groups)]
    if not rows:
        return []
    tested = [row for row in rows if row.decision != "untestable"]
    more = sorted((row for row in tested if row.decision == "more than random sets"), key=lambda row: row.q)
    some = f"{len(more):,} of {plural(len(tested), 'role')} do" if more else "no role are shown to do"
    names = [
        f"{role_title(row.role)} ({number(row.damage)}; random sets {number(row.random_low)} to "
        f"{number(row.random_high)})"
        for row in more[:NAMED]
    ]
    rest = f": {join_names(names)}" if names else ""
    beyond = [row.role for row in rows if row.excess_decision == "more than the sum"]
    if beyond:
        few = len(beyond) <= NAMED
        some_of = join_names([role_title(name) for name in beyond]) if few else plural(len(beyond), "role")
        rest += f". For {some_of}, the set does more damage than its heads do alone, added up"
    lead = f"Taken out together, the heads of {some} more damage than random sets"
    return [Sentence(lead, f"{rest}.")]


def head_sentence(measured: Measured, layer: int, head: int) -> str:
    """Return what taking one head out does.

    Args:
        measured: What the run measured.
        layer: Place of its layer among those that are read.
        head: Its head within the layer, from 0.
    """
    arm, damage, held = measured.arm, measured.ablated.damage, measured.held
    at = (damage.of(arm), layer, head)
    mean, low, high = (float(numbers[at]) for numbers in (damage.mean, damage.low, damage.high))
    text = damage_text(mean, low, high, measured.unit(arm))
    facts = (
        f": its damage, measured on the {OUTCOME_WORDS[parse_column(arm).outcome]}, is {text}. The threshold "
        f"is {measured.threshold(arm)}"
    )
    roles = [name for name in held.roles if held.heads(name)[layer, head]] if held else []
    holds = f" Its roles: {join_names([role_title(name) for name in roles])}." if roles else ""
    name = measured.run.scores.stack.name(layer, head)
    return f"{name} is {VERDICTS[int(damage.verdict[at])]}{'' if text == '–' else facts}.{holds}"


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level, scope = share(decision.alpha), FAMILIES.get(decision.family, FAMILIES["sieve"])
    if decision.correction == "none":
        return f"Nothing was corrected: of heads at the threshold, {level} get each verdict by chance."
    same = "The same holds for negligible and for interfering heads, each verdict by itself."
    if decision.correction.startswith("fdr"):
        return f"Of the heads called needed ({scope}), at most {level} are expected not to be. {same}"
    return f"The chance of even one falsely needed head ({scope}) is at most {level}. {same}"


def glossary(measured: Measured) -> list[tuple[str, str]]:
    """Return the words of the report, each with its meaning."""
    ablated, arm = measured.ablated, measured.arm
    count = int(ablated.damage.count[ablated.damage.of(arm)].max(initial=0))
    of_roles = [
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
    sites = (
        "sites",
        "Tokens at which the role has something to do. Their damage is compared with that of other "
        "tokens of like loss and position, and with that of heads of the layer without the role, "
        "in parts of what each head does in all.",
    )
    sets = (
        "random sets",
        "As many heads in each layer, and in each half of its norms, drawn at random and taken out "
        "together. What the norms of the heads foretell is taken from the damage of every set.",
    )
    return [
        (
            "damage",
            f"How much worse the model gets when a head is taken out. Here: {measured.measure(arm)}; "
            f"{ACTS[parse_column(arm).what]}.",
        ),
        ("arm", "What damage is measured on, together with what replaces the head."),
        (
            "threshold",
            f"The smallest damage that counts, {measured.threshold(arm)}. Where it is a share of "
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
        *(of_roles if ablated.roles else ()),
        *([sites] if ablated.sites else ()),
        *([sets] if ablated.groups else ()),
        (
            "interval",
            "A 95\u00a0% interval of one mean, not adjusted for selection. That of the largest damage is a "
            "little high.",
        ),
        ("error rate", promise(measured.run.decision)),
    ]
