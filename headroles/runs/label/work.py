"""Score shards by sieves, with the model, parser and vectors loaded once."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from headroles.extraction.capture.cross import expected_visible
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import Job, stream_tokenised
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.inputs.annotation import AnnotatedSieves, load_annotation
from headroles.inputs.corpora import Corpus
from headroles.maps.stored import annotate_maps
from headroles.options.label import Options
from headroles.progress import PARSE, Advance
from headroles.records.passage import Passage
from headroles.records.rules.rule import Rule
from headroles.runs.label.sieves import selection_of_run
from headroles.runs.sources import MapsCorpus, longest_input, norms_of, open_source
from headroles.shards.engines import has_idle_processor
from headroles.shards.identity import sieves_digest
from headroles.shards.work import Known, ShardResult, Task
from headroles.shards.worker import result_of
from headroles.sieves.weights.cells import count_cells


class SieveWork:
    """Scores shards by the sieves of a run."""

    def __init__(self, options: Options, corpus: Corpus) -> None:
        """Load the model, and what the sieves read besides tokens.

        Args:
            options: Of the run.
            corpus: Its inputs.

        Raises:
            BadInput: When model, parser, vectors or stored maps cannot be used, or a sieve lacks its
                annotation.
        """
        self.options = options
        kind = getattr(options, "kind", None)
        selection = selection_of_run(options)
        norms = norms_of(options.weights, some=selection.by_norms is not None)
        if isinstance(corpus, MapsCorpus):
            self.source: AttentionSource = corpus.maps
            self.sieves = annotate_maps(options, selection, corpus.maps)
        else:
            annotation = load_annotation(options, selection, corpus)
            path = getattr(options, "path", "rows")
            self.source = open_source(options, corpus, options.max_length, kind, norms, path)
            self.sieves = annotation.counted(self.source.tokenizer, corpus, options.max_length)
        self.rules: Sequence[Rule] = self.sieves.selection.rules(options.margin)
        self.known = _known(self.sieves, longest_input(self.source, options.max_length))
        self.batch_size = options.batch_size

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Score the inputs of a shard."""
        shard = self.score(task, self.tokenise(task.passages), advance)
        return result_of(shard, task, self.rules, counts=shard.counts)

    def score(self, task: Task, tokenised: Sequence[Tokenised], advance: Advance) -> Shard:
        """Score the tokenised inputs of a shard."""
        scores: Shard = self.stream(tokenised, self.job(task), advance)
        return scores

    def tokenise(self, passages: Sequence[Passage]) -> list[Tokenised]:
        """Return the pieces of inputs, which are cut to the longest length."""
        return tokenise(self.source.tokenizer, passages, self.options.max_length)

    def job(self, task: Task) -> SieveJob:
        """Return the job of scoring a shard."""
        return self.sieves.sieving(self.source, task.units, task.members)

    def stream(self, tokenised: Sequence[Tokenised], job: Job[Any, Any, Any], advance: Advance) -> Any:
        """Hand the attention over the inputs of a shard to a job, and return its result."""
        shards = stream_tokenised(
            self.source,
            iter([tokenised]),
            job,
            batch_size=self.batch_size,
            advance=advance,
            prepared=partial(advance, phase=PARSE),
            ahead=has_idle_processor(self.options),
        )
        (result,) = shards
        return result

    def count_cells(
        self, passages: Sequence[Passage], sieves: Sequence[Sequence[str]]
    ) -> list[dict[str, np.ndarray]]:
        """Return the (queries, keys) cells, bool, that the named sieves count on each input.

        Sieves that compute from attention count no cells and are left out.
        """
        masks = {sieve.name: sieve for sieve in self.sieves.selection.masks}
        tokenised = self.tokenise(passages)
        batch = self.sieves.sieving(self.source).annotate(tokenised, np.arange(len(tokenised)))
        visible = [expected_visible(given, self.source.way.causal) for given in tokenised]
        return [
            {
                name: count_cells(masks[name], prepared.example, seen).counted
                for name in names
                if name in masks
            }
            for names, prepared, seen in zip(sieves, batch, visible, strict=True)
        ]

    def expect(self, task: Task) -> None:
        """Announce a later shard, so that parser processes can parse its texts ahead."""
        if self.sieves.annotator is not None:
            self.sieves.annotator.expect(task.passages)

    def close(self) -> None:
        """Stop the parser processes and close the cache of parses."""
        if self.sieves.annotator is not None:
            self.sieves.annotator.close()


def _known(sieves: AnnotatedSieves, longest: int) -> Known:
    """Return the facts about sieves and annotation, and the length of the longest possible input."""
    return Known(
        parser=sieves.parser,
        vectors=sieves.vectors,
        omitted=(*sieves.omitted, *sieves.notes),
        scorers=len(sieves.selection.scorers),
        components={
            "parser": sieves.parser,
            "vectors": sieves.vectors,
            "sieves": sieves_digest(sieves.selection.sieves),
            "frequencies": _frequencies_digest(sieves.lexicon.frequency),
        },
        noted={"longest": longest},
    )


def _frequencies_digest(counts: Mapping[str, int] | None) -> str | None:
    """Return the SHA-256 over the counts of tokens in all inputs; None where no sieve needs them."""
    return None if counts is None else sha256(json.dumps(sorted(counts.items())).encode()).hexdigest()
