"""Train classifiers for a run of probes on other documents, and test them on those of the run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.source import AttentionSource
from headroles.options.probe import ProbeOptions
from headroles.records.findings import Labelling
from headroles.runs.probe.inputs import ProbeCorpus
from headroles.runs.probe.trained.course import ReadSettings
from headroles.runs.probe.trained.run import train_probes
from headroles.runs.probe.trained.training import Settings


def add_trained_probes(
    options: ProbeOptions,
    judged: Labelling,
    corpus: ProbeCorpus,
    source: AttentionSource | None,
    progress: Callable[[int, int], None],
) -> tuple[Labelling, list[str]]:
    """Train the classifiers that the options name, and return the labelling with them, and notes.

    Args:
        options: Of the run.
        judged: The labelling of the probes without training.
        corpus: Windows of the run, and the documents to train on.
        source: The model of the run, where it is in this process; None to load it.
        progress: Called from time to time.

    Raises:
        BadInput: When documents are too few, vectors are missing, or the disk is full.
    """
    assert judged.probed is not None
    size = corpus.inputs.size
    model = source if isinstance(source, Model) else _load(options, size)
    training = train_probes(
        corpus.learned,
        corpus.documents,
        options.classifier,
        read=ReadSettings(model, options.batch_size, size),
        vectors=None if options.vectors is None else Path(options.vectors),
        identity=corpus.identity,
        settings=Settings(epochs=options.epochs, seed=options.seed, minutes=options.minutes),
        progress=lambda stage, done, total: progress(done, total),
    )
    probed = replace(
        judged.probed, trained=training.trained, contests=training.contests, weights=training.weights
    )
    return replace(judged, probed=probed), list(training.notes)


def _load(options: ProbeOptions, size: int) -> Model:
    checkpoint = find_checkpoint(options.model, options.revision)
    return load(
        checkpoint,
        device=options.device,
        device_map=options.device_map,
        dtype=options.dtype,
        max_length=size,
        kind=options.kind,
    )
