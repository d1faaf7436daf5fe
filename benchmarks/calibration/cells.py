"""Simulate runs of one population and number of units, and count how often the shipped decisions are wrong.

Every statistic is the shipped one: tests from ``stats.methods`` (flat scores by ``handle_flat_scores``,
as in ``judge``), corrections from ``stats.correction`` and ``stats.max_t``, intervals from the tests and
``stats.effects``. Many runs are columns of one array, and families are rows of one call.
"""

from dataclasses import dataclass, replace

import numpy as np
from counts import (
    ALPHA,
    BOUNDS,
    DEFAULT,
    DRAWS,
    EFFECTS,
    HEADLINE,
    LEVELS,
    PATTERN,
    SHARES,
    Effort,
    Tally,
)
from populations import Population

from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.columns import Column, handle_flat_scores
from headroles.stats.comparing.paired import paired_differences
from headroles.stats.correction import adjust, significant
from headroles.stats.decision import CORRECTIONS
from headroles.stats.draws import bootstrap_counts
from headroles.stats.effects import bca, effect_interval, hedges_g
from headroles.stats.max_t import max_t
from headroles.stats.methods.closed_form import Outcome, has_no_spread
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample, describe


@dataclass(frozen=True)
class Chunk:
    """Runs drawn together: scores of shape (units, runs, heads)."""

    values: np.ndarray
    shift: np.ndarray
    population: Population
    seed: int

    @property
    def columns(self) -> np.ndarray:
        """Return all heads of all runs, side by side."""
        return self.values.reshape(len(self.values), -1)

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return self.values.shape[1]

    def mixed(self) -> "Chunk":
        """Return the same draws with some heads beyond θ and some below."""
        pattern = np.array((*PATTERN, *np.zeros(8)))
        shift = np.resize(pattern, self.values.shape[2])
        return replace(self, values=self.values + shift, shift=shift)

    def column(self, values: np.ndarray) -> Column:
        """Return scores as a column of the engine."""
        far = float(np.abs(self.shift).max())
        low, high = self.population.low - far, self.population.high + far
        return Column(Rule("run", margin=0.0), values, 0.0, low, high)


def outcome_of(chunk: Chunk, test: str, sample: Sample) -> Outcome:
    """Apply the shipped test to every head of every run."""
    outcome = METHODS[test](chunk.columns, sample, 0.0, DRAWS["test"], chunk.seed)
    return handle_flat_scores(outcome, chunk.column(chunk.columns), sample)


