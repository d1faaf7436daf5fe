"""Runs that may stop: all heads are judged after every shard, until enough of them are decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from headroles.options.label import LabelOptions
from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.records.stops.look import UNDETERMINED, UNTESTABLE, Look, Watch
from headroles.stats.decision import ENOUGH_FOR_NOT

if TYPE_CHECKING:
    from headroles.records.findings import Findings
    from headroles.shards.receipts import Receipts
    from headroles.shards.survey import Survey
    from headroles.shards.work import Facts, Receipt
    from headroles.storage.places import Place

Settle = Callable[[tuple[Rule, ...], Mapping[str, int]], tuple[Rule, ...]]
"""Function from rules and counts of inputs to the rules that decide."""


class Looks:
    """Looks at all heads of a run after each of its shards, in the order of the shards.

    Each look judges all scores up to there by the rules of the run, as if the run ended there. Nothing is
    kept of earlier looks but their scores: evidence counts at the moment of the look, and never its largest
    value so far, by which a false discovery rate would not hold.
    """

    def __init__(
        self,
        options: LabelOptions,
        rules: tuple[Rule, ...],
        settle: Settle,
        facts: Facts,
        survey: Survey,
        place: Place,
        watch: Watch,
    ) -> None:
        """Start before the first shard.

        Args:
            options: Of the run.
            rules: One per column.
            settle: Gives the rules that decide, from the counts of the inputs that were read.
            facts: Facts of the workers.
            survey: Of all inputs.
            place: Where the shards are.
            watch: Called with every look.
        """
        self._options, self._rules, self._settle, self._watch = options, rules, settle, watch
        self._facts, self._survey, self._place = facts, survey, place
        self._names = tuple(rule.sieve for rule in rules)
        self._scores = Growing(len(rules), survey.seen, facts.layers, facts.heads)
        self._number = 0

    def __call__(self, receipt: Receipt, tally: Receipts) -> Look:
        """Judge all heads by the scores up to a shard.

        Args:
            receipt: Of the shard.
            tally: Receipts of all shards up to it.
        """
        from headroles.shards.receipts import read_shard, with_score_bounds
        from headroles.stats.engine import judge

        self._number += 1
        self._scores.add(read_shard(self._place, receipt, self._names, self._facts))
        scores = self._scores.scores(self._names)
        settled = self._settle(self._rules, tally.counts)
        rules = with_score_bounds(settled, tally.low, tally.high, scores.null, self._facts.known.scorers)
        findings = judge(scores, rules, self._options.decision, intervals=False)
        places = [place for place, rule in enumerate(rules) if rule.role]
        last = len(scores.examples) == self._survey.count
        changed = [rules[place].contrast != self._rules[place].contrast for place in places]
        look = Look(
            number=self._number,
            units=len(set(scores.units)),
            examples=len(scores.examples),
            all_units=len(self._survey.places),
            all_examples=len(self._survey.units or ()),
            roles=tuple(self._names[place] for place in places),
            decision=findings.decision[places],
            open=open_heads(findings, places, scores, () if last else changed, last),
            enough=self._options.decided,
            stack=self._facts.stack,
        )
        self._watch(look)
        return look


class Growing:
    """Scores that grow by whole shards, in arrays with room for those of all inputs."""

    def __init__(self, columns: int, examples: int, layers: int, heads: int) -> None:
        """Reserve room; memory is taken when it is filled.

        Args:
            columns: Number of columns.
            examples: Number of all inputs.
            layers: Number of layers.
            heads: Number of heads in a layer.
        """
        self._values = np.empty((columns, examples, layers, heads), dtype=np.float32)
        self._cells, self._null = np.empty((columns, examples)), np.empty((columns, examples))
        self._tokens = np.empty(examples, dtype=np.int64)
        self._examples: list[str] = []
        self._units: list[str] = []

    def add(self, shard: Scores) -> None:
        """Add the scores of the inputs that follow."""
        here = slice(len(self._examples), len(self._examples) + len(shard.examples))
        self._values[:, here], self._cells[:, here] = shard.values, shard.cells
        self._null[:, here], self._tokens[here] = shard.null, shard.tokens
        self._examples += shard.examples
        self._units += shard.units

    def scores(self, names: tuple[str, ...]) -> Scores:
        """Return the scores so far, as views.

        Args:
            names: The columns.
        """
        count = len(self._examples)
        return Scores(
            sieves=names,
            examples=tuple(self._examples),
            units=tuple(self._units),
            tokens=self._tokens[:count],
            cells=self._cells[:, :count],
            values=self._values[:, :count],
            null=self._null[:, :count],
        )


def open_heads(
    findings: Findings, places: Sequence[int], scores: Scores, changed: Sequence[bool], last: bool
) -> Bool[np.ndarray, "roles layers heads"]:
    """Return which heads further inputs may still decide.

    Open are heads that are undetermined. Before the last input, these are open, too: heads of a role whose
    contrast still lacks inputs; and untestable heads of a column with a value in fewer than
    ``ENOUGH_FOR_NOT`` units, unless it has none at all in as many units. (Such a column does not apply to
    these inputs, or hardly ever.)

    Args:
        findings: Of the scores so far.
        places: Places of the roles among the columns.
        scores: The scores so far.
        changed: Whether another contrast than that of the run decides about each role; empty for none.
        last: Whether all inputs were read.
    """
    undecided: np.ndarray = findings.decision[places] == UNDETERMINED
    if last:
        return undecided
    units = len(set(scores.units))
    for row, place in enumerate(places):
        spoke = scores.count_units(place)
        silent = spoke == 0 and units >= ENOUGH_FOR_NOT
        if not silent and spoke < ENOUGH_FOR_NOT:
            undecided[row] |= findings.decision[place] == UNTESTABLE
        if changed and changed[row] and spoke:
            undecided[row] = True
    return undecided
