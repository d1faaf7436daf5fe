"""Collect the answers of all heads to probes, shard by shard, as scores and tallies."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headroles.extraction.jobs.questions import Answers, ProbeJob
from headroles.extraction.model.load import Model
from headroles.extraction.stream import stream
from headroles.inputs.units import unit_names
from headroles.probing.inputs import Inputs
from headroles.progress import Progress, progress_counter
from headroles.records.example import Scores
from headroles.records.probes import BaselineCounts, ChoiceProbe, DecodingProbe
from headroles.stats.probes.baselines import check_halves
from headroles.storage.run import write_part


def ask_heads(
    model: Model,
    probes: Sequence[ChoiceProbe | DecodingProbe],
    inputs: Inputs,
    batch_size: int,
    place: Path | None,
    progress: Progress,
) -> tuple[Scores, BaselineCounts]:
    """Ask every head in one pass over the inputs, and write each shard when it is done.

    The chance values of the scores stay NaN: the baseline of a head depends on the other half of the
    inputs.

    Args:
        model: The loaded model.
        probes: The probes, which share one forward pass.
        inputs: Windows and passages.
        batch_size: Largest batch.
        place: Unfinished run folder; None to write nothing.
        progress: Called with the inputs done and their total.

    Raises:
        BadInput: When the inputs have too few units for two halves.
    """
    passages = inputs.passages
    units = _units(inputs)
    check_halves(units)
    job = ProbeJob(model, probes, inputs.windows)
    table = _Table(job, tuple(passage.key for passage in passages), tuple(units))
    shards = stream(
        model,
        passages,
        job,
        batch_size=batch_size,
        max_length=inputs.size,
        advance=progress_counter(progress, len(passages)),
    )
    for number, answers in enumerate(shards):
        scores = table.add(answers)
        if place is not None:
            write_part(place, number, scores)
    return table.scores(0, len(passages)), table.tallies(inputs)


def _units(inputs: Inputs) -> list[str]:
    """Return the unit of each passage: its document's group, or document; equal documents are one unit."""
    documents = list({id(window.document): window.document for window in inputs.windows.values()}.values())
    named = unit_names(
        [document.group or document.key for document in documents],
        [(document.text,) for document in documents],
        [document.key for document in documents],
    )
    unit = {id(document): name for document, name in zip(documents, named, strict=True)}
    return [unit[id(inputs.windows[passage.key].document)] for passage in inputs.passages]


class _Table:
    """The answers of a run while its shards arrive: one allocation with a slice for each shard."""

    def __init__(self, job: ProbeJob, keys: tuple[str, ...], units: tuple[str, ...]) -> None:
        self._job, self._keys, self._units = job, keys, units
        columns, rows, count = len(job.columns), int(job.starts[-1]), len(keys)
        self._row = [int(job.starts[column.probe]) + column.row for column in job.columns]
        self._values = np.full((columns, count, job.model.layers, job.model.heads), np.nan, dtype=np.float32)
        self._tokens = np.zeros(count, dtype=np.int64)
        self._items = np.zeros((rows, count), dtype=np.int64)
        self._hits = np.full((rows, count, job.baselines), -1, dtype=np.int64)
        self._done = 0

    def add(self, answers: Answers) -> Scores:
        """Store a shard, and return the scores of its examples."""
        here = slice(self._done, self._done + len(answers.examples))
        self._values[:, here], self._tokens[here] = answers.values, answers.tokens
        self._items[:, here] = answers.items
        self._hits[:, here] = answers.hits
        self._done = here.stop
        return self.scores(here.start, here.stop)

    def scores(self, start: int, stop: int) -> Scores:
        """Return the scores of the examples from ``start`` to ``stop``, with unknown chance values."""
        here = slice(start, stop)
        cells = self._items[self._row, here].astype(np.float64)
        return Scores(
            sieves=tuple(column.name for column in self._job.columns),
            examples=self._keys[here],
            units=self._units[here],
            tokens=self._tokens[here],
            cells=np.where(cells > 0, cells, np.nan),
            values=self._values[:, here],
            null=np.full(cells.shape, np.nan),
        )

    def tallies(self, inputs: Inputs) -> BaselineCounts:
        """Count right answers of the baselines by name over all probes, and items not asked."""
        names: dict[str, int] = {}
        for probe in self._job.probes:
            for baseline in probe.baselines:
                names.setdefault(baseline, len(names))
        hits = np.full((*self._items.shape, len(names)), -1, dtype=np.int64)
        rivals, rows = [], []
        for number, probe in enumerate(self._job.probes):
            columns = [names[baseline] for baseline in probe.baselines]
            for row, label in enumerate(probe.rows):
                position = int(self._job.starts[number]) + row
                hits[position][:, columns] = self._hits[position][:, : len(columns)]
                rivals.append(tuple(columns[: probe.rivals]))
                rows.append(f"{probe.name}:{label}")
        return BaselineCounts(tuple(rows), tuple(names), tuple(rivals), hits, self._items, self._lost(inputs))

    def _lost(self, inputs: Inputs) -> np.ndarray:
        """Count the items of each document that no window asked about, at its first window."""
        lost = np.zeros_like(self._items)
        first: dict[str, int] = {}
        for position, key in enumerate(self._keys):
            document = inputs.windows[key].document.key
            if document not in first:
                lost[:, position] = inputs.due[document]
            lost[:, first.setdefault(document, position)] -= self._items[:, position]
        return lost
