"""Workers: each loads model and annotation once in its process, and then scores shards of any kind of run."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from headroles.extraction.jobs.keep_maps import KeepMapsJob, KeptInput
from headroles.extraction.model.load import Model
from headroles.extraction.model.machine import describe_machine, device_name
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.source import AttentionSource, StoredMaps
from headroles.extraction.stream import stream
from headroles.inputs.corpora import Corpus
from headroles.kinds import kind_named
from headroles.options.run import CommonOptions
from headroles.progress import Advance, ignore_advance
from headroles.records.example import Scores
from headroles.records.kept_maps import InputMaps, WantedMaps
from headroles.records.passage import Passage
from headroles.records.rules.rule import Rule
from headroles.shards.files import bounds, shard_name, write_shard
from headroles.shards.identity import code, identity_of, library_versions, scoring_settings
from headroles.shards.moments import shard_contents
from headroles.shards.work import (
    CountsCells,
    Facts,
    HoldsMaps,
    Order,
    Receipt,
    ShardResult,
    ShardWork,
    Task,
)
from headroles.storage.places import Place, place_of
from headroles.storage.scores import examples_bytes, part_bytes, part_name


class Worker:
    """Scores shards of one run, in this process or any other."""

    def __init__(self, order: Order, *, place: Place | None = None, corpus: Corpus | None = None) -> None:
        """Load model and annotation.

        Args:
            order: The instructions of the run.
            place: Where shards are written; None for the place that the order states.
            corpus: The inputs of the run, where they are already open; None to open them from the options.

        Raises:
            BadInput: When model, parser, vectors or inputs cannot be used, or annotation is missing.
        """
        self._order, self._options = order, order.options
        self._place = place_of(order.place or "") if place is None else place
        kind = kind_named(order.options.KIND)
        self._opened = kind.read_corpus(order.options) if corpus is None else None
        self._work = kind.start_work(order.options, self._opened if corpus is None else corpus)
        self.facts = facts_of(order.options, self._work)

    @property
    def source(self) -> AttentionSource:
        """Return the model, or the stored maps, whose attention is read."""
        return self._work.source

    def score(self, task: Task, advance: Advance = ignore_advance) -> Receipt:
        """Score a shard and write its files, the receipt last.

        Args:
            task: The shard.
            advance: Called with the number of examples scored or parsed since the last call.

        Returns:
            The receipt as written.
        """
        result = self._work.read(task, advance)
        receipt = Receipt(
            number=task.number,
            examples=len(result.scores.examples),
            tokens=int(result.scores.tokens.sum()),
            truncated=result.truncated,
            digest=task.digest,
            identity=self.facts.identity,
            files={},
            low=bounds(result.low),
            high=bounds(result.high),
            counts=dict(result.counts),
        )
        return write_shard(self._place, receipt, self._contents(task, result))

    def _contents(self, task: Task, result: ShardResult) -> dict[str, bytes]:
        """Return the contents of the files of a shard by name."""
        if not self._order.whole:
            return shard_contents(result.scores, self._work.rules, task, self._options)
        return {
            part_name(task.number): part_bytes(result.scores),
            shard_name(task.number, "parquet"): examples_bytes(result.scores),
            **{shard_name(task.number, ending): data for ending, data in result.files.items()},
        }

    def expect(self, task: Task) -> None:
        """Announce a later shard, so that parser processes can parse its texts ahead."""
        self._work.expect(task)

    def close(self) -> None:
        """Stop parser processes, and close what else outlives a shard."""
        self._work.close()
        if self._opened is not None:
            self._opened.close()

    def keep(self, passages: Sequence[Passage], asked: Sequence[WantedMaps]) -> list[InputMaps]:
        """Return the wanted maps and cells of some inputs: held since scoring, or read again."""
        counted: Sequence[dict[str, np.ndarray]] = [{} for _ in passages]
        if isinstance(self._work, CountsCells):
            counted = self._work.count_cells(passages, [wanted.sieves for wanted in asked])
        held = self._work.held_maps() if isinstance(self._work, HoldsMaps) else None
        if held is not None:
            kept_inputs = [held[passage.key] for passage in passages]
        else:
            kept_inputs = read_maps_again(
                self._work.source,
                passages,
                asked,
                batch_size=self._options.batch_size,
                max_length=self._work.known.noted["longest"],
            )
        return [
            InputMaps(
                kept_input.example(),
                {
                    (layer, head): kept_input.weights(layer, head)
                    for layer, heads in wanted.heads.items()
                    for head in heads
                },
                cells,
            )
            for kept_input, wanted, cells in zip(kept_inputs, asked, counted, strict=True)
        ]


def read_maps_again(
    source: AttentionSource,
    passages: Sequence[Passage],
    asked: Sequence[WantedMaps],
    *,
    batch_size: int,
    max_length: int,
) -> list[KeptInput]:
    """Run some inputs again and keep attention maps of heads.

    Args:
        source: The model, or stored maps.
        passages: The inputs.
        asked: The wanted heads of each input.
        batch_size: Largest batch.
        max_length: Longest input, in tokens.

    Returns:
        Each input with its maps.
    """
    shards = stream(
        source,
        passages,
        KeepMapsJob([wanted.heads for wanted in asked]),
        batch_size=batch_size,
        max_length=max_length,
        advance=lambda count: None,  # all inputs of the run have been counted
    )
    return [kept_input for shard in shards for kept_input in shard]


def result_of(shard: Shard, task: Task, rules: Sequence[Rule], **more: Any) -> ShardResult:
    """Return the result of a shard as it is written.

    Args:
        shard: The values read from the model.
        task: The shard, which states keys and units.
        rules: One per column, which state chance values; those of the last columns may be given by example.
        **more: ``files`` and ``counts`` of the result.
    """
    null = np.repeat(np.array([[rule.null] for rule in rules]), len(task.passages), axis=1)
    if len(shard.null):
        null[-len(shard.null) :] = shard.null
    scores = Scores(
        sieves=tuple(rule.sieve for rule in rules),
        examples=tuple(passage.key for passage in task.passages),
        units=tuple(task.units),
        tokens=shard.tokens,
        cells=shard.cells,
        values=shard.values,
        null=null,
    )
    return ShardResult(scores, shard.low, shard.high, int(shard.truncated.sum()), **more)


def facts_of(options: CommonOptions, work: ShardWork) -> Facts:
    """Return the facts of a worker; workers that give equal scores have equal identities."""
    source, known = work.source, work.known
    components = {
        "settings": scoring_settings(options.settings()),
        "code": code(),
        **_components_of(source),
        "versions": library_versions(),
        "device": [device_name(source.device), options.dtype],
        **known.components,
    }
    return Facts(
        layers=source.layers,
        heads=source.heads,
        described=source.described | {"machine": describe_machine()},
        identity=identity_of(components),
        columns=tuple(rule.sieve for rule in work.rules),
        components=components,
        known=known,
    )


def _components_of(source: AttentionSource) -> dict[str, Any]:
    """Return the parts of the identity of a run that follow from its model, or from its stored maps."""
    if isinstance(source, StoredMaps):
        return {"maps": [source.described["maps_sha256"], source.described["list_sha256"]]}
    assert isinstance(source, Model)
    configuration = source.network.config.to_dict()
    configuration.pop("_name_or_path", None)
    return {
        "weights": source.described["weights_sha256"],
        "configuration": configuration,
        "tokenizer": _tokenizer_digest(source.tokenizer),
    }


def _tokenizer_digest(tokenizer: Any) -> str:
    """Return the SHA-256 over the description of a tokenizer and its special tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    description = json.loads(backend.to_str()) if backend is not None else {"plain": type(tokenizer).__name__}
    for name in ("truncation", "padding"):  # settings of the last call
        description.pop(name, None)
    special = sorted((str(name), str(value)) for name, value in tokenizer.special_tokens_map.items())
    return sha256(json.dumps([description, special], sort_keys=True).encode()).hexdigest()
