"""The run of ablations that a pruning starts from: its inputs, and its units in two halves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput
from headroles.extraction.texts.sources import draw_indices, fingerprint
from headroles.inputs.identity import Identity
from headroles.inputs.units import half_of_units
from headroles.kinds import kind_named
from headroles.options.causal.ablate import AblateOptions
from headroles.pruning.checks import check_enough, read_run_manifest
from headroles.records.causal.columns import ACCURACY, LOSS, MEAN, SCREEN, Column, main_arm, parse_column
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.passage import Passage
from headroles.stats.columns import mean_over_units


@dataclass(frozen=True, slots=True, eq=False)
class PruneSource:
    """What a pruning takes from a run of ablations.

    Attributes:
        run: The run.
        options: Its options.
        outcome: What damage is measured on.
        arm: Column that orders the heads.
        passages: Inputs of the run, in the order of its scores.
        ordering: Whether each input is of a unit that orders heads, or that chose heads in a run with a
            screen; the others test them.
        order: Layer and head of every head, those of the smallest damage first.
        single: Mean damage of each head alone over the units that order; NaN where it was not measured.
        seen: Hashes of all inputs of the run (``seen_marks``).
    """

    run: Labelling
    options: AblateOptions
    outcome: str
    arm: str
    passages: Sequence[Passage]
    ordering: Bool[np.ndarray, " inputs"]
    order: Int[np.ndarray, "ordered 2"]
    single: Float[np.ndarray, "layers heads"]
    seen: frozenset[str]

    @property
    def testing(self) -> list[int]:
        """Places of the inputs that test sets of heads."""
        return np.flatnonzero(~self.ordering).tolist()

    @property
    def facts(self) -> dict[str, Any]:
        """Return the inputs and units of both halves, in JSON types."""
        units = self.run.scores.units
        ordered = {unit for unit, chosen in zip(units, self.ordering, strict=True) if chosen}
        testing = [self.passages[place] for place in self.testing]
        return {
            "source": dict(self.run.manifest.get("source") or {})
            | {"tested": len(testing), "sha256": fingerprint(testing)},
            "units": {"ordered": len(ordered), "tested": len({*units} - ordered)},
        }

    def references(self, seed: int) -> list[Passage]:
        """Return inputs of the ordering half from which mean outputs are taken, drawn by the seed."""
        places = np.flatnonzero(self.ordering)
        drawn = draw_indices(len(places), min(self.options.references, len(places)), seed)
        return [self.passages[place] for place in places[drawn].tolist()]


def run_options(folder: str) -> AblateOptions:
    """Return the options of the run of ablations in a folder, from its manifest alone.

    Raises:
        BadInput: As ``checks.read_run_manifest``.
    """
    options = kind_named("ablate").options(read_run_manifest(folder)["settings"])
    assert isinstance(options, AblateOptions)
    return options


def choose_arm(columns: Sequence[str], outcome: str | None) -> tuple[str, str]:
    """Return what damage is measured on, and the column that orders heads.

    Args:
        columns: Columns of the run.
        outcome: The outcome that was asked for; None for that of the run's main column.

    Example:
        >>> choose_arm(["loss:clean", "loss:mean", "loss:zero", "norm"], None)
        ('loss', 'loss:mean')
        >>> choose_arm(["representation:mean", "tokens:mean", "norm"], "tokens")
        ('tokens', 'tokens:mean')
        >>> choose_arm(["loss:clean", "loss:mean", "norm"], "accuracy")
        ('accuracy', 'loss:mean')
    """
    main = main_arm(columns)
    if outcome is None:
        return parse_column(main).outcome, main
    own = LOSS if outcome == ACCURACY else outcome
    arms = [name for name in columns if parse_column(name).arm and parse_column(name).outcome == own]
    mean = Column(own, MEAN).name
    return outcome, mean if mean in arms else next(iter(arms), main)


def screening_units(scores: Scores, arm: str) -> Bool[np.ndarray, " inputs"]:
    """Return whether each input is of a unit without any damage, in a run with a screen; else False.

    A screen chooses heads by damage to first order on units that measure no damage afterwards. Heads that it
    leaves out are removed first. So these units have a part in the order, and test no set.

    Args:
        scores: Of the run.
        arm: Column of the damage.
    """
    none = np.zeros(len(scores.units), dtype=np.bool_)
    if not any(parse_column(name).what == SCREEN for name in scores.sieves):
        return none
    missing = np.isnan(scores.values[scores.sieves.index(arm)]).all(axis=(1, 2))
    measured = {unit for unit, gone in zip(scores.units, missing, strict=True) if not gone}
    return np.array([unit not in measured for unit in scores.units], dtype=np.bool_)


def order_heads(
    run: Labelling, arm: str, ordering: Bool[np.ndarray, " inputs"]
) -> tuple[Int[np.ndarray, "ordered 2"], Float[np.ndarray, "layers heads"]]:
    """Return all heads by their mean damage over the ordering units, smallest first, and that damage.

    Heads that a screen left out had the smallest damage to first order. So they come first, by that damage.

    Args:
        run: The run.
        arm: Column of the damage.
        ordering: Inputs whose units order heads.
    """
    scores = run.scores
    units = [unit for unit, chosen in zip(scores.units, ordering, strict=True) if chosen]
    single = mean_over_units(scores.values[scores.sieves.index(arm)][ordering], units)
    screen, first_order = Column(parse_column(arm).outcome, SCREEN).name, np.zeros_like(single)
    if screen in scores.sieves:
        first_order = mean_over_units(scores.values[scores.sieves.index(screen)][ordering], units)
    known = ~np.isnan(single).ravel()
    key = np.where(known, single.ravel(), first_order.ravel())
    ranked = np.lexsort((np.arange(key.size), key, known))
    layers, heads = np.unravel_index(ranked, single.shape)
    return np.stack([layers, heads], axis=1).astype(np.int64), single


def read_source(folder: str, outcome: str | None, seed: int) -> PruneSource:
    """Read a run of ablations and its inputs, and order its heads.

    Raises:
        BadInput: When there is no such run, it has too few units, or its inputs are gone or were changed.
    """
    from headroles.shards.survey import count_inputs
    from headroles.storage.run import load

    options, run = run_options(folder), load(folder)
    units = run.scores.units
    chosen, arm = choose_arm(run.scores.sieves, outcome)
    ordering = half_of_units(units, seed, "pruning") | screening_units(run.scores, arm)
    testing = len({unit for unit, chosen in zip(units, ordering, strict=True) if not chosen})
    check_enough(folder, testing, bool(options.screen))
    corpus = kind_named("ablate").read_corpus(options)
    try:
        survey = count_inputs(corpus, options.most_kept, options.streamed)
        by_key = {passage.key: passage for passage in corpus}
        seen = frozenset().union(*(seen_marks(passage, corpus.identity) for passage in by_key.values()))
    finally:
        corpus.close()
    stated = (run.manifest.get("source") or {}).get("sha256")
    if survey.sha256 != stated or not {*run.scores.examples} <= by_key.keys():
        raise BadInput(
            f"pruning tests heads on the inputs of the run, but those of '{folder}' were changed since; "
            "make the run again"
        )
    order, single = order_heads(run, arm, ordering)
    passages = [by_key[key] for key in run.scores.examples]
    return PruneSource(run, options, chosen, arm, passages, ordering, order, single, seen)


def seen_marks(passage: Passage, identity: Identity) -> set[str]:
    """Return hashes of an input's texts, tokens and group, by which inputs that were used are known again."""
    return {digits for hashes in identity.marks(passage).values() for digits in hashes}


def default_sizes(heads: int, most: int) -> tuple[int, ...]:
    """Return numbers of heads to remove, evenly spread up to all but one.

    Example:
        >>> default_sizes(6, 36), default_sizes(72, 4)
        ((1, 2, 3, 4, 5), (18, 36, 53, 71))
    """
    last = heads - 1
    spread = np.linspace(last / min(most, last), last, min(most, last)).round()
    return tuple(sorted({int(size) for size in spread}))


def check_sizes(sizes: Sequence[int], heads: int) -> None:
    """Refuse more heads than the model has.

    Raises:
        BadInput: When a size is larger.
    """
    if sizes and sizes[-1] > heads:
        raise BadInput(
            f"--sizes are at most the {heads} heads of the model, but got {sizes[-1]}; leave it out"
        )
