"""The vectors of tokens in a parser: the layers of its tok2vec, for all tokens of several texts at once.

spaCy's layers pass over all tokens for every small step. Here a few hundred tokens go through all steps of a
layer while they are in the processor's cache. The first layer sees a token alone, so its output is kept for
tokens that were seen before. Numbers are those of spaCy's layers, up to the rounding of products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, UInt64
from thinc.api import Model

from headroles.extraction.parsing.products import LARGE, TileOps, multiply

if TYPE_CHECKING:
    from spacy.tokens import Doc

REMEMBERED = 16_384
"""Number of tokens whose output of the first layer is kept, 8 MB at the width of the shipped parser."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer of maxout units and the normalisation after it.

    Attributes:
        weights: Weights of the units, all first pieces before all second ones.
        bias: Their bias, in the same order.
        scale: Factors of the normalised outputs.
        shift: Terms added to them.
    """

    weights: Float32[np.ndarray, "inputs pieces_width"]
    bias: Float32[np.ndarray, " pieces_width"]
    scale: Float32[np.ndarray, " width"]
    shift: Float32[np.ndarray, " width"]

    def apply(self, rows: Float32[np.ndarray, "rows inputs"]) -> Float32[np.ndarray, "rows width"]:
        """Return the outputs for a few rows, formed in the order of spaCy's operations."""
        width = len(self.scale)
        pieces = np.empty((len(rows), len(self.bias)), dtype=np.float32)
        multiply(rows, self.weights, pieces)
        pieces += self.bias
        best: np.ndarray = pieces.reshape(len(rows), -1, width).max(axis=1)
        best -= best.mean(axis=1, keepdims=True)
        squares = np.multiply(best, best, out=pieces[:, :width])
        best *= (squares.mean(axis=1, keepdims=True) + 1e-08) ** (-1.0 / 2.0)
        best *= self.scale
        best += self.shift
        return best


class TokenEncoder:
    """The layers of a tok2vec: embeddings of a token's features, and windows of three tokens."""

    def __init__(self, tok2vec: Model[Any, Any]) -> None:
        """Take the weights of a model of ``spacy.Tok2Vec.v2``.

        Args:
            tok2vec: It has embeddings as in ``spacy.MultiHashEmbed.v2`` without static vectors, and layers
                as in ``spacy.MaxoutWindowEncoder.v2`` with windows of one token on each side.
        """
        embed, encode = tok2vec.get_ref("embed"), tok2vec.get_ref("encode")
        nodes = {node.name: node for node in embed.walk()}
        self._columns = nodes["extract_features"].attrs["columns"]
        self._tables = [
            (node.get_param("E"), node.attrs["seed"]) for node in embed.walk() if node.name == "hashembed"
        ]
        (self._first,), self._layers = _layers_of(embed), _layers_of(encode)
        self._width, self._ops = len(self._first.scale), TileOps()
        self._places: dict[bytes, int] = {}
        self._known = np.empty((0, self._width), dtype=np.float32)

    @property
    def weights(self) -> list[Float32[np.ndarray, "inputs outputs"]]:
        """Return the weights of all layers."""
        return [layer.weights for layer in (self._first, *self._layers)]

    def encode(self, docs: "Sequence[Doc]") -> list[Float32[np.ndarray, "tokens width"]]:
        """Return the vectors of the tokens of each text.

        Rows of padding stand before, between and after the texts, as in spaCy. They are as many as layers,
        so that no text reads another one.
        """
        pad, sizes = len(self._layers), [len(doc) for doc in docs]
        starts = list(accumulate((size + pad for size in sizes[:-1]), initial=pad + 1))
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        rows = np.zeros((ends[-1] + pad + 1, self._width), dtype=np.float32)
        features = np.concatenate([doc.to_array(self._columns) for doc in docs])
        rows[np.concatenate(list(map(np.arange, starts, ends)))] = self._look_up(features)
        for layer in self._layers:
            rows = _apply_to_windows(layer, rows)
        return [rows[start:end] for start, end in zip(starts, ends, strict=True)]

    def as_model(self) -> Model[Any, Any]:
        """Return a model that takes the place of the tok2vec; it cannot be trained."""
        return Model(
            "token_encoder", lambda _, docs, is_train: (self.encode(docs), None), dims={"nO": self._width}
        )

    def _look_up(self, features: UInt64[np.ndarray, "tokens ..."]) -> Float32[np.ndarray, "tokens width"]:
        """Return the output of the first layer for tokens, from memory where they were seen before."""
        table = features.reshape(-1, len(self._columns))
        keys = table.view(f"V{table.itemsize * table.shape[1]}").ravel().tolist()
        new = list(dict.fromkeys(key for key in keys if key not in self._places))
        if len(self._places) + len(new) > len(self._known):
            new, self._places = list(dict.fromkeys(keys)), {}
            self._known = np.empty((max(REMEMBERED, len(new)), self._width), dtype=np.float32)
        if new:
            start = len(self._places)
            own = np.frombuffer(b"".join(new), dtype=np.uint64).reshape(-1, len(self._columns))
            self._known[start : start + len(new)] = self._first.apply(self._embed(own))
            self._places |= {key: place for place, key in enumerate(new, start)}
        return self._known[np.array([self._places[key] for key in keys], dtype=np.intp)]

    def _embed(
        self, features: UInt64[np.ndarray, "tokens features"]
    ) -> Float32[np.ndarray, "tokens features_width"]:
        """Return the embeddings of features, side by side; each is the sum of a few rows of its table."""
        return np.concatenate(
            [
                self._ops.gather_add(table, self._ops.hash(np.ascontiguousarray(column), seed) % len(table))
                for column, (table, seed) in zip(features.T, self._tables, strict=True)
            ],
            axis=1,
        )


def _layers_of(model: Model[Any, Any]) -> list[Layer]:
    """Return the maxout layers of a model, the first one first."""
    nodes: list[Any] = list(model.walk())
    units = [node for node in nodes if node.name == "maxout"]
    norms = [node for node in nodes if node.name == "layernorm"]
    return [
        Layer(
            weights=unit.get_param("W").T.reshape(unit.get_dim("nI"), -1),
            bias=unit.get_param("b").T.ravel(),
            scale=norm.get_param("G"),
            shift=norm.get_param("b"),
        )
        for unit, norm in zip(units, norms, strict=True)
    ]


def _apply_to_windows(
    layer: Layer, rows: Float32[np.ndarray, "rows width"]
) -> Float32[np.ndarray, "rows width"]:
    """Return the rows plus a layer's outputs for each row between its neighbours; the outer rows stay 0."""
    width, result = rows.shape[1], np.zeros_like(rows)
    windows = np.empty((LARGE, 3 * width), dtype=np.float32)
    for start in range(1, len(rows) - 1, LARGE):
        stop = min(start + LARGE, len(rows) - 1)
        own = windows[: stop - start]
        for place in range(3):
            own[:, place * width : (place + 1) * width] = rows[start - 1 + place : stop - 1 + place]
        np.add(layer.apply(own), rows[start:stop], out=result[start:stop])
    return result
