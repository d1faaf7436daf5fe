"""Documents cut into what a model gets at once: sentences, or windows of a number of word pieces."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.records.documents import Document, Mention, Window
from headroles.records.passage import Passage, Words


def sentence_windows(documents: Sequence[Document]) -> list[Window]:
    """One window per sentence, so that a model sees a sentence at a time."""
    windows = []
    for document in documents:
        starts = document.sentences.tolist()
        stops = [*starts[1:], len(document.words)]
        windows += [Window(document, start, stop, start) for start, stop in zip(starts, stops, strict=True)]
    return windows


def document_windows(
    documents: Sequence[Document], pieces: Sequence[Int[np.ndarray, "_"]], size: int, stride: int
) -> list[Window]:
    """Windows over documents, each of at most ``size`` word pieces, in the order of the documents.

    Every word is fresh in exactly one window, and a sentence of at most ``size`` pieces is whole in the
    window where its words are. The next window starts at the first sentence that begins at least
    ``stride`` pieces after the start of this one (at a word inside a sentence where none begins there),
    later where the next sentence would not fit otherwise, and where this one ends at the latest. A
    sentence longer than ``size`` is cut at words; a word longer than ``size`` is a window of its own.

    Documents in the layout of GAP and WinoBias are one window each; words beyond ``size`` are in none.

    Args:
        documents: In any layout.
        pieces: How many pieces each word of each document has, special tokens aside.
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
            f"the stride of windows is from 1 piece up to their size, so that no word is left out, "
            f"but a stride of {stride} came with a size of {size}"
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
            f"but numbers of shape {counts.shape} came"
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
    """Where the window after this one starts; ``total`` counts the pieces before each word."""
    start, stop = window
    if stop == len(document.words):
        return stop
    ends = np.append(document.sentences[1:], len(document.words))
    following = int(ends[np.searchsorted(ends, stop, side="right")])
    if total[following] - total[stop] > size:
        following = stop + 1
    fits = int(np.searchsorted(total, total[following] - size))
    apart = int(np.searchsorted(total, total[start] + stride))
    earliest = max(fits, apart)
    if earliest >= stop:
        return stop
    begins = document.sentences[(document.sentences >= earliest) & (document.sentences < stop)]
    return int(begins[0]) if begins.size else earliest


def _reach(total: Int[np.ndarray, "_"], start: int, size: int) -> int:
    """One past the last word of the longest run from ``start`` that has at most ``size`` pieces."""
    return int(np.searchsorted(total, total[start] + size, side="right")) - 1


def passage_of(window: Window) -> Passage:
    """The words of a window as one input: its stretch of the text, with its words and arcs.

    Heads outside the window are −1, as roots are. The group is the document's, or its key, so that
    windows of one document are one unit, and a sentence without a document is a unit of its own.
    """
    document, inside = window.document, slice(window.start, window.stop)
    spans = document.spans[inside]
    first, last = int(spans[0, 0]), int(spans[-1, 1])
    heads = np.full(window.size, -1, dtype=np.int32)
    if document.heads is not None:
        own = document.heads[inside]
        kept = (own >= window.start) & (own < window.stop)
        heads = np.where(kept, own - window.start, -1).astype(np.int32)
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
    """Mentions that lie wholly in a window, by its words."""
    if window.document.mentions is None:
        return None
    return tuple(
        Mention(each.start - window.start, each.stop - window.start, each.entity)
        for each in window.document.mentions
        if each.start >= window.start and each.stop <= window.stop
    )
