"""Everything that may be stated about a run of roles: counts, strongest heads, exact sets, all findings."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.kinds import kind_of
from headroles.records.assessment import Assessment, Precision
from headroles.records.findings import COLUMNS, DECISIONS, Labelling, absent_heads, stronger_roles
from headroles.records.layers import Stack
from headroles.records.roles import control_of, controls_of, explained_words, looks_of, without_wholes
from headroles.records.rules.rule import Decision
from headroles.reports.account import Account, account
from headroles.reports.words import HALF, STEADY, Interval
from headroles.stats.decision import ENOUGH_FOR_NOT

MANY = 24
"""Roles above which a page counts them and lets one be chosen, instead of marking each."""


class Strongest(NamedTuple):
    """The head with the best evidence for a role, among those that hold it.

    It is the one with the highest lower end of the interval of its contrast; of its mean, for a role without
    a contrast.

    Attributes:
        layer: Place of its layer among those that are read.
        head: Its head within the layer.
        score: Its mean score.
        contrast: Its mean contrast; None where the sieve has none.
        beyond: Its mean difference from the baseline, in runs of probes; None elsewhere.
    """

    layer: int
    head: int
    score: Interval
    contrast: Interval | None
    beyond: Interval | None


class Tally(NamedTuple):
    """Heads per decision; the first five add up to all heads.

    Attributes:
        role: Heads with the role.
        not_role: Heads whose score lies significantly below θ.
        undetermined: Heads that the inputs do not decide.
        untestable: Heads that could not be tested.
        explained: Heads whose score lies beyond θ, and whose contrast lies below its margin.
        absent: Of those called "not", heads whose mean lies within the bound around chance.
        strong: Of those with the role, heads whose second contrast lies beyond its margin, too.
    """

    role: int
    not_role: int
    undetermined: int
    untestable: int
    explained: int
    absent: int
    strong: int

    @property
    def heads(self) -> int:
        """Return the number of all heads."""
        return sum(self[:5])

    @property
    def tests(self) -> int:
        """Return the number of heads that could be tested."""
        return self.heads - self.untestable


class Support(NamedTuple):
    """How firm the labels of one role are; nothing here is a probability that a label is true.

    Attributes:
        labels: Heads with the role.
        steady: Stable labels: a fresh sample of as many units gives them again with a probability of at
            least ``STEADY``; None where it is not known.
        detectable: Smallest and largest effect, over its heads, that its units show with power 0.8.
        design: Median design effect of its heads; NaN where every unit is one example.
        minority: Labels that hold in under half of the units, by their scores alone.
        least: Smallest share of units over its heads; NaN without a label, and in older runs.
    """

    labels: int
    steady: int | None
    detectable: tuple[float, float]
    design: float
    minority: int = 0
    least: float = math.nan


class Combination(NamedTuple):
    """An exact set of roles and the number of heads that hold just this set.

    Attributes:
        roles: Numbers of the roles.
        heads: Heads that hold these roles and no other.
        expected: Heads expected when the labels of every role are permuted within each layer; NaN
            where the run did not compute it.
        expected_low: 2.5 % point of that reference.
        expected_high: 97.5 % point.
    """

    roles: tuple[int, ...]
    heads: int
    expected: float = math.nan
    expected_low: float = math.nan
    expected_high: float = math.nan


@dataclass(frozen=True, slots=True)
class Role:
    """One sieve that can be a role, over all heads.

    Attributes:
        sieve: Its name.
        position: Its place among all sieves, contrasts included.
        code: Two characters at most, unique on the page: the mark inside a matrix cell.
        tone: Number of its colour, from 0.
        symbol: Number of its plot symbol, from 0.
        threshold: θ, what its mean is tested against.
        contrast: Name of the sieve that must pass as well; "" for none.
        contrast_threshold: θ of the contrast; NaN for none.
        tally: Heads per decision.
        layers: Heads with this role in each layer.
        strongest: The head with the best evidence among those with the role.
        together: Name of the family that its heads share with another sieve's; "" for none.
        control: What the contrasts that can explain the score control for, such as "distance"; "" for none.
        stronger: What the second contrast controls for, such as "word class"; "" for none.
        bounded: Whether heads of the role were tested for absence: not in probes, and not for ratios.
        units: Fewest units of any of its heads, or of their contrasts; 0 where none has a score.
    """

    sieve: str
    position: int
    code: str
    tone: int
    symbol: int
    threshold: float
    contrast: str
    contrast_threshold: float
    tally: Tally
    layers: tuple[int, ...]
    strongest: Strongest | None
    together: str
    control: str
    stronger: str
    bounded: bool
    units: int

    @property
    def thin(self) -> bool:
        """Return whether so few units have a score that no head can be shown to lack the role."""
        return self.units < ENOUGH_FOR_NOT

    @property
    def verdict(self) -> str:
        """Return the verdict on a head with a high score whose contrast lies below its margin."""
        return explained_words(self.control)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Everything that a page may state about a run.

    Attributes:
        account: What was run.
        decision: Test, correction and levels that turned scores into decisions.
        roles: The sieves that can be roles.
        supports: How firm each role's labels are; empty without an assessment.
        held: Whether a head holds a role.
        strong: Whether it is a strong role: beyond its second contrast, too.
        absent: Whether a head called "not" is absent.
        combinations: Exact role sets, most frequent first.
        assessment: All results beyond the tests; None when the run did not compute it.
        sieves: Names of all sieves, contrasts included.
        stack: The layers by their positions.
        heads: Number of heads in a layer.
        columns: Named numbers of every finding, by sieve and head, layer-major.
        codes: Places in ``DECISIONS`` of the same; −1 on contrasts.
        precision: Names of those columns that the assessment adds to the findings.
        inputs: Number of inputs.
    """

    account: Account
    decision: Decision
    roles: tuple[Role, ...]
    supports: tuple[Support, ...]
    held: Bool[np.ndarray, "roles layers heads"]
    strong: Bool[np.ndarray, "roles layers heads"]
    absent: Bool[np.ndarray, "roles layers heads"]
    combinations: tuple[Combination, ...]
    assessment: Assessment | None
    sieves: tuple[str, ...]
    stack: Stack
    heads: int
    columns: Mapping[str, Float[np.ndarray, "sieves heads"]]
    codes: Int[np.ndarray, "sieves heads"]
    precision: tuple[str, ...]
    inputs: int

    @property
    def many(self) -> bool:
        """Return whether there are too many roles for a mark, a button or a line of their own each."""
        return len(self.roles) > MANY

    @property
    def layers(self) -> int:
        """Return the number of layers that are read."""
        return len(self.stack.layers)

    @property
    def names(self) -> list[str]:
        """Return the names of the roles."""
        return [role.sieve for role in self.roles]

    @property
    def drawn(self) -> Bool[np.ndarray, "roles layers heads"]:
        """Return the roles to draw: one with parts is left out where the head holds one of its parts."""
        return without_wholes(self.names, self.held)

    def name(self, cell: int) -> str:
        """Return the name of a head by its number, counted layer by layer, such as "2-8"."""
        return self.stack.name(*divmod(cell, self.heads))

    def of(self, name: str, position: int) -> Float[np.ndarray, " heads"]:
        """Return one column of one sieve, layer-major."""
        values: np.ndarray = self.columns[name][position]
        return values

    def decided(self, position: int) -> Int[np.ndarray, " heads"]:
        """Return the decisions of one sieve, layer-major."""
        codes: np.ndarray = self.codes[position]
        return codes


