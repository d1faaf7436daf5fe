"""Cut documents into inputs of a model: sentences, or windows of a number of word pieces."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.records.documents import Document, Window
from headroles.records.example import Mention
from headroles.records.passage import Passage, Words


def sentence_windows(documents: Sequence[Document]) -> list[Window]:
    """Return one window per sentence, so that a model reads one sentence at a time."""
    windows = []
    for document in documents:
        starts = document.sentences.tolist()
        stops = [*starts[1:], len(document.words)]
        windows += [Window(document, start, stop, start) for start, stop in zip(starts, stops, strict=True)]
    return windows


def document_windows(
    documents: Sequence[Document], pieces: Sequence[Int[np.ndarray, "_"]], size: int, stride: int
) -> list[Window]:
    """Return windows over documents, each of at most ``size`` word pieces, in the order of the documents.

    Every word is fresh in exactly one window. A sentence of at most ``size`` pieces is whole in the window
    where its words are fresh. The next window starts at the first sentence that begins at least
    ``stride`` pieces after the start of this one, or at a word inside a sentence where none begins there.
    It starts later where the next sentence would not fit otherwise, and at the end of this one at the
    latest. A sentence longer than ``size`` is cut at words; a word longer than ``size`` is a window of its
    own.

    Documents in the layout of GAP and WinoBias are one window each; words beyond ``size`` are in none.

    Args:
        documents: Documents in any layout.
        pieces: Number of pieces of each word of each document, without special tokens.
        size: Most pieces of a window.
        stride: Fewest pieces from the start of a window to that of the next.

    Raises:
        BadInput: When ``stride`` is not in 1 … ``size``, or pieces are not one number per word.

    Example:
        >>> spans = np.array([[2 * word, 2 * word + 1] for word in range(6)])
        >>> document = Document("d", "a b c d e f", spans, tuple("abcdef"), sentences=np.array([0, 2, 4]))
        >>> windows = document_windows([document], [np.ones(6, dtype=int)], size=4, stride=2)
        >>> [(window.start, window.stop, window.fresh) for window in windows]
        [(0, 4, 0), (2, 6, 4)]
    """
    if not 1 <= stride <= size:
        raise BadInput(
            "the stride of windows must lie between 1 and their size, or words are left out, but got a "
            f"stride of {stride} with a size of {size}"
        )
    windows = []
    for document, counts in zip(documents, pieces, strict=True):
        windows += _document_windows(document, counts, size, stride)
    return windows


def _document_windows(
    document: Document, counts: Int[np.ndarray, "_"], size: int, stride: int
) -> list[Window]:
    words = len(document.words)
    if counts.shape != (words,) or counts.min() < 0:
        raise BadInput(
            f"pieces are one number per word, so {words} for document {document.key!r}, "
            f"but got numbers of shape {counts.shape}"
        )
    total = np.concatenate([[0], np.cumsum(counts)])
    ends = np.append(document.sentences[1:], words)
    start, fresh = 0, 0
    windows: list[Window] = []
    while fresh < words:
        limit = max(_reach(total, start, size), start + 1)
        if document.layout:
            return [Window(document, start, limit, fresh)]
        whole = ends[(ends > fresh) & (ends <= limit)]
        stop = int(whole[-1]) if whole.size else limit
        windows.append(Window(document, start, stop, fresh))
        start, fresh = _next_start(document, total, (start, stop), size, stride), stop
    return windows


def _next_start(
    document: Document, total: Int[np.ndarray, "_"], window: tuple[int, int], size: int, stride: int
) -> int:
    """Return the start of the window after this one; ``total`` counts the pieces before each word."""
    start, stop = window
    if stop == len(document.words):
        return stop
    ends = np.append(document.sentences[1:], len(document.words))
    following = int(ends[np.searchsorted(ends, stop, side="right")])
    if total[following] - total[stop] > size:
        following = stop + 1
    fitting = int(np.searchsorted(total, total[following] - size))
    spaced = int(np.searchsorted(total, total[start] + stride))
    earliest = max(fitting, spaced)
    if earliest >= stop:
        return stop
    starts = document.sentences[(document.sentences >= earliest) & (document.sentences < stop)]
    return int(starts[0]) if starts.size else earliest


def _reach(total: Int[np.ndarray, "_"], start: int, size: int) -> int:
    """Return one past the last word of the longest run from ``start`` that has at most ``size`` pieces."""
    return int(np.searchsorted(total, total[start] + size, side="right")) - 1


def window_passage(window: Window) -> Passage:
    """Return the words of a window as one input: its part of the text, with its words and arcs.

    Heads outside the window are −1, as roots are. The group is that of the document, or else its key. So
    windows of one document are one unit, and a sentence without a document is a unit of its own.
    """
    document, inside = window.document, slice(window.start, window.stop)
    spans = document.spans[inside]
    first, last = int(spans[0, 0]), int(spans[-1, 1])
    heads = np.full(window.size, -1, dtype=np.int32)
    if document.heads is not None:
        document_heads = document.heads[inside]
        kept = (document_heads >= window.start) & (document_heads < window.stop)
        heads = np.where(kept, document_heads - window.start, -1).astype(np.int32)
    relations = document.relations[inside] if document.relations else ("",) * window.size
    words = Words((spans - first).astype(np.int32), heads, relations)
    return Passage(
        key=window.key,
        texts=(document.text[first:last],),
        group=document.group or document.key,
        words=(words,),
        mentions=_mentions_of(window),
    )


def _mentions_of(window: Window) -> tuple[Mention, ...] | None:
    """Return the mentions that lie wholly in a window, numbered by its words."""
    if window.document.mentions is None:
        return None
    return tuple(
        Mention(mention.start - window.start, mention.stop - window.start, mention.entity)
        for mention in window.document.mentions
        if mention.start >= window.start and mention.stop <= window.stop
    )
