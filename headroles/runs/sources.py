"""Open what a run reads attention from: a model that runs, or stored maps with inputs of their own."""

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import check_length, load
from headroles.extraction.source import AttentionSource
from headroles.inputs.corpora import Corpus
from headroles.inputs.passages import read_corpus
from headroles.options.inputs import InputOptions
from headroles.options.run import CommonOptions


def corpus_of(options: InputOptions, needs: frozenset[str]) -> Corpus:
    """Return the inputs of a run: those of a task or file, or of stored maps.

    Args:
        options: Of the run.
        needs: Annotation that its sieves read.

    Raises:
        HeadrolesError: When inputs or stored maps cannot be used.
    """
    return read_corpus(options, needs, find_checkpoint(options.model, options.revision))


def open_source(
    options: CommonOptions, corpus: Corpus, max_length: int, kind: str | None = None
) -> AttentionSource:
    """Load the model of a run, or return the stored maps of its corpus.

    Args:
        options: Of the run.
        corpus: Its inputs.
        max_length: Longest input in tokens.
        kind: Kind of attention to read, as ``load`` takes it.

    Raises:
        BadInput: When the model cannot be used, or inputs are longer than it takes.
    """
    checkpoint = find_checkpoint(options.model, options.revision)
    model = load(checkpoint, device=options.device, dtype=options.dtype, max_length=max_length, kind=kind)
    check_length(model, checkpoint, max_length)
    return model