def summarise(labelling: Labelling) -> Summary:
    """Count, name and order the results of a run; nothing statistical is computed.

    Args:
        labelling: The result of a run.
    """
    findings, assessed, decision = labelling.findings, labelling.assessment, labelling.decision
    places = [place for place, rule in enumerate(findings.rules) if rule.role]
    names = [findings.sieves[place] for place in places]
    held, strong = findings.decision[places] == 0, stronger_roles(findings, decision)
    absent, roles = np.zeros_like(held), []
    if assessed is not None:
        absent = absent_heads(findings, assessed.precision, decision)[places]

    def threshold(position: int) -> float:
        null, rule = findings.null[position], findings.rules[position]
        return rule.threshold if np.isnan(null).all() else float(np.nanmean(null)) + rule.margin

    for number, (position, look) in enumerate(zip(places, looks_of(names), strict=True)):
        rule, decided = findings.rules[position], findings.decision[position]
        units = findings.count[[position, *map(findings.of, filter(None, [rule.contrast]))]]
        counts = [(decided == code).sum() for code in range(len(DECISIONS))]
        roles.append(Role(
            sieve=rule.sieve, position=position, code=look.mark, tone=look.tone, symbol=look.symbol,
            threshold=threshold(position), contrast=rule.contrast,
            contrast_threshold=threshold(findings.of(rule.contrast)) if rule.contrast else math.nan,
            tally=Tally(*map(int, (*counts, absent[number].sum(), strong[number].sum()))),
            layers=tuple(held[number].sum(axis=1).tolist()), strongest=_strongest(labelling, position),
            together=rule.together, control=controls_of(rule.weaker, rule.contrast),
            stronger=control_of(rule.stronger) if rule.stronger in findings.sieves else "",
            bounded=assessed is not None and not np.isnan(assessed.precision.p_absent[position]).all(),
            units=int(units[units > 0].min(initial=units.max())),
        ))  # fmt: skip
    precision = tuple(field.name for field in fields(Precision)) if assessed else ()
    columns = {name: getattr(findings, name) for name in COLUMNS}
    columns |= {name: getattr(assessed.precision, name) for name in precision} if assessed else {}
    sieves, layers, heads = findings.count.shape
    shape = (sieves, layers * heads)
    return Summary(
        account=account(labelling), decision=decision, roles=tuple(roles),
        supports=tuple(_support(labelling, place) for place in places if assessed),
        held=held, strong=strong, absent=absent, combinations=_combinations(held, names, assessed),
        assessment=assessed, sieves=findings.sieves,
        stack=labelling.scores.stack, heads=heads,
        columns={name: np.asarray(grid, np.float64).reshape(shape) for name, grid in columns.items()},
        codes=np.asarray(findings.decision, np.int64).reshape(shape), precision=precision,
        inputs=int(labelling.manifest.get("counts", {}).get("examples") or len(labelling.scores.examples)),
    )  # fmt: skip


