"""Remove directions from the queries of heads, and score heads again on units that measured nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from headroles.extraction.model.load import Model
from headroles.extraction.model.machine import use_threads
from headroles.extraction.texts.tokens import tokenise
from headroles.extraction.why.again import score_again
from headroles.inputs.corpora import Corpus
from headroles.options.causal.why import WhyOptions
from headroles.progress import Progress, progress_counter
from headroles.records.causal.origins import Knocked, Origins, Products, Removal
from headroles.records.findings import Labelling
from headroles.runs.held.labels import stored_roles
from headroles.runs.held.role_cells import RoleCells, asking_options
from headroles.runs.sources import open_source
from headroles.runs.why.groups import cut_into_groups
from headroles.runs.why.judging import with_knock_outs
from headroles.shards.engines import threads_per_worker
from headroles.stats.columns import unit_numbers
from headroles.stats.moments import unit_means

if TYPE_CHECKING:
    from headroles.extraction.scoring.reader import Shard
    from headroles.records.passage import Passage
    from headroles.shards.work import Engine

Head = tuple[int, int]
"""Layer and head."""


@dataclass(frozen=True, slots=True)
class Row:
    """A score that is taken before and after a removal.

    Attributes:
        removal: Place of the removal.
        scored: Role whose score is taken.
    """

    removal: int
    scored: str


def knock_out(
    options: WhyOptions, judged: Labelling, corpus: Corpus, engine: Engine, progress: Progress
) -> tuple[Labelling, list[str]]:
    """Return a labelling with scores after removals, and notes about them.

    Args:
        options: Of the run.
        judged: The labelling, with the tests of products.
        corpus: The inputs.
        engine: Has the model where it is in this process.
        progress: Called with the inputs done and their total.

    Raises:
        HeadrolesError: When the model cannot be used, or an input cannot be scored.
    """
    from headroles.stats.why.knockouts import removals_of

    origins = judged.origins
    assert origins is not None, "a run of this kind has them"
    scores = judged.scores
    removals = removals_of(origins.products, origins.origins, origins.dimensions)
    groups = cut_into_groups(origins.held, scores.units, scores.examples, options.seed)
    wanted = {scores.examples[place] for place in np.flatnonzero(groups.knocked).tolist()}
    if not removals:
        asked = bool(origins.products.roles)
        return judged, ["Nothing was found that could be removed from queries."] if asked else []
    if not wanted:
        return judged, ["No unit is left for scores after removals; give more inputs."]
    passages = [passage for passage in corpus if passage.key in wanted]
    units = dict(zip(scores.examples, scores.units, strict=True))
    with use_threads(threads_per_worker(options)):
        model = engine.source
        if model is None:
            model = open_source(options, corpus, options.max_length, options.kind)
        assert isinstance(model, Model), "options refuse stored maps"
        scorer = _Scorer(options, origins, removals, model, corpus)
        with closing(scorer):
            knocked = scorer.score(passages, units, progress_counter(progress, len(passages)))
    return replace(judged, origins=with_knock_outs(origins, knocked, judged.decision)), []


def rows_of(origins: Origins, removals: Sequence[Removal], names: Sequence[str]) -> list[Row]:
    """Return the scores that are taken: for each removal that of its role, then the head's other roles.

    Args:
        origins: Has the roles.
        removals: What is removed.
        names: Roles that can be scored.
    """
    held, products = origins.held, origins.products
    rows: list[Row] = []
    for number, removal in enumerate(removals):
        own = products.roles[removal.family]
        layer, head = int(products.layers[removal.family]), int(products.heads[removal.family])
        others = [role for role in names if role != own and held.heads(role)[layer, head]]
        rows += [Row(number, role) for role in (own, *others)]
    return rows


def rounds_of(
    removals: Sequence[Removal], products: Products
) -> tuple[list[dict[Head, Float[np.ndarray, "size removed"]]], list[int]]:
    """Return removals in as few rounds as possible, each with at most one for a head.

    Args:
        removals: What is removed.
        products: Have the head of each family.

    Returns:
        Directions by head for each round, and the round of each removal.
    """
    rounds: list[dict[Head, Float[np.ndarray, "size removed"]]] = []
    places: list[int] = []
    for removal in removals:
        head = int(products.layers[removal.family]), int(products.heads[removal.family])
        place = sum(head in own for own in rounds)  # rounds are filled from the first on
        if place == len(rounds):
            rounds.append({})
        rounds[place][head] = removal.basis
        places.append(place)
    return rounds, places


class _Scorer:
    """Scores heads before and after removals by the sieves of the label run."""

    def __init__(
        self,
        options: WhyOptions,
        origins: Origins,
        removals: Sequence[Removal],
        model: Model,
        corpus: Corpus,
    ) -> None:
        """Load the annotation that the scored roles read.

        Args:
            options: Of the run.
            origins: Tests of the products.
            removals: What is removed.
            model: The model.
            corpus: The inputs of the run.
        """
        roles = stored_roles(options)
        assert roles is not None, "a run of this kind names a label run"
        products = origins.products
        names = dict.fromkeys(products.roles)
        asking = asking_options(options, roles.options.settings())
        self._options, self._products, self._removals, self._model = options, products, removals, model
        self._cells = RoleCells(asking, names, model, corpus)
        self._rows = rows_of(origins, removals, self._cells.names)
        self._rounds, self._places = rounds_of(removals, products)
        self._threshold = {rule.sieve: rule.threshold for rule in roles.rules}

    def close(self) -> None:
        """Stop the parser processes."""
        self._cells.close()

    def score(
        self, passages: Sequence[Passage], units: Mapping[str, str], advance: Callable[[int], None]
    ) -> Knocked:
        """Return the scores of all rows before and after their removals.

        Args:
            passages: The inputs.
            units: Unit of each input of the run, by its key.
            advance: Called with the number of inputs done since the last call.
        """
        before: list[np.ndarray] = []
        after: list[np.ndarray] = []
        members = Counter(units.values())
        size = self._options.shard_size
        for start in range(0, len(passages), size):
            some = passages[start : start + size]
            names = [units[passage.key] for passage in some]
            job = self._cells.job(names, [members[name] for name in names])
            plain = tokenise(self._model.tokenizer, some, self._options.max_length)
            clean, *removed = score_again(self._model, job, plain, self._rounds, advance)
            before.append(self._values([clean] * len(self._rounds)))
            after.append(self._values(removed))
        own = [units[passage.key] for passage in passages]
        numbers = unit_numbers(own)
        families = [self._removals[row.removal].family for row in self._rows]
        return Knocked(
            by=tuple(self._removals[row.removal].by for row in self._rows),
            family=np.array(families, dtype=np.int64),
            size=np.array([self._removals[row.removal].basis.shape[1] for row in self._rows], dtype=np.int64),
            scored=tuple(row.scored for row in self._rows),
            units=tuple(dict.fromkeys(own)),
            before=unit_means(np.concatenate(before), numbers).T,
            after=unit_means(np.concatenate(after), numbers).T,
            threshold=np.array([self._threshold[row.scored] for row in self._rows], dtype=np.float64),
        )

    def _values(self, shards: Sequence[Shard]) -> Float[np.ndarray, "inputs rows"]:
        """Return the score of each row on each input, from the shard of the round of its removal."""
        columns, products = self._cells.columns, self._products
        values = []
        for row in self._rows:
            family = self._removals[row.removal].family
            shard = shards[self._places[row.removal]]
            layer, head = int(products.layers[family]), int(products.heads[family])
            values.append(shard.values[columns.index(row.scored), :, layer, head])
        stacked: np.ndarray = np.stack(values, axis=1).astype(np.float64)
        return stacked
