"""Ask every head questions about the windows of a shard, and join the answers of all shards."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from headroles.extraction.jobs.questions import Answers, ProbeJob, answer_columns
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import stream_tokenised
from headroles.extraction.texts.tokens import tokenise
from headroles.options.probe import ProbeOptions
from headroles.progress import Advance
from headroles.records.example import Scores
from headroles.records.passage import Passage
from headroles.records.probes import BaselineCounts, ChoiceProbe, DecodingProbe
from headroles.records.rules.rule import Rule
from headroles.runs.probe.inputs import ProbeCorpus
from headroles.runs.probe.judging import column_rules, margin_of
from headroles.runs.sources import longest_input, norms_of, open_source
from headroles.shards.engines import has_idle_processor
from headroles.shards.work import Known, ShardResult, Task
from headroles.storage.probes import counts_bytes, parse_counts

COUNTS = "counts.parquet"
"""Ending of a shard's file of right answers of baselines."""


class ProbeWork:
    """Asks probes of every head about the windows of shards.

    The chance values of the scores stay NaN: the baseline of a head depends on the other half of the inputs.
    """

    def __init__(self, options: ProbeOptions, corpus: ProbeCorpus) -> None:
        """Load the model.

        Args:
            options: Of the run.
            corpus: Its windows, and the probes that fit them.

        Raises:
            BadInput: When the model or the stored maps cannot be used.
        """
        self._size, self._batch_size = corpus.inputs.size, options.batch_size
        self._ahead = has_idle_processor(options)
        norms = norms_of(options.weights)
        self.source: AttentionSource = open_source(options, corpus, corpus.inputs.size, options.kind, norms)
        self._job = ProbeJob(self.source, corpus.probes, corpus.inputs.windows)
        names = [column.name for column in answer_columns(corpus.probes)]
        self.rules: Sequence[Rule] = column_rules(names, margin_of(options))
        self.known = Known(
            components={"documents": corpus.digest}, noted={"longest": longest_input(self.source, self._size)}
        )

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Ask every head about the windows of a shard."""
        tokenised = tokenise(self.source.tokenizer, task.passages, self._size)
        (answers,) = stream_tokenised(
            self.source,
            iter([tokenised]),
            self._job,
            batch_size=self._batch_size,
            advance=advance,
            ahead=self._ahead,
        )
        cells = answers.items[self._job.rows].astype(np.float64)
        scores = Scores(
            sieves=tuple(rule.sieve for rule in self.rules),
            examples=answers.examples,
            units=task.units,
            tokens=answers.tokens,
            cells=np.where(cells > 0, cells, np.nan),
            values=answers.values,
            null=np.full(cells.shape, np.nan),
        )
        unknown = np.full(len(self.rules), np.nan)
        counts = baseline_counts(self._job.probes, self._job.starts, answers)
        files = {COUNTS: counts_bytes(counts, answers.examples)}
        return ShardResult(scores, unknown, unknown, truncated=0, files=files)

    def count_cells(
        self, passages: Sequence[Passage], sieves: Sequence[Sequence[str]]
    ) -> list[dict[str, np.ndarray]]:
        """Return the (queries, keys) cells, bool, that right answers of the named columns are read from.

        Columns of probes that decode structures have no cells and are left out.
        """
        tokenised = tokenise(self.source.tokenizer, passages, self._size)
        return [
            {name: cells for name in names if (cells := self._job.answer_cells(given, name)) is not None}
            for names, given in zip(sieves, tokenised, strict=True)
        ]

    def expect(self, task: Task) -> None:
        """Do nothing: words and trees are gold."""

    def close(self) -> None:
        """Do nothing: only the model was loaded."""


def baseline_counts(
    probes: Sequence[ChoiceProbe | DecodingProbe], starts: Int[np.ndarray, " probes"], answers: Answers
) -> BaselineCounts:
    """Count right answers of the baselines by name over all probes; lost items are counted over all shards.

    Args:
        probes: The probes.
        starts: First row of each probe among all rows, and the number of rows last.
        answers: Answers of a shard.
    """
    names: dict[str, int] = {}
    for probe in probes:
        for baseline in probe.baselines:
            names.setdefault(baseline, len(names))
    hits = np.full((*answers.items.shape, len(names)), -1, dtype=np.int64)
    rivals, rows = [], []
    for number, probe in enumerate(probes):
        columns = [names[baseline] for baseline in probe.baselines]
        for row, label in enumerate(probe.rows):
            position = int(starts[number]) + row
            hits[position][:, columns] = answers.hits[position][:, : len(columns)]
            rivals.append(tuple(columns[: probe.rivals]))
            rows.append(f"{probe.name}:{label}")
    lost = np.zeros_like(answers.items)
    return BaselineCounts(tuple(rows), tuple(names), tuple(rivals), hits, answers.items, lost)


def join_counts(shards: Sequence[bytes], corpus: ProbeCorpus) -> BaselineCounts:
    """Join the counts of all shards, and count the items that no window asked about.

    Args:
        shards: The files of all shards, in their order.
        corpus: The windows of the run.
    """
    parts = [parse_counts(content) for content in shards]
    items = np.concatenate([part.items for part in parts], axis=1)
    return BaselineCounts(
        rows=parts[0].rows,
        baselines=parts[0].baselines,
        rivals=parts[0].rivals,
        hits=np.concatenate([part.hits for part in parts], axis=1),
        items=items,
        lost=_lost_items(items, corpus),
    )


def _lost_items(
    items: Int[np.ndarray, "rows examples"], corpus: ProbeCorpus
) -> Int[np.ndarray, "rows examples"]:
    """Count the items of each document that no window asked about, at its first window."""
    lost = np.zeros_like(items)
    first: dict[str, int] = {}
    for position, passage in enumerate(corpus):
        document = corpus.inputs.windows[passage.key].document.key
        if document not in first:
            lost[:, position] = corpus.inputs.due[document]
        lost[:, first.setdefault(document, position)] -= items[:, position]
    return lost