def _strongest(labelling: Labelling, position: int) -> Strongest | None:
    """Return the head with the best evidence among those that hold the role, the first of equals."""
    findings, rule = labelling.findings, labelling.findings.rules[position]
    held, means = findings.decision[position] == 0, (findings.mean, *labelling.mean_intervals())
    if not held.any():
        return None
    lows = means[1][findings.of(rule.contrast) if rule.contrast else position]
    ranked = findings.mean[position] if np.isnan(lows[held]).any() else lows
    layer, head = divmod(int(np.argmax(np.where(held, ranked, -np.inf))), held.shape[1])

    def interval(sieve: int, *grids: np.ndarray, less: float = 0.0) -> Interval:
        return Interval(*(float(grid[sieve, layer, head]) - less for grid in grids))

    contrast = interval(findings.of(rule.contrast), *means) if rule.contrast else None
    null, grids = float(findings.null[position, layer, head]), (findings.mean, findings.low, findings.high)
    beyond = interval(position, *grids, less=null) if kind_of(labelling).baselines else None
    return Strongest(layer, head, interval(position, *means), contrast, beyond)


def _combinations(
    held: Bool[np.ndarray, "roles layers heads"], names: list[str], assessed: Assessment | None
) -> tuple[Combination, ...]:
    """Return exact role sets of heads with a role, most frequent first, then in the order of roles."""
    expected = {role_set.roles: role_set for role_set in assessed.sets} if assessed else {}
    sets = Counter(
        tuple(np.flatnonzero(column).tolist())
        for column in held.reshape(len(names), held.shape[1] * held.shape[2]).T
    )
    sets.pop((), None)
    combinations = []
    for roles, count in sorted(sets.items(), key=lambda pair: (-pair[1], pair[0])):
        known = expected.get(";".join(names[role] for role in roles))
        ends = (known.expected, known.expected_low, known.expected_high) if known else ()
        combinations.append(Combination(roles, count, *ends))
    return tuple(combinations)


def _support(labelling: Labelling, place: int) -> Support:
    """Return stability, detectable effect and design effect of a role of a run with an assessment."""
    assert labelling.assessment is not None
    precision, units = labelling.assessment.precision, labelling.scores.units
    decided = labelling.findings.decision[place]
    own, tested, stability = decided == 0, decided != 3, precision.stability[place]
    shares, effects, design = (
        values[~np.isnan(values)]
        for values in (
            precision.prevalence[place][own], precision.detectable[place][tested],
            precision.design_effect[place],
        )
    )  # fmt: skip
    return Support(
        labels=int(own.sum()),
        steady=None if np.isnan(stability[tested]).any() else int((stability[own] >= STEADY).sum()),
        detectable=(float(effects.min()), float(effects.max())) if effects.size else (math.nan,) * 2,
        design=float(np.median(design)) if design.size and len(set(units)) < len(units) else math.nan,
        minority=int((shares < HALF).sum()),
        least=float(shares.min()) if shares.size else math.nan,
    )
