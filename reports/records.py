"""Records that a page shows: frozen and typed, without HTML or plotly."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.assessment import Assessment
from headroles.records.layers import Stack
from headroles.records.roles import explained_words
from headroles.records.rules.rule import Decision

MANY = 24
"""Roles above which a page counts them and lets one be chosen, instead of marking each."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of "what was run".

    Attributes:
        group: What the line belongs to, such as ``"model"``.
        term: What is recorded.
        value: Its value as text.
        full: The whole value when ``value`` is a shortened hash; "" otherwise.
    """

    group: str
    term: str
    value: str
    full: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What was run, as the manifest and the decision state it.

    Attributes:
        title: Names the model.
        subtitle: Names task, inputs and their number.
        command: The command line; "" when not recorded.
        statistic: What a score is called, such as ``"selectivity"``.
        preset: Name of the preset; "" when not recorded.
        main: The lines shown at once.
        rest: Every other recorded value.
        warnings: What must be known before anything is concluded, one sentence each.
        model: Name of the model without its owner or folder; "" when not recorded.
        facts: Task, data, and the numbers of inputs and units, as far as they are recorded.
        by_norm: Whether attention is weighted by the norms of the values that it moves.
    """

    title: str
    subtitle: str
    command: str
    statistic: str
    preset: str
    main: tuple[Line, ...]
    rest: tuple[Line, ...]
    warnings: tuple[str, ...]
    model: str = ""
    facts: tuple[str, ...] = ()
    by_norm: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval, not adjusted for selection."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Strongest:
    """The head with the largest mean among those that hold a role.

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
    beyond: Interval | None = None


@dataclass(frozen=True, slots=True)
class Tally:
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
    explained: int = 0
    absent: int = 0
    strong: int = 0

    @property
    def heads(self) -> int:
        """Return the number of all heads."""
        return self.role + self.not_role + self.undetermined + self.untestable + self.explained

    @property
    def tests(self) -> int:
        """Return the number of heads that could be tested."""
        return self.heads - self.untestable


@dataclass(frozen=True, slots=True)
class Role:
    """One sieve that can be a role, over all heads.

    Attributes:
        sieve: Its name.
        position: Its place among all sieves, contrasts included.
        question: What it asks, in words.
        code: Two characters at most, unique on the page: the mark inside a matrix cell.
        tone: Number of its colour, from 0.
        symbol: Number of its plot symbol, from 0.
        threshold: θ, what its mean is tested against.
        contrast: Name of the sieve that must pass as well; "" for none.
        contrast_threshold: θ of the contrast; NaN for none.
        tally: Heads per decision.
        layers: Heads with this role in each layer.
        strongest: The head with the largest mean among those with the role.
        together: Name of the family that its heads share with another sieve's; "" for none.
        control: What the contrasts that can explain the score control for, such as "distance"; "" for none.
        stronger: What the second contrast controls for, such as "word class"; "" for none.
        bounded: Whether heads of the role were tested for absence.
    """

    sieve: str
    position: int
    question: str
    code: str
    tone: int
    symbol: int
    threshold: float
    contrast: str
    contrast_threshold: float
    tally: Tally
    layers: tuple[int, ...]
    strongest: Strongest | None
    together: str = ""
    control: str = ""
    stronger: str = ""
    bounded: bool = False

    @property
    def verdict(self) -> str:
        """Return the verdict on a head with a high score whose contrast lies below its margin."""
        return explained_words(self.control)


@dataclass(frozen=True, slots=True)
class Combination:
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
    expected: float = float("nan")
    expected_low: float = float("nan")
    expected_high: float = float("nan")


@dataclass(frozen=True, slots=True)
class Support:
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
    least: float = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Every finding, one row per sieve × layer × head, sieve-major.

    Attributes:
        sieves: Names of all sieves, contrasts included.
        stack: The layers by their positions.
        heads: Number of heads in a layer.
        columns: Named numbers, one per row.
        decision: Place in ``outcomes.DECISIONS``; −1 on contrasts.
        precision: Names of those columns that the assessment adds to the findings.
    """

    sieves: tuple[str, ...]
    stack: Stack
    heads: int
    columns: Mapping[str, Float[np.ndarray, " rows"]]
    decision: Int[np.ndarray, " rows"]
    precision: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """Return the number of layers that are read."""
        return len(self.stack.layers)

    def of(self, name: str, position: int) -> Float[np.ndarray, " heads"]:
        """Return one column of one sieve, layer-major."""
        size = self.layers * self.heads
        return self.columns[name][position * size : (position + 1) * size]

    def decided(self, position: int) -> Int[np.ndarray, " heads"]:
        """Return the decisions of one sieve, layer-major."""
        size = self.layers * self.heads
        return self.decision[position * size : (position + 1) * size]


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Everything that a page may state about a run.

    Attributes:
        account: What was run.
        decision: Test, correction and levels that turned scores into decisions.
        roles: The sieves that can be roles.
        supports: How firm each role's labels are; empty without an assessment.
        held: Whether a head holds a role, per role, layer and head.
        strong: Whether it is a strong role: beyond its second contrast, too.
        absent: Whether a head called "not" is absent.
        combinations: Exact role sets, most frequent first.
        assessment: All results beyond the tests; None when the run did not compute it.
        skipped: What was left out, one sentence each.
        table: Every finding.
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
    skipped: tuple[str, ...]
    table: Table

    @property
    def many(self) -> bool:
        """Return whether there are too many roles for a mark, a button or a line of their own each."""
        return len(self.roles) > MANY
