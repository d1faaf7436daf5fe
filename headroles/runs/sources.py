"""Open what a run reads attention from: a model that runs, or stored maps with inputs of their own.

Torch is imported when a model or maps are opened, after the options and files were checked.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.texts.sources import fingerprint
from headroles.inputs.corpora import Corpus, ListCorpus
from headroles.inputs.passages import read_corpus
from headroles.inputs.units import unit_names
from headroles.options.inputs import InputOptions
from headroles.options.run import CommonOptions

if TYPE_CHECKING:
    from headroles.extraction.source import AttentionSource
    from headroles.extraction.texts.tokens import Tokenised


class MapsCorpus(ListCorpus):
    """The inputs of stored maps, with the maps, whose file stays open.

    An input is told by its key: names of tokens say nothing about it, such as those of the patches of images.
    Inputs of one group are one unit, as everywhere, and so are those with equal tokens of a text.

    Attributes:
        maps: The maps.
    """

    def __init__(self, file: str, name: str) -> None:
        """Open a file of maps.

        Args:
            file: The file; its list lies beside it.
            name: First part of the keys of inputs.

        Raises:
            BadInput: When file or list cannot be used.
        """
        from headroles.maps.stored import open_stored_maps

        self._stack = ExitStack()
        self.maps = self._stack.enter_context(open_stored_maps(Path(file), name))
        passages = list(self.maps.passages)
        source = {"kind": "maps", "name": file, "rows": len(passages), "sha256": fingerprint(passages)}
        marks = [_marks_of(given) for given in self.maps.tokenizer.inputs.values()]
        groups, keys = [passage.group for passage in passages], [passage.key for passage in passages]
        super().__init__(passages, source, unit_names(groups, marks, keys))

    def close(self) -> None:
        """Close the file of maps."""
        self._stack.close()


def _marks_of(given: Tokenised) -> list[str]:
    """Return what tells an input of stored maps: its tokens, and those of each text; [] without a text.

    Inputs of one unit share one of them. Tokens without characters, such as patches of images, tell nothing.
    """
    if not given.spans.any():
        return []
    numbers = given.texts.tolist()
    parts = [
        [token for token, text in zip(given.tokens, numbers, strict=True) if text == number]
        for number in range(len(given.passage.texts))
    ]
    whole = list(zip(given.tokens, numbers, strict=True))
    return [json.dumps(whole), *(json.dumps(part) for part in parts if len(parts) > 1)]


def corpus_of(options: InputOptions, needs: frozenset[str]) -> Corpus:
    """Return the inputs of a run: those of a task or file, or of stored maps.

    Args:
        options: Of the run.
        needs: Annotation that its sieves read.

    Raises:
        HeadrolesError: When inputs or stored maps cannot be used.
    """
    if options.attention is not None:
        return MapsCorpus(options.attention, options.name)
    return read_corpus(options, needs, find_checkpoint(options.model, options.revision))


def open_source(
    options: CommonOptions,
    corpus: Corpus,
    max_length: int,
    kind: str | None = None,
    norms: str = "none",
    path: str = "rows",
) -> AttentionSource:
    """Load the model of a run, or return the stored maps of its corpus.

    Args:
        options: Of the run.
        corpus: Its inputs.
        max_length: Longest input in tokens.
        kind: Kind of attention to read, as ``load`` takes it.
        norms: Who reads norm-weighted attention, as ``load`` takes it.
        path: How scores are taken from attention, as ``load`` takes it.

    Raises:
        BadInput: When the model cannot be used, or inputs are longer than it takes.
    """
    from headroles.extraction.model.load import check_length, load
    from headroles.extraction.source import StoredMaps

    if isinstance(maps := getattr(corpus, "maps", None), StoredMaps):
        return maps
    checkpoint = find_checkpoint(options.model, options.revision)
    model = load(
        checkpoint,
        device=options.device,
        device_map=options.device_map,
        dtype=options.dtype,
        max_length=max_length,
        kind=kind,
        norms=norms,
        path=path,
    )
    check_length(model, checkpoint, max_length)
    return model


def norms_of(weights: str, *, some: bool = False) -> str:
    """Return who reads norm-weighted attention, as ``open_source`` takes it.

    Args:
        weights: The option: "attention" or "norm".
        some: Whether a sieve reads norm-weighted attention in addition.
    """
    return "all" if weights == "norm" else "some" if some else "none"


def longest_input(source: AttentionSource, max_length: int) -> int:
    """Return the length of the longest possible input, in tokens: that of stored maps, or ``max_length``."""
    from headroles.extraction.source import StoredMaps

    if isinstance(source, StoredMaps):
        return max(given.size for given in source.tokenizer.inputs.values())
    return max_length
