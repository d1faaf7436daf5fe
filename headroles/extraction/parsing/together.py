"""Parse several texts at once, with the numbers that each of them gets alone.

A parser multiplies the vectors of all tokens of a batch by its weights. The last bits of such a product
depend on the number of its rows, and on the place of a row among them. So another text of the batch could
decide a near tie. Here the rows of every text are multiplied on their own. All other steps treat rows one by
one, and take the whole batch. NumPy forms the products, two to three times as fast as the library of spaCy.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.api import NumpyOps

from headroles.extraction.model.threads import has_own_openblas, one_numpy_thread

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

PARTS = frozenset({"tok2vec", "parser", "morphologizer", "tagger"})
"""Parts of a pipeline that may take several texts at once."""
SHAPING = frozenset({"extract_features", "list2ragged", "ragged2list", "list2array", "ints-getitem"})
"""Their layers without arithmetic."""
BY_ROW = frozenset(
    {"hashembed", "expand_window", "maxout", "layernorm", "dropout", "linear", "softmax"}
    | {"tok2vec-listener", "precomputable_affine"}
)
"""Their other layers, in which a row depends on rows of its text and of the padding around it only."""
TEXTS, CHARACTERS = 32, 8_000
"""Most texts in a batch, and most characters of several texts; memory grows with them."""


class TextOps(NumpyOps):  # type: ignore[misc]
    """Arithmetic for a parser, in which the rows of every text are multiplied on their own."""

    def __init__(self, pad: int) -> None:
        """Use the linear algebra of numpy.

        Args:
            pad: Rows of padding on each side of a text; between two texts there are twice as many.
        """
        super().__init__(use_blis=False)
        self._pad, self._lengths = pad, list[int]()

    @contextmanager
    def of_texts(self, lengths: Sequence[int]) -> Iterator[None]:
        """Multiply each of the texts with these numbers of tokens, at least 1, on its own."""
        self._lengths = list(lengths)
        try:
            with one_numpy_thread():
                yield
        finally:
            self._lengths = []

    def gemm(self, x: Any, y: Any, *, out: Any = None, trans1: bool = False, trans2: bool = False) -> Any:
        """Multiply two matrices; rows of padding that no text reads become 0.

        Raises:
            ValueError: When the rows are not those of the texts.
        """
        if not self._lengths:
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        weights = y.T if trans2 else y
        result = np.zeros((len(x), weights.shape[1]), dtype=np.float32) if out is None else out
        for start, stop in self._texts(len(x)):
            np.dot(x[start:stop], weights, out=result[start:stop])
        return result

    def _texts(self, rows: int) -> Iterator[tuple[int, int]]:
        """Yield the first row of each text and one past its last, with the padding on its sides."""
        tokens, texts = sum(self._lengths), len(self._lengths)
        if rows not in (tokens, tokens + 2 * self._pad * (texts + 1)):
            raise ValueError(f"{texts} texts of {tokens} tokens have no {rows} rows")
        pad = 0 if rows == tokens else self._pad
        ends = accumulate((length + 2 * pad for length in self._lengths), initial=pad)
        for start, length in zip(ends, self._lengths, strict=False):
            yield start, start + length + 2 * pad


def take_several(parser: "Language") -> None:
    """Let a parser take several texts at once, where each of them gets the tree that it gets alone.

    A pipeline with other parts or layers is left as it is. So is every pipeline on a machine whose libraries
    cannot promise that tree.
    """
    if not {parser.get_pipe_meta(name).factory for name in parser.pipe_names} <= PARTS:
        return
    pipes: list[Any] = [pipe for _, pipe in parser.pipeline]
    nodes = [node for pipe in pipes for node in pipe.model.walk()]
    layers = {node.name for node in nodes if not node.layers}
    pads = {node.attrs["pad"] for node in nodes if node.attrs.get("pad")}
    transitions: Any = parser.get_pipe("parser")
    if (
        not layers <= SHAPING | BY_ROW
        or len(pads) != 1
        or any(type(node.ops) is not NumpyOps for node in nodes)
        or transitions.cfg["beam_width"] != 1
        or transitions.model.attrs["unseen_classes"]
        or not transitions.model.attrs["has_upper"]
        or not has_own_openblas()
        or not _states_are_independent(*transitions.model.get_ref("upper").get_param("W").shape)
    ):
        return
    (pad,) = pads
    ops = TextOps(pad)
    for node in nodes:
        node.ops = ops
        if node.attrs.get("pad"):
            node.attrs["pad"] = 2 * pad


def docs_of(parser: "Language", texts: Sequence[str]) -> Iterator["Doc"]:
    """Yield the parsed documents of texts, in their order."""
    pipes: list[Any] = [pipe for _, pipe in parser.pipeline]
    models = (getattr(pipe, "model", None) for pipe in pipes)
    ops = next((model.ops for model in models if model is not None), None)
    if not isinstance(ops, TextOps):
        yield from parser.pipe(texts, batch_size=1)
        return
    for batch in batches(texts):
        docs = [parser.make_doc(text) for text in batch]
        filled = [doc for doc in docs if len(doc)]
        with ops.of_texts([len(doc) for doc in filled]):
            for pipe in pipes if filled else ():
                pipe.set_annotations(filled, pipe.predict(filled))
        yield from docs


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in batches: few enough to fit in memory, a long one alone.

    Example:
        >>> [len(batch) for batch in batches(["short"] * 40 + ["long" * 2500] + ["short"])]
        [32, 8, 1, 1]
    """
    batch, characters = list[str](), 0
    for text in texts:
        if batch and (len(batch) == TEXTS or characters + len(text) > CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _states_are_independent(actions: int, width: int) -> bool:
    """Return whether the scores of a parser's state are the same to the bit for any number of states."""
    random, ops = np.random.default_rng(0), NumpyOps(use_blis=True)
    states = random.normal(size=(TEXTS, width)).astype(np.float32)
    weights = random.normal(size=(actions, width)).astype(np.float32)
    alone = np.concatenate([ops.gemm(states[row : row + 1], weights, trans2=True) for row in range(TEXTS)])
    return all(
        np.array_equal(ops.gemm(states[:count], weights, trans2=True), alone[:count])
        for count in range(2, TEXTS + 1)
    )
