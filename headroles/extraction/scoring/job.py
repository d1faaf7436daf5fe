"""The job of scoring by sieves: inputs are annotated before the model, and scored as attention passes by."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from headroles.extraction.capture.cross import expected_visible
from headroles.extraction.capture.readers import to_visible_mask
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.cleaned import clean_passage, look_up_words
from headroles.extraction.parsing.lexicon import Lexicon
from headroles.extraction.scoring.pairing import Partners, find_partners
from headroles.extraction.scoring.prepared import Prepared, SieveColumns, batch_plans_of, long_plan_of
from headroles.extraction.scoring.reader import Reader, Shard, Table
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised, example_of, parsed_part
from headroles.plans.masks import Band
from headroles.records.passage import Passage


class SieveJob:
    """The job of scoring every head on every example by sieves."""

    def __init__(
        self,
        model: AttentionSource,
        sieves: SieveColumns,
        annotator: Annotator | None,
        lexicon: Lexicon | None = None,
        units: Sequence[str] = (),
        members: Sequence[int] = (),
    ) -> None:
        """Keep what scores the inputs, and what pairs them.

        Args:
            model: The model, or stored maps.
            sieves: The sieves.
            annotator: Provides words and trees; None when no sieve reads them.
            lexicon: Provides lemmas, vectors and frequencies; None when no sieve reads them.
            units: Unit of each input of a shard; without units no input gets a partner, and every input is a
                unit of its own. A job with units does one shard.
            members: As ``find_partners`` takes them.
        """
        self._model, self._sieves = model, sieves
        self._annotator, self._lexicon = annotator, lexicon
        self._units, self._members = units, members
        self._partners: Partners | None = None

    def table(self, tokenised: Sequence[Tokenised]) -> Table:
        """Return the empty scores of a shard; its texts may be parsed ahead of the model from now on."""
        if self._annotator is not None:
            passages = [parsed_part(given) for given in tokenised]
            self._annotator.expect([*passages, *self._cleaned(passages).values()], final=True)
        if self._units and self._sieves.layout.swaps:
            self._partners = find_partners(tokenised, self._units, self._members)
        return Table(self._sieves, tokenised, self._model, self._units)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Annotate a batch and lay the sieves over it."""
        batch = self.annotate(tokenised, places)
        self._lay(batch, self._sieves)
        if self._sieves.by_norms is not None:
            self._lay([prepared.second() for prepared in batch], self._sieves.by_norms)
        return batch

    def annotate(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Prepared]:
        """Return a batch with the annotation that the sieves read."""
        inputs = [tokenised[place] for place in places]
        passages = [parsed_part(given) for given in inputs]
        words = self._annotator.words(passages) if self._annotator else [None] * len(inputs)
        arcs = "arcs" in self._sieves.needs
        batch = []
        for place, given, own_words in zip(places, inputs, words, strict=True):
            lexical = self._lexicon.lexical(given, own_words) if self._lexicon else None
            example = example_of(given, own_words, arcs, lexical)
            partner = None if self._partners is None else self._partners.of(place)
            if partner is not None:
                example = replace(example, partner=example_of(tokenised[partner], None, arcs=False))
            batch.append(Prepared(int(place), given, example))
        self._look_up(batch, self._cleaned(passages))
        return batch

    def _cleaned(self, passages: Iterable[Passage]) -> dict[int, Passage]:
        """Return the cleaned passages by place, where a sieve looks words up in them."""
        if not self._sieves.cleaned:
            return {}
        cleaned = enumerate(map(clean_passage, passages))
        return {place: passage for place, passage in cleaned if passage is not None}

    def _look_up(self, batch: list[Prepared], cleaned: dict[int, Passage]) -> None:
        """Look the words of cleaned passages up, and add them to their examples."""
        if self._annotator is None or not cleaned:
            return
        words = self._annotator.words([*cleaned.values()])
        for (place, passage), own_words in zip(cleaned.items(), words, strict=True):
            found = look_up_words(self._model.tokenizer, passage, own_words)
            batch[place].example = replace(batch[place].example, cleaned=found)

    def _lay(self, batch: list[Prepared], sieves: SieveColumns) -> None:
        """Lay sieves over a batch, for the keys that its queries are expected to see."""
        causal = self._model.way.causal
        together = batch_plans_of(self._model, sieves, batch)
        if together is not None:
            visible = [expected_visible(prepared.tokenised, causal) for prepared in batch]
            together.plans(visible, max(prepared.tokenised.size for prepared in batch))
        pairs = sieves.word_pairs_of([prepared.example for prepared in batch])
        for prepared, own in zip(batch, pairs, strict=True):
            given, prepared.together, prepared.word_pairs = prepared.tokenised, together, own
            if together is None:
                earlier_only = causal and given.stack is None and given.size > 1
                band = Band(1 - given.size, 0, given.size) if earlier_only else None
                shown = band or to_visible_mask(expected_visible(given, causal))
                long_plan_of(prepared, sieves, shown)

    def reader(self, batch: list[Prepared], table: Table) -> Reader:
        """Return the reader that scores the batch as its attention passes by."""
        return Reader(self._model, batch, table)

    def result(self, table: Table) -> Shard:
        """Return the finished scores, with one value for each pair of partners in the columns of swaps."""
        table.leave_out()
        if self._partners is not None:
            table.merge_partners(self._partners)
        return table.shard()
