"""What a run that takes heads out showed, in words: which heads matter, and whether roles say so."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from headroles.records.causal import columns
from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS, VERDICTS, Ablation, HeldRoles
from headroles.records.causal.columns import LOSS, OUTCOME_WORDS, arm_name, parse_column
from headroles.records.numbers import isolate, join_names, number, plural, share
from headroles.records.rules.rule import Decision
from headroles.records.table import Row, Table
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds import claims
from headroles.reports.kinds.claims import NAMED, count_of, damage_text, role_title, some_of, with_test
from headroles.reports.words import error_rate

NEEDED, NEGLIGIBLE, UNDETERMINED, UNTESTABLE, INTERFERING = range(len(VERDICTS))
"""Codes of the verdicts."""
FAMILIES = {
    "sieve": "the heads of one arm", "run": "all heads and arms of the run",
    "layer": "the heads of one arm in one layer",
}  # fmt: skip
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


class Measured(claims.OfRun):
    """What a run took out and measured, with the words for it."""

    @cached_property
    def ablated(self) -> Ablation:
        """Return its tables, with positions of layers."""
        part, stack = self.run.ablated, self.run.scores.stack
        assert part is not None
        return replace(part, sites=part.sites.numbered(stack), cells=part.cells.numbered(stack))

    @property
    def arms(self) -> list[str]:
        """Return all arms, that of the answer first."""
        first = columns.main_arm(self.ablated.damage.arms)
        return [first, *(arm for arm in self.ablated.damage.arms if arm != first)]

    @cached_property
    def arm(self) -> str:
        """Return the arm whose verdicts are shown first."""
        return self.arms[0]

    @cached_property
    def damage(self) -> Table:
        """Return a row for each arm and head, with positions of layers."""
        return self.ablated.damage.table.numbered(self.run.scores.stack)

    @property
    def held(self) -> HeldRoles | None:
        """Return the roles that were asked about; None without a label run."""
        return self.ablated.held

    @cached_property
    def holders(self) -> dict[str, np.ndarray]:
        """Return which heads hold a role, as layers × heads, of the roles that any head holds."""
        heads = {role: self.held.heads(role) for role in self.held.roles} if self.held else {}
        return {role: holds for role, holds in heads.items() if holds.any()}

    def roles_of(self, layer: int, head: int) -> list[str]:
        """Return the roles of one head, its layer by its place."""
        return [role for role, holds in self.holders.items() if holds[layer, head]]

    def rows(self, table: Table) -> Table:
        """Return the tests of the arm of the answer; those of the first that has any, where it has none."""
        column = "arm" if "arm" in table.data else "outcome"
        wanted = self.arm if column == "arm" else parse_column(self.arm).outcome
        known = table.data[column].tolist() if len(table) else []
        return table.where(**{column: wanted if wanted in known else known[0]}) if known else table

    def counts(self, arm: str) -> tuple[int, ...]:
        """Return how many heads have each verdict, in the order of ``VERDICTS``."""
        return tuple(np.bincount(self.verdicts(arm).ravel(), minlength=len(VERDICTS)).tolist())

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
        findings, name = self.run.findings, f"{LOSS}:{columns.CLEAN}"
        if name not in findings.sieves or parse_column(arm).outcome != LOSS:
            return math.nan
        return float(findings.mean[findings.of(name)].ravel()[0])

    def unit(self, arm: str) -> str:
        """Return the unit of a column's numbers after a blank; "" where they have none.

        Cross-entropies are in nats. A squared error and outcomes between 0 and 1 have no unit.
        """
        return " nats" if parse_column(arm).outcome == LOSS and "squared" not in self.loss else ""

    def unit_title(self, arm: str) -> str:
        """Return the unit of a column, or the scale of a number without one, in brackets after a blank."""
        unit = self.unit(arm).strip() or SCALES.get(parse_column(arm).outcome, "")
        return f" ({unit})" if unit else ""

    def axis(self, arm: str) -> str:
        """Return the title of an axis of damage, such as "damage: loss (nats)"."""
        return f"damage: {OUTCOME_WORDS[parse_column(arm).outcome]}{self.unit_title(arm)}"

    def measure(self, arm: str) -> str:
        """Return what the damage of an arm is, as a noun phrase, with the loss and its unit."""
        outcome, unit = parse_column(arm).outcome, self.unit(arm)
        loss = f" ({isolate(self.loss)})" if self.loss else ""
        return MEASURES[outcome] + f"{loss}{f' in{unit}' if unit else ''}" * (outcome == LOSS)

    def least(self, arm: str) -> float:
        """Return the smallest damage of an arm that counts, θ."""
        return float(self.ablated.damage.threshold[self.ablated.damage.of(arm)])

    def threshold(self, arm: str) -> str:
        """Return θ with its unit; of a loss as its share, too: "0.0342 nats (1 % of the loss)"."""
        value, clean = self.least(arm), self.clean_loss(arm)
        part = "" if math.isnan(clean) or clean <= 0 else f" ({share(value / clean)} of the loss)"
        return f"{number(value)}{self.unit(arm)}{part}"

    def largest(self, arm: str) -> Row | None:
        """Return the row of the head of the largest damage; None where no head was taken out."""
        rows = self.damage.where(arm=arm)
        return None if np.isnan(rows["mean"]).all() else rows[int(np.nanargmax(rows["mean"]))]


def answer_of(measured: Measured) -> Answer:
    """Return title, line, sentences and warnings; all counts are those of the tables of the run."""
    run, arm = measured.run, measured.arm
    about = [
        run.scores.stack.words, f"damage: {measured.measure(arm)}",
        f"in place of a head: {columns.REPLACED[parse_column(arm).what]}",
        f"threshold {measured.threshold(arm)}",
        error_rate(run.decision, "verdict and arm", "verdicts", "verdict"),
    ]  # fmt: skip
    title = f"Which of the {plural(run.findings.count[0].size, 'head')}{claims.of_model(run)} matter?"
    sentences = _matters(measured), _little(measured), _predicted(measured)
    return claims.answer_about(run, title, about, sentences)


def _matters(measured: Measured) -> Sentence:
    """Return how many heads are needed, the largest damage, and what a damage of one head leaves open."""
    arm, codes, counts = measured.arm, measured.verdicts(measured.arm), measured.counts(measured.arm)
    needed, layers, outcome = counts[NEEDED], measured.run.scores.stack.numbers, parse_column(arm).outcome
    at = {*np.nonzero(codes == NEEDED)[0].tolist()}
    together = f", all of layer {layers[min(at)]}" if needed > 1 and len(layers) > 1 and len(at) == 1 else ""
    said = []
    if (row := measured.largest(arm)) is not None:
        taken = int((~np.isnan(measured.damage.where(arm=arm)["mean"])).sum())
        of = f"Of {taken:,} that were taken out, " if taken < codes.size else ""
        scale = f" ({SCALES[outcome]} of the {OUTCOME_WORDS[outcome]})" if outcome in SCALES else ""
        damage = damage_text(row.mean, row.low, row.high, measured.unit(arm))
        said.append(f"{of}{claims.place_name(row)} does most damage: {damage}{scale}")
    if better := counts[INTERFERING]:
        verb, them = ("interferes", "it") if better == 1 else ("interfere", "them")
        said.append(f"{better:,} {verb}: the model is better without {them}")
    said.append("Each was taken out alone. Others can make up for it, so damages are lower bounds")
    lead = some_of(needed, plural(codes.size, "head"), "is", "are", "is shown to be")
    return Sentence(f"{lead} needed", f"{together}. {'. '.join(said)}.", *((arm, "role") if needed else ()))


def _little(measured: Measured) -> Sentence:
    """Return how many heads are negligible, also of roles that park attention, and what stays open."""
    arm, counts, damage = measured.arm, measured.counts(measured.arm), measured.ablated.damage
    heads, units = sum(counts), int(damage.count[damage.of(arm)].max(initial=0))
    few = f"Below {ENOUGH_FOR_LITTLE} units no head can be called negligible; here are {units:,}"
    said = [few] if units < ENOUGH_FOR_LITTLE else [*_parked(measured)]
    still, untested = counts[UNDETERMINED], counts[UNTESTABLE]
    said += [f"{still:,} {'stays' if still == 1 else 'stay'} open"] * bool(still)
    said += [f"{untested:,} could not be tested"] * bool(untested)
    if still > heads / 2 and units >= ENOUGH_FOR_LITTLE:
        said.append("More inputs would decide more")
    lead = some_of(counts[NEGLIGIBLE], plural(heads, "head"), "is", "are", "is shown to be")
    shown = (arm, "not") if counts[NEGLIGIBLE] else ()
    return Sentence(f"{lead} negligible", "".join(f". {text}" for text in said) + ".", *shown)


def _parked(measured: Measured) -> Iterator[str]:
    """Yield how many heads of the first role that parks attention are negligible, and their mean damage."""
    rows = [row for row in measured.rows(measured.ablated.roles) if row.quiet and row.heads]
    for row in sorted(rows, key=lambda row: (":" in row.role, -row.heads))[:1]:
        mean = damage_text(row.damage, row.damage_low, row.damage_high, measured.unit(row.arm))
        shown = "is negligible" if row.no_damage == "negligible" else "is not shown to be negligible"
        who = f"{plural(row.heads, 'head')} that {claims.does(row.role, row.heads)}"
        if row.heads == 1:
            yield f"The one that {claims.does(row.role, 1)} {'is' if row.negligible else 'is not'} among them"
            return
        if row.negligible:
            yield f"Of {who}, {row.negligible:,} {'is' if row.negligible == 1 else 'are'}"
        yield f"The mean damage of {f'all {row.heads:,}' if row.negligible else who}, {mean}, {shown}"


def _predicted(measured: Measured) -> Sentence:
    """Return whether roles say which heads matter: within layers, at sites, by their cells, and together."""
    if measured.held is None:
        return Sentence("No roles were asked about", "; --roles takes those of a label run.")
    parts = (_which, _where, _cells, _together)
    (lead, rest), *others = [said for part in parts for said in part(measured)] or [
        ("Whether roles say which heads matter could not be tested", "")
    ]
    return Sentence(lead, ". ".join([rest, *map("".join, others)]) + ".")


def _which(measured: Measured) -> Iterator[tuple[str, str]]:
    """Yield which roles go with more damage, and with less, where any could be tested.

    The tests ask for areas that are rare among random labellings, too.
    """
    rows = with_test(measured.rows(measured.ablated.roles))
    if not rows:
        return
    more = sorted(rows.where(decision="more damage"), key=lambda row: -row.low)
    less = sorted(rows.where(decision="less damage"), key=lambda row: row.high)

    def listed(found: Sequence[Row], no_relation: str) -> str:
        areas = [f"area {damage_text(row.area, row.low, row.high)}" for row in found]
        areas[0] += no_relation
        names = [f"{role_title(row.role)} ({area})" for row, area in zip(found, areas, strict=True)]
        return f": {claims.first_names(names, lambda count: plural(count, 'other'))}"

    known = "; 0.5 is no relation"
    rest = f"{_other_arm(measured, rows)}{listed(more, known) if more else ''}"
    if less:
        goes = "goes" if len(less) == 1 else "go"
        rest += f". {plural(len(less), 'role')} {goes} with less{listed(less, known * (not more))}"
    if chances := [row.p_labels for row in (*more, *less) if not math.isnan(row.p_labels)]:
        rest += f". At most {share(max(chances))} of random labellings match such an area"
    if left := count_of(rows, "undetermined"):
        rest += f". {plural(left, 'role')} {'stays' if left == 1 else 'stay'} open"
    lead = some_of(len(more), plural(len(rows), "role"), "goes", "go", "is shown to go")
    yield f"{lead} with more damage within layers", rest


def _other_arm(measured: Measured, rows: Table) -> str:
    """Return what damage is measured on in brackets, where it is not that of the verdicts."""
    return "" if (arm := rows[0].arm) == measured.arm else f" ({arm_name(arm)})"


def _places(rows: Table) -> list[str]:
    """Return the names of the heads of some rows, each once."""
    return list(dict.fromkeys(map(claims.place_name, rows)))


def _where(measured: Measured) -> Iterator[tuple[str, str]]:
    """Yield which heads do more damage at the sites of a role that they hold, where any could be tested."""
    rows = measured.rows(measured.ablated.sites)
    if not (tested := _places(with_test(rows))):
        return
    found, fewer = (_places(rows.where(decision=word)) for word in ("at its sites", "elsewhere"))
    lead = some_of(len(found), plural(len(tested), "head"), "matters", "matter", "is shown to matter")
    if found and len(found) <= NAMED:
        lead = lead.replace(" matter", f" ({join_names(found)}) matter")
    lead += " where their roles apply" if len(found) > 1 else " where its role applies"
    rest = f"{_other_arm(measured, rows)}, compared with other tokens and other heads"
    rest += f"; {len(fewer):,} {'does' if len(fewer) == 1 else 'do'} less there" if fewer else ""
    yield lead, rest


def _cells(measured: Measured) -> Iterator[tuple[str, str]]:
    """Yield for which heads the cells of a role matter, where any were removed."""
    rows = measured.rows(measured.ablated.cells)
    if not (tested := _places(with_test(rows))):
        return
    own, other = (
        _places(rows.where(decision=word)) for word in ("its cells matter", "other cells matter more")
    )
    lead = f"For {len(own) or 'none'} of {plural(len(tested), 'head')}, the attention that its role counts"
    yield f"{lead} matters more", " than as much elsewhere" + f"; for {len(other):,}, less" * bool(other)


def _together(measured: Measured) -> Iterator[tuple[str, str]]:
    """Yield which roles matter when all their heads are taken out, where sets were."""
    rows = measured.rows(measured.ablated.groups)
    if not rows:
        return
    more = sorted(rows.where(decision="more than random sets"), key=lambda row: row.q)
    tested = plural(len(with_test(rows)), "role")
    some = f"{len(more):,} of {tested} do" if more else "no role are shown to do"
    names = [
        f"{role_title(row.role)} ({number(row.damage)}; random sets {number(row.random_low)} to "
        f"{number(row.random_high)})"
        for row in more[:NAMED]
    ]
    rest = f": {join_names(names)}" if names else ""
    if beyond := [role_title(row.role) for row in rows.where(excess_decision="more than the sum")]:
        some_roles = join_names(beyond) if len(beyond) <= NAMED else plural(len(beyond), "role")
        rest += f". For {some_roles}, the set does more damage than its heads alone, added up"
    yield f"Taken out together, the heads of {some} more damage than random sets", rest


def head_sentence(measured: Measured, layer: int, head: int) -> str:
    """Return what taking one head out does; its layer by its place among those that are read."""
    arm, damage = measured.arm, measured.ablated.damage
    at = (damage.of(arm), layer, head)
    mean, low, high = (float(numbers[at]) for numbers in (damage.mean, damage.low, damage.high))
    outcome, text = OUTCOME_WORDS[parse_column(arm).outcome], damage_text(mean, low, high, measured.unit(arm))
    facts = f": its damage, measured on the {outcome}, is {text}. The threshold is {measured.threshold(arm)}"
    roles = [role_title(name) for name in measured.roles_of(layer, head)]
    holds = f" Its roles: {join_names(roles)}." if roles else ""
    name = measured.run.scores.stack.name(layer, head)
    return f"{name} is {VERDICTS[int(damage.verdict[at])]}{'' if text == '–' else facts}.{holds}"


def promise(decision: Decision) -> str:
    """Return which error rate the correction controls."""
    level, scope = share(decision.alpha), FAMILIES.get(decision.family, FAMILIES["sieve"])
    same = "The same holds for negligible and for interfering heads, each verdict by itself."
    return claims.corrected(
        decision,
        f"Nothing was corrected: of heads at the threshold, {level} get each verdict by chance.",
        f"Of the heads called needed ({scope}), at most {level} are expected not to be. {same}",
        f"The chance of even one falsely needed head ({scope}) is at most {level}. {same}",
    )


def glossary(measured: Measured) -> list[tuple[str, str]]:
    """Return the words of the report, each with its meaning."""
    ablated, arm = measured.ablated, measured.arm
    count = int(ablated.damage.count[ablated.damage.of(arm)].max(initial=0))
    of_roles = [
        ("area", "The chance that a head with the role does more damage than one of its layer without it: "
         "0.5 for no relation, 1 where all heads with the role do more."),
        ("among random labels", "Twice the share of random labellings, with as many heads in each layer, "
         "whose area is at least as far out on the same side. More or less damage is said only where this is "
         "rare."),
    ]  # fmt: skip
    sites = (
        "sites", "Tokens at which the role has something to do. Their damage is compared with that of other "
        "tokens of like loss and position, and with that of heads of the layer without the role, in parts of "
        "what each head does in all."
    )  # fmt: skip
    sets = (
        "random sets", "As many heads in each layer, and in each half of its norms, drawn at random and "
        "taken out together. What the norms of the heads foretell is taken from the damage of every set."
    )  # fmt: skip
    return [
        ("damage", f"How much worse the model gets when a head is taken out. Here: {measured.measure(arm)}; "
         f"{ACTS[parse_column(arm).what]}."),
        ("arm", "What damage is measured on, together with what replaces the head."),
        ("threshold", f"The smallest damage that counts, {measured.threshold(arm)}. Where it is a share of "
         "the loss, the tests carry its error."),
        ("needed", "The damage lies significantly above the threshold, also with three more units at the "
         "smallest damage of any head of the layer. Inputs of a kind that no unit shows are not guarded "
         f"against: a kind that {share(RARE)} of inputs are of is missing from {share((1 - RARE) ** count)} "
         f"of samples of {plural(count, 'unit')}."),
        ("negligible", "The damage lies significantly within ± threshold, by two one-sided tests, also with "
         f"three more units as bad as the worst. Fewer than {ENOUGH_FOR_LITTLE} units never show that. "
         "Damage in inputs of a kind that no unit shows stays unseen here, too."),
        ("interfering", "The damage lies significantly below − threshold, also with three more units at the "
         "largest of any head of the layer: the model is better without the head. Fewer than "
         f"{ENOUGH_FOR_LITTLE} units never show that."),
        ("undetermined", "The inputs do not decide, or the verdict would depend on few units. Fewer than "
         f"{FEWEST_UNITS} units decide nothing."),
        ("untestable", "The head was not taken out, or its damage has no spread or too few units."),
        ("lower bound", "Other heads can make up for one that is missing. So a head that is negligible alone "
         "may matter together with others."),
        *(of_roles if ablated.roles else ()), *([sites] if ablated.sites else ()),
        *([sets] if ablated.groups else ()),
        ("interval", "A 95\u00a0% interval of one mean, not adjusted for selection. That of the largest "
         "damage is a little high."),
        ("error rate", promise(measured.run.decision)),
    ]  # fmt: skip
