"""Views made by hand: tokens that try to be markup, attention that follows from queries and keys."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headroles.records import Carriers, Example, Maps, Neurons, View, ViewOrigins, ViewRoles

HOSTILE = "<script>alert(1)</script>"
LONG = "a" * 10_000
PIECES = (
    "[CLS]", "the", "un", "##believ", "##able", HOSTILE, "[SEP]", "שלום", "😀", "\u202eit", LONG, "[SEP]",
)  # fmt: skip
SEGMENT = np.array([-1, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, -1])
WORD = np.array([-1, 0, 1, 1, 1, 2, -1, 3, 4, 5, 6, -1])
CAP = 20.0
WHITE, TONE, TONE_7 = np.full(3, 255), np.array([0x00, 0x63, 0xA8]), np.array([0x57, 0x60, 0x6B])
"""The page's ground, and the colours of heads 0 and 7, in the light theme."""


def pair() -> Example:
    """Two texts with special tokens, words of one and of three pieces."""
    return Example("pair", PIECES, segment=SEGMENT, word=WORD)


def plain(pieces: Sequence[str]) -> Example:
    """One text without special tokens."""
    return Example("plain", tuple(pieces), word=np.arange(len(pieces)))


def maps_of(queries: Example, keys: Example | None = None, kind: str = "self", seed: int = 0) -> Maps:
    """Random attention of three layers of four heads, numbered 2, 3, 5 and 0, 1, 2, 7."""
    keys = keys or queries
    chance = np.random.default_rng(seed)
    weights = chance.dirichlet(np.full(keys.size, 0.2), size=(3, 4, queries.size))
    return Maps(kind, (2, 3, 5), (0, 1, 2, 7), queries, keys, np.round(weights * 255).astype(np.uint8))


def neurons_of(size: int, group: Sequence[int] = (0, 0, 1, 1), seed: int = 1) -> Neurons:
    """Queries and keys of four heads in two layers, with a cap in the first, a bias and a causal mask."""
    chance = np.random.default_rng(seed)
    shape = (2, 4, size, 8)
    key = chance.normal(0, 2, shape).astype(np.float32)[:, list(group)]
    return Neurons(
        query=chance.normal(0, 2, shape).astype(np.float32),
        key=key,
        scaling=np.full(2, 8**-0.5),
        softcap=np.array([CAP, np.nan]),
        bias=chance.normal(0, 1, (2, 4, size, size)).astype(np.float32),
        visible=np.broadcast_to(np.tril(np.ones((size, size), dtype=bool)), (2, size, size)),
        sink=np.array([[0.5] * 4, [np.nan] * 4]),
        group=tuple(group),
    )


def products_of(neurons: Neurons, layer: int, head: int) -> np.ndarray:
    """What weights are the softmax of, from 16-bit copies, per query and key."""
    query, key = (
        array[layer, head].astype(np.float16).astype(float) for array in (neurons.query, neurons.key)
    )
    scaled = neurons.scaling[layer] * query @ key.T
    cap = neurons.softcap[layer]
    capped = scaled if np.isnan(cap) else cap * np.tanh(scaled / cap)
    assert neurons.bias is not None
    total: np.ndarray = capped + neurons.bias[layer, head].astype(np.float16)
    return total


def with_neurons(pieces: Sequence[str]) -> Maps:
    """Attention of a decoder with grouped keys, made of its queries and keys."""
    tokens = plain(pieces)
    neurons = neurons_of(tokens.size)
    weights = np.zeros((2, 4, tokens.size, tokens.size))
    for layer, head in np.ndindex(2, 4):
        raw = np.where(neurons.visible[layer], products_of(neurons, layer, head), -np.inf)
        weights[layer, head] = np.exp(raw - raw.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return Maps(
        "self", (0, 1), (0, 1, 2, 3), tokens, tokens, np.round(weights * 255).astype(np.uint8), neurons
    )


def usual() -> View:
    """A pair of texts, without queries and keys."""
    notes = ("The neuron view is left out, because <b>nothing</b> is known.",)
    return View("tiny/<i>model</i>", ("the unbelievable", "שלום it"), (maps_of(pair()),), notes)


def roles_of() -> ViewRoles:
    """Roles of the heads of ``usual``: a sink of most heads, local of two, and an explained score."""
    names = ("delimiter", "delimiter:cls", "local", "syntactic:amod")
    decision = np.ones((4, 3, 4), dtype=np.int64)
    decision[:2, :, :3] = 0
    decision[2, 1, 2], decision[2, 0, 3], decision[3, 1, 2] = 0, 0, 4
    mean = np.full((4, 3, 4), 0.05)
    mean[:2, :, :3] = 0.95
    mean[2, 1, 2], mean[2, 0, 3], mean[3, 1, 2], mean[3, 0, 0] = 0.71, 0.33, 0.42, np.nan
    near = np.abs(np.subtract.outer(np.arange(12), np.arange(12))) == 1
    near &= np.logical_and.outer(SEGMENT >= 0, SEGMENT >= 0)
    keys = (None, np.broadcast_to(np.arange(12) == 0, (12, 12)), near, np.zeros((12, 12), dtype=bool))
    return ViewRoles("runs/<b>x</b>", "self", names, decision, mean, ("", "", "", "distance"), keys)


def with_roles() -> View:
    """The pair of texts with roles of a run."""
    return replace(usual(), roles=roles_of())


def grouped() -> View:
    """One text, with queries and keys."""
    return View("tiny/grouped", ("a b c",), (with_neurons([f"▁t{number}" for number in range(7)]),))


def carried() -> View:
    """The text of ``grouped`` with roles of two heads, and the dimensions that carry them."""
    maps = with_neurons([f"▁t{number}" for number in range(7)])
    names = ("delimiter:sep", "local")
    decision = np.ones((2, 2, 4), dtype=np.int64)
    decision[:, 0, 1] = decision[1, 1, 3] = 0
    keys = (np.broadcast_to(np.arange(7) == 6, (7, 7)), None)
    mean = np.where(decision == 0, [[[0.9]], [[0.4]]], 0.05)
    roles = ViewRoles("runs/why", "self", names, decision, mean, ("", ""), keys)
    share = np.array([0.02, 0.6, 0.1, -0.05, 0.03, 0.25, 0.04, 0.01])
    found = share > 0.2
    both = [
        Carriers("delimiter:sep", 0, 1, share, np.where(found, 0.0001, 0.8), found, "0-1: <b>vertical</b>."),
        Carriers("local", 0, 1, share * np.nan, share * np.nan, found & False, "0-1: not tested."),
        Carriers("local", 1, 3, share[::-1].copy(), share * 0 + 0.5, found & False, "1-3: by query."),
    ]
    origins = ViewOrigins("self", np.arange(8), tuple(both))
    return View("tiny/carried", ("a b c",), (maps,), roles=roles, origins=origins)


def encoder_decoder() -> View:
    """Three kinds of attention; five tokens are read, three are written."""
    read, written = plain("abcde"), plain("xyz")
    kinds = (maps_of(read, kind="encoder"), maps_of(written, kind="decoder"), maps_of(written, read, "cross"))
    return View("tiny/seq2seq", ("a b c d e", "x y z"), kinds)
