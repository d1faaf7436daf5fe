"""The job of a run of sieves: annotated and laid out beside the model, scored as attention passes by."""

from collections.abc import Sequence

import numpy as np

from headroles.extraction.capture.cross import foreseen
from headroles.extraction.capture.readers import shown_of
from headroles.extraction.model.load import Model
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.lexicon import Lexicon
from headroles.extraction.scoring.prepared import Columns, Prepared, long_planned, together_of
from headroles.extraction.scoring.reader import Reader, Shard, Table
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.plans.masks import Band


class Sieving:
    """The job of scoring every head on every example by sieves."""

    def __init__(
        self, model: Model, sieves: Columns, annotator: Annotator | None, lexicon: Lexicon | None = None
    ) -> None:
        """Take a model, the sieves, what gives words and trees, and what knows of words (or None)."""
        self._model, self._sieves = model, sieves
        self._annotator, self._lexicon = annotator, lexicon

    def table(self, tokenised: Sequence[Tokenised]) -> Table:
        """Empty scores of a shard, whose texts may from now on be parsed ahead of the model."""
        if self._annotator is not None:
            self._annotator.expect(each.passage for each in tokenised)
        return Table(self._sieves, tokenised, self._model)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Annotate a batch and lay the sieves over it."""
        chosen = [tokenised[place] for place in places]
        passages = [each.passage for each in chosen]
        words = self._annotator.words(passages) if self._annotator else [None] * len(chosen)
        arcs = "arcs" in self._sieves.needs
        batch = []
        for place, each, own in zip(places, chosen, words, strict=True):
            known = self._lexicon.lexical(each, own) if self._lexicon else None
            batch.append(Prepared(int(place), each, example_of(each, own, arcs, known)))
        self._lay(batch)
        return batch

    def _lay(self, batch: list[Prepared]) -> None:
        """Lay the sieves over a batch by what is known beforehand of the keys that its queries will see."""
        causal = self._model.way.causal
        together = together_of(self._model, self._sieves, batch)
        if together is not None:
            seen = [foreseen(each.tokenised, causal) for each in batch]
            together.plans(seen, max(each.tokenised.size for each in batch))
        for prepared in batch:
            each, prepared.together = prepared.tokenised, together
            if together is None:
                later = causal and each.stack is None and each.size > 1
                shown = Band(1 - each.size, 0, each.size) if later else shown_of(foreseen(each, causal))
                long_planned(prepared, self._sieves, shown)

    def reader(self, batch: list[Prepared], table: Table) -> Reader:
        """What scores the batch as its attention passes by."""
        return Reader(self._model, batch, table)

    def result(self, table: Table) -> Shard:
        """The finished scores."""
        return table.shard()
