"""The cells of attention of the roles of a label run, on the inputs of another run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from headroles.extraction.capture.cross import expected_visible
from headroles.extraction.model.load import Model
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.texts.tokens import Tokenised
from headroles.inputs.annotation import AnnotatedSieves, load_annotation
from headroles.inputs.corpora import Corpus
from headroles.options.inputs import InputOptions
from headroles.options.label import LabelOptions
from headroles.options.values import stored_settings
from headroles.records.passage import Passage
from headroles.runs.label.sieves import selection_of_run
from headroles.shards.identity import sieves_digest
from headroles.sieves.weights.cells import counted_cells

QUESTIONS = ("sieve", "statistic", "preset", "parser", "vectors")
"""Settings of a label run that define its roles."""
INPUTS = ("task", "source", "data", "text_a", "text_b", "group", "max_length", "kind", "stream", "limit",
          "first", "seed", "model", "revision", "workers", "engine", "address", "gpus")  # fmt: skip
"""Options of the other run that also decide how its inputs are annotated."""
Cells = Mapping[str, Bool[np.ndarray, "tokens tokens"]]


def asking_options(options: InputOptions, settings: Mapping[str, Any]) -> LabelOptions:
    """Return the options of a label run with the roles of a stored one, on other inputs.

    Args:
        options: Options of the run that asks, which has the inputs.
        settings: Settings of the stored label run.
    """
    stored = stored_settings(settings)
    asked = {name: stored[name] for name in QUESTIONS if stored.get(name) is not None}
    if isinstance(asked.get("sieve"), list):
        asked["sieve"] = tuple(asked["sieve"])
    return LabelOptions(**asked, **{name: getattr(options, name) for name in INPUTS}, maps=0)


class RoleCells:
    """Finds the cells of roles on inputs, with the annotation that they read.

    Attributes:
        names: The roles whose cells can be counted.
        omitted: Why others cannot, one sentence each.
    """

    def __init__(self, options: LabelOptions, roles: Collection[str], model: Model, corpus: Corpus) -> None:
        """Load the annotation that the sieves of the roles read.

        Args:
            options: Options of the label run, with the inputs of the run that asks.
            roles: The roles.
            model: The model, which makes the tokens.
            corpus: The inputs of the run that asks.

        Raises:
            HeadrolesError: When a sieve no longer exists, or lacks its annotation.
        """
        selection = selection_of_run(options)
        masks = tuple(sieve for sieve in selection.masks if sieve.name in roles)
        self._model = model
        self._sieves: AnnotatedSieves | None = None
        self.names: tuple[str, ...] = ()
        self.omitted: tuple[str, ...] = tuple(
            f"{role} is computed from attention, so its cells cannot be counted."
            for role in roles
            if role not in {sieve.name for sieve in masks}
        )
        if masks:
            loaded = load_annotation(options, replace(selection, sieves=masks), corpus)
            self._sieves = loaded.counted(model.tokenizer, corpus, options.max_length)
            self.names = tuple(sieve.name for sieve in self._sieves.selection.masks)
            self.omitted += (*self._sieves.omitted, *self._sieves.notes)

    @property
    def parser(self) -> dict[str, str] | None:
        """Return facts about the parser; None where none is used."""
        return None if self._sieves is None else self._sieves.parser

    @property
    def vectors(self) -> dict[str, Any] | None:
        """Return facts about word vectors; None where none are used."""
        return None if self._sieves is None else self._sieves.vectors

    @property
    def components(self) -> dict[str, Any]:
        """Return the parts of the identity of a run that follow from the sieves."""
        sieves = self._sieves
        if sieves is None:
            return {"parser": None, "vectors": None, "sieves": {}}
        return {
            "parser": sieves.parser,
            "vectors": sieves.vectors,
            "sieves": sieves_digest(sieves.selection.sieves),
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the scores that ``job`` gives."""
        return () if self._sieves is None else tuple(rule.sieve for rule in self._sieves.selection.rules())

    def job(self, units: Sequence[str], members: Sequence[int]) -> SieveJob:
        """Return the job of scoring heads by the sieves of the roles.

        Args:
            units: Unit of each input.
            members: Number of inputs of each one's unit in the whole run.
        """
        assert self._sieves is not None, "scores are those of some roles"
        return self._sieves.sieving(self._model, units, members)

    def of(self, inputs: Sequence[Tokenised]) -> list[Cells]:
        """Return the cells of every role on some inputs, by the name of the role."""
        if self._sieves is None:
            return [{} for _ in inputs]
        batch = self._sieves.sieving(self._model).annotate(inputs, np.arange(len(inputs)))
        return [
            {
                sieve.name: counted_cells(
                    sieve, prepared.example, expected_visible(prepared.tokenised, self._model.way.causal)
                )
                for sieve in self._sieves.selection.masks
            }
            for prepared in batch
        ]

    def expect(self, passages: Sequence[Passage]) -> None:
        """Announce the passages of a later shard, so that parser processes can parse them ahead."""
        if self._sieves is not None and self._sieves.annotator is not None:
            self._sieves.annotator.expect(passages)

    def close(self) -> None:
        """Stop the parser processes, and close the cache of parses."""
        if self._sieves is not None and self._sieves.annotator is not None:
            self._sieves.annotator.close()
