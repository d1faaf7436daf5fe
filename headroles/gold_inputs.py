"""Gold annotation as a probe run gets it: documents, the probes that fit them, and their windows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from headroles.annotation import Document, Window
from headroles.errors import BadInput
from headroles.extraction.gold.read import layout_of, read_documents
from headroles.extraction.model import Model
from headroles.extraction.passages import Passage
from headroles.extraction.pieces import pieces_of
from headroles.extraction.windows import document_windows, passage_of, sentence_windows
from headroles.probe_options import LEAST_ARCS, WINDOW, ProbeOptions
from headroles.questions import ChoiceProbe, DecodingProbe
from headroles.sieves.coreference import CoreferenceProbe
from headroles.sieves.dependency import DependencyProbe
from headroles.sieves.relations import relations_of
from headroles.sieves.trees import TreeProbe


def gather(options: ProbeOptions) -> tuple[list[Document], dict[str, Any]]:
    """The documents of a run, and where they come from (names, layouts, rows, hash).

    Raises:
        HeadrolesError: When a file cannot be read, or its annotation breaks a rule.
    """
    found: list[Document] = []
    layouts = []
    names = [Path(each).name.split(".")[0] for each in options.data]
    for number, (path, name) in enumerate(zip(options.data, names, strict=True)):
        own = name if names.count(name) == 1 else f"{name}-{number + 1}"
        layouts.append(options.layout or layout_of(Path(path)))
        found += read_documents(Path(path), own, layouts[-1])
    kept = found
    if options.limit is not None and options.limit < len(found):
        drawn = np.random.default_rng(options.seed).choice(len(found), options.limit, replace=False)
        kept = [found[place] for place in sorted(drawn.tolist())]
    told = hashlib.sha256("\0".join(f"{each.key}\n{each.text}" for each in kept).encode())
    return kept, {
        "kind": "file",
        "name": ", ".join(options.data),
        "layout": ", ".join(dict.fromkeys(layouts)),
        "rows": len(found),
        "sha256": told.hexdigest(),
    }


def probes_for(
    options: ProbeOptions, documents: Sequence[Document]
) -> tuple[tuple[ChoiceProbe | DecodingProbe, ...], list[str]]:
    """The probes asked for, and what is left out, one sentence each.

    Raises:
        BadInput: When the documents lack the annotation that a probe asks about.
    """
    made: list[ChoiceProbe | DecodingProbe] = []
    said: list[str] = []
    for name in options.probes:
        _check_annotated(name, documents)
        if name == "coreference":
            pronouns = all(each.layout for each in documents)
            made.append(CoreferenceProbe(kinds=()) if pronouns else CoreferenceProbe())
        elif name == "trees":
            made += [TreeProbe(measure, options.root) for measure in ("uuas", "uas")]
        else:
            relations, rare = options.relations, tuple[str, ...]()
            if not relations:
                relations, rare = relations_of(documents, options.scheme, LEAST_ARCS)
            if rare:
                said.append(
                    f"{len(rare)} relations with fewer than {LEAST_ARCS} arcs have no row of their own "
                    f"({', '.join(rare[:8])}{' …' if len(rare) > 8 else ''}); name them with --relations."
                )
            made.append(DependencyProbe(relations, options.scheme, options.preset == "published"))
    return tuple(made), said


def _check_annotated(name: str, documents: Sequence[Document]) -> None:
    needed = "mentions" if name == "coreference" else "heads"
    without = [each.key for each in documents if getattr(each, needed) is None]
    if without:
        what = "mentions of entities" if needed == "mentions" else "dependency trees"
        raise BadInput(
            f"the {name} probe needs gold {what}, but {len(without)} of {len(documents)} documents have "
            f"none, such as {without[0]!r}; give data with them, or leave the probe out"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What the model gets.

    Attributes:
        windows: Of each passage, by its key.
        passages: In the order of the documents.
        size: Longest window in tokens.
        stride: Fewest pieces between two windows; None where sentences are read one by one.
        cut: Sentences that were cut to the longest window.
    """

    windows: dict[str, Window]
    passages: list[Passage]
    size: int
    stride: int | None
    cut: int


def inputs_of(options: ProbeOptions, documents: Sequence[Document], model: Model) -> Inputs:
    """Sentences, or windows over documents where coreference is asked about.

    Raises:
        BadInput: When the window is longer than the model takes.
    """
    limit = model.limit or WINDOW
    size = min(WINDOW, limit) if options.window is None else options.window
    if model.limit is not None and size > model.limit:
        raise BadInput(
            f"{model.described['name']!r} takes at most {model.limit} tokens, but --window is {size}; "
            f"give at most {model.limit}"
        )
    room = size - model.tokenizer.num_special_tokens_to_add()
    if room < 1:
        raise BadInput(
            f"a window holds special tokens and at least one more, but --window is {size} and "
            f"{size - room} of these are special; give a longer one"
        )
    pieces = pieces_of(model.tokenizer, documents)
    stride = min(options.stride or max(room // 2, 1), room) if options.windowed else None
    if stride is not None:
        windows, cut = document_windows(documents, pieces, room, stride), 0
    else:
        windows, cut = _fitting(sentence_windows(documents), documents, pieces, room)
    passages = [passage_of(window) for window in windows]
    return Inputs({window.key: window for window in windows}, passages, size, stride, cut)


def _fitting(
    windows: Sequence[Window],
    documents: Sequence[Document],
    pieces: Sequence[Int[np.ndarray, "_"]],
    room: int,
) -> tuple[list[Window], int]:
    """Windows cut to the words that fit, and how many were cut."""
    counts = {id(document): each for document, each in zip(documents, pieces, strict=True)}
    fitting, cut = [], 0
    for window in windows:
        total = np.cumsum(counts[id(window.document)][window.start : window.stop])
        words = max(1, int(np.searchsorted(total, room, side="right")))
        cut += words < window.size
        fitting.append(window if words >= window.size else replace(window, stop=window.start + words))
    return fitting, cut
