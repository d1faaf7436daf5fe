"""Workers: each loads model, sieves and annotation once in its process, and then scores shards."""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from headroles.arrays import selection_of
from headroles.extraction.jobs.keep_maps import KeepMapsJob
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, check_length, load
from headroles.extraction.model.machine import describe_machine, device_name
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream, stream_tokenised
from headroles.extraction.texts.tokens import tokenise
from headroles.inputs.annotation import AnnotatedSieves, load_annotation
from headroles.inputs.corpora import Corpus
from headroles.inputs.passages import read_corpus
from headroles.options.label import LabelOptions
from headroles.records.example import Rule, Scores
from headroles.records.kept_maps import InputMaps
from headroles.records.passage import Passage
from headroles.shards.files import bounds, shard_name, write_shard
from headroles.shards.identity import code, identity_of, library_versions, scoring_settings, sieves_digest
from headroles.shards.moments import shard_contents
from headroles.shards.work import Facts, Order, Receipt, Task
from headroles.storage.places import Place, place_of
from headroles.storage.scores import examples_bytes, part_bytes, part_name


class Worker:
    """Scores shards of one run, in this process or any other."""

    def __init__(self, order: Order, *, place: Place | None = None, corpus: Corpus | None = None) -> None:
        """Load model, sieves and annotation.

        Args:
            order: The instructions of the run.
            place: Where shards are written; None for the place that the order states.
            corpus: The inputs of the run, where they are already open; None to open them from the options.

        Raises:
            BadInput: When model, parser, vectors or inputs cannot be used, or a sieve lacks its annotation.
        """
        options = order.options
        self._order, self._options = order, options
        self._place = place_of(order.place or "") if place is None else place
        selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
        checkpoint = find_checkpoint(options.model, options.revision)
        inputs = read_corpus(options, selection.needs, checkpoint) if corpus is None else corpus
        annotation = load_annotation(options, selection, inputs)
        self._model = load(
            checkpoint,
            device=options.device,
            dtype=options.dtype,
            max_length=options.max_length,
            kind=options.kind,
        )
        check_length(self._model, checkpoint, options.max_length)
        known = annotation.counted(self._model.tokenizer, inputs, options.max_length)
        self._job = known.sieving(self._model)
        self._rules = known.selection.rules(options.margin)
        self._annotator = known.annotator
        self.facts = facts_of(options, self._model, known)

    def score(self, task: Task, advance: Callable[[int], None] | None = None) -> Receipt:
        """Score a shard and write its files, the receipt last.

        Args:
            task: The shard.
            advance: Called with the number of examples done since the last call.

        Returns:
            The receipt as written.
        """
        tokenised = tokenise(self._model.tokenizer, task.passages, self._options.max_length)
        (shard,) = stream_tokenised(
            self._model,
            iter([tokenised]),
            self._job,
            batch_size=self._options.batch_size,
            advance=advance or (lambda count: None),
        )
        receipt = Receipt(
            number=task.number,
            examples=len(shard.examples),
            tokens=int(shard.tokens.sum()),
            truncated=int(shard.truncated.sum()),
            digest=task.digest,
            identity=self.facts.identity,
            files={},
            low=bounds(shard.low),
            high=bounds(shard.high),
        )
        return write_shard(self._place, receipt, self._contents(task, scores_of(shard, task, self._rules)))

    def _contents(self, task: Task, scores: Scores) -> dict[str, bytes]:
        """Return the contents of the files of a shard by name."""
        if not self._order.whole:
            return shard_contents(scores, self._rules, task, self._options)
        return {
            part_name(task.number): part_bytes(scores),
            shard_name(task.number, "parquet"): examples_bytes(scores),
        }

    def expect(self, task: Task) -> None:
        """Announce a later shard, so that parser processes can parse its texts ahead."""
        if self._annotator is not None:
            self._annotator.expect(task.passages)

    def close(self) -> None:
        """Stop the parser processes and close the cache of parses."""
        if self._annotator is not None:
            self._annotator.close()

    def keep(self, passages: Sequence[Passage], asked: Sequence[dict[int, list[int]]]) -> list[InputMaps]:
        """Run some inputs again and keep, for each, the attention maps of the requested heads by layer."""
        return keep_maps_of_inputs(self._model, self._options, passages, asked)


def keep_maps_of_inputs(
    model: Model, options: Any, passages: Sequence[Passage], asked: Sequence[dict[int, list[int]]]
) -> list[InputMaps]:
    """Run some inputs and keep attention maps of heads.

    Args:
        model: The loaded model.
        options: Options of the run, which state batch size and longest input.
        passages: The inputs.
        asked: The requested heads by layer, for each input.

    Returns:
        The maps of each input.
    """
    shards = stream(
        model,
        passages,
        KeepMapsJob(asked),
        batch_size=options.batch_size,
        max_length=options.max_length,
        advance=lambda count: None,  # all inputs of the run have been counted
    )
    return [
        InputMaps(
            kept_input.example(),
            {
                (layer, head): kept_input.weights(layer, head)
                for layer, heads in kept_input.asked.items()
                for head in heads
            },
        )
        for shard in shards
        for kept_input in shard
    ]


def scores_of(shard: Shard, task: Task, rules: Sequence[Rule]) -> Scores:
    """Return the scores of a shard as they are written.

    Args:
        shard: The values read from the model.
        task: The shard, which states keys and units.
        rules: One per column, which state chance values; scorers have one chance value per example.
    """
    null = np.repeat(np.array([[rule.null] for rule in rules]), len(task.passages), axis=1)
    if len(shard.null):
        null[-len(shard.null) :] = shard.null
    return Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=tuple(passage.key for passage in task.passages),
        units=tuple(task.units),
        tokens=shard.tokens,
        cells=shard.cells,
        values=shard.values,
        null=null,
    )


def facts_of(options: LabelOptions, model: Model, known: AnnotatedSieves) -> Facts:
    """Return the facts of a worker; workers that give equal scores have equal identities."""
    config = model.network.config.to_dict()
    config.pop("_name_or_path", None)
    components = {
        "settings": scoring_settings(options.settings()),
        "code": code(),
        "weights": model.described["weights_sha256"],
        "configuration": config,
        "tokenizer": _tokenizer_digest(model.tokenizer),
        "parser": known.parser,
        "vectors": known.vectors,
        "sieves": sieves_digest(known.selection.sieves),
        "versions": library_versions(),
        "device": [device_name(model.device), options.dtype],
        "frequencies": _frequencies_digest(known.lexicon.frequency),
    }
    return Facts(
        layers=model.layers,
        heads=model.heads,
        described=model.described | {"machine": describe_machine()},
        identity=identity_of(components),
        parser=known.parser,
        vectors=known.vectors,
        omitted=(*known.omitted, *known.notes),
        columns=known.selection.columns,
        scorers=len(known.selection.scorers),
        components=components,
    )


def _frequencies_digest(counts: Mapping[str, int] | None) -> str | None:
    """Return the SHA-256 over the counts of tokens in all inputs; None where no sieve needs them."""
    return None if counts is None else sha256(json.dumps(sorted(counts.items())).encode()).hexdigest()


def _tokenizer_digest(tokenizer: Any) -> str:
    """Return the SHA-256 over the description of a tokenizer and its special tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    description = json.loads(backend.to_str()) if backend is not None else {"plain": type(tokenizer).__name__}
    for name in ("truncation", "padding"):  # settings of the last call
        description.pop(name, None)
    special = sorted((str(name), str(value)) for name, value in tokenizer.special_tokens_map.items())
    return sha256(json.dumps([description, special], sort_keys=True).encode()).hexdigest()