def _families(chunk: Chunk, outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    p, p_not = (side.reshape(chunk.runs, -1) for side in (outcome.p, outcome.p_not))
    return p, p_not


def _together(chunk: Chunk, p: tuple[np.ndarray, np.ndarray], still: np.ndarray, test: str) -> tuple:
    """Return the adjusted p of max-t, where every run is a sieve of its own."""
    columns = [chunk.column(np.ascontiguousarray(run)) for run in chunk.values.swapaxes(0, 1)]
    whole = slice(0, chunk.values.shape[2])
    families = [[(run, whole)] for run in range(chunk.runs)]
    decision = Decision(test=test, correction="maxT", resamples=DRAWS["maxT"], seed=chunk.seed)
    return max_t(columns, {}, families, p, still, decision)


def _decided(tally: Tally, key: tuple[str, str], q: tuple[np.ndarray, ...], shift: np.ndarray) -> None:
    """Compare the decisions from the adjusted p of both directions with the truth, and count errors."""
    errors, powers = [], []
    for sign, adjusted in zip((1, -1), q, strict=True):
        claimed = significant(adjusted, ALPHA)
        wrong = claimed & (sign * shift <= 0)
        share = wrong.sum(axis=1) / np.maximum(claimed.sum(axis=1), 1)
        errors.append(share if key[1] in SHARES else wrong.any(axis=1))
        powers.append(
            [claimed[:, sign * shift == effect].mean(axis=1) for effect in PATTERN[:2] if shift.any()]
        )
    tally.add(("errors", *key, "mixed" if shift.any() else "null"), *errors)
    for effect, *sides in zip(PATTERN, *powers, strict=False):
        tally.add(("errors", *key, f"power {effect}"), *sides)


def _rates(tally: Tally, test: str, p: tuple[np.ndarray, np.ndarray]) -> None:
    for name, level in LEVELS.items():
        tally.add(("rates", test, name), *((each <= level).mean(axis=1) for each in p))


def _covered(tally: Tally, key: tuple[str, str], chunk: Chunk, ends: tuple, truth: float = 0.0) -> None:
    low, high = (each.reshape(chunk.runs, -1) for each in ends)
    above, below = low > truth, high < truth
    tally.add(key, *(each.mean(axis=1) for each in (~above & ~below, above, below)))


def _intervals(tally: Tally, test: str, chunk: Chunk, sample: Sample, outcome: Outcome) -> None:
    """Count coverage; it depends on each head alone, so blocks are left out."""
    if chunk.population.correlation > 0 or test not in ("t", "t-skew", "bootstrap-t"):
        return
    _covered(tally, ("coverage", test), chunk, (outcome.low, outcome.high))
    if test == "bootstrap-t":
        counts = bootstrap_counts(len(chunk.values), DRAWS["bca"], chunk.seed)
        _covered(tally, ("coverage", "bca"), chunk, bca(chunk.columns, counts))
    if test == "t" and chunk.population.name == "normal":
        for effect in EFFECTS:
            g = hedges_g(replace(sample, mean=sample.mean + effect), 0.0)
            _covered(tally, ("effect", str(effect)), chunk, effect_interval(g, sample.count), effect)


def _scores(values: np.ndarray) -> Scores:
    """Return scores in which every run is a sieve."""
    units, runs, _ = values.shape
    names, keys = tuple(map(str, range(runs))), tuple(map(str, range(units)))
    even = np.zeros((runs, units))
    across = values.swapaxes(0, 1)[:, :, None].astype(np.float32)
    return Scores(names, keys, keys, np.full(units, 9), even + 1, across, even)


def _equivalence(tally: Tally, test: str, chunk: Chunk) -> None:
    """Apply both one-sided tests of ``paired_differences`` with all differences at one of the bounds."""
    before = _scores(np.zeros_like(chunk.values))
    rules = [Rule(name) for name in before.sieves]
    for bound in BOUNDS:
        p = []
        for end in (bound, -bound):
            after = _scores(chunk.values + end)
            p.append(
                paired_differences(before, after, (rules, rules), Decision(test, "none"), bound).p_equivalent[
                    :, 0
                ]
            )
        tally.add(("equivalence", test, "none", str(bound)), *((side <= ALPHA).mean(axis=1) for side in p))
        for correction in HEADLINE:
            claimed = [significant(adjust(side, correction), ALPHA).any(axis=1) for side in p]
            tally.add(("equivalence", test, correction, str(bound)), *claimed)


def _of_test(tally: Tally, test: str, chunk: Chunk, corrections: tuple[str, ...]) -> None:
    """Count everything about one test that needs no joint resampling."""
    sample = describe(chunk.columns)
    outcome = outcome_of(chunk, test, sample)
    p = _families(chunk, outcome)
    _rates(tally, test, p)
    if corrections == CORRECTIONS:
        _intervals(tally, test, chunk, sample, outcome)
    mixed = chunk.mixed()
    moved = replace(sample, mean=sample.mean + np.tile(mixed.shift, chunk.runs))
    p_mixed = _families(mixed, outcome_of(mixed, test, moved))
    for correction in corrections:
        for each, of in ((chunk, p), (mixed, p_mixed)):
            q = tuple(adjust(side, correction, ALPHA) for side in of)
            _decided(tally, (test, correction), q, each.shift)


def _of_max_t(tally: Tally, test: str, chunk: Chunk) -> None:
    sample = describe(chunk.columns)
    # adjusted p are never below the unadjusted ones; those of t do for sign flips
    p = _families(chunk, outcome_of(chunk, "t" if test == "sign-flip" else test, sample))
    still = has_no_spread(sample).reshape(chunk.runs, -1)
    _decided(tally, (test, "maxT"), _together(chunk, p, still, test), chunk.shift)


def simulate(population: Population, units: int, effort: Effort, seed: tuple[int, int]) -> dict[str, object]:
    """Simulate all figures of one cell."""
    tally = Tally()
    for number, start in enumerate(range(0, effort.headline(population), effort.chunk)):
        rng = np.random.default_rng([*seed, number])
        values = population.draw(rng, units, effort.chunk)
        chunk = Chunk(values, np.zeros(values.shape[2]), population, number)
        for test in METHODS:
            if start < effort.of_test(test):
                _of_test(tally, test, chunk, CORRECTIONS)
            elif test == DEFAULT:
                _of_test(tally, test, chunk, HEADLINE)
        for test in ("t-skew", "t") if start < effort.of_equivalence() else ():
            _equivalence(tally, test, chunk)
        for each in (chunk, chunk.mixed()):
            if start < effort.of_max_t(population, units, bool(each.shift.any())):
                _of_max_t(tally, DEFAULT, each)
            if start < effort.of_test("sign-flip"):
                _of_max_t(tally, "sign-flip", each)
    return {"population": population.name, "kind": population.kind, "units": units} | {
        "correlation": None if population.kind == "real" else population.correlation,
        **tally.nested(),
    }
