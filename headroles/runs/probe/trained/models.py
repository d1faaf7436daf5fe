"""Classifiers that find the head of each word in attention, with baselines and a control.

Each classifier (Clark et al. 2019, section 5) gives logits for every word j over its candidates i: ROOT and
the other words of the sentence. Baselines are branching trees; the control is a model with random weights.
"""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.errors import BadInput, UnknownName
from headroles.extraction.capture.plain import copy_attention
from headroles.extraction.jobs.word_attention import SPECIAL_UNITS, WordMaps
from headroles.extraction.model.load import Model
from headroles.extraction.parsing.vectors import Vectors
from headroles.records.rules.names import ATTENTION, ATTENTION_WORDS, CLASSIFIERS, DISTANCES_WORDS
from headroles.runs.probe.trained.sentences import Batch

HIDDEN = 256
"""Units of the distances-and-words probe."""
NEAR = 2
"""Largest offset with an indicator of its own."""

Logits = Float[torch.Tensor, "sentences words candidates"]


class WordVectors(torch.nn.Module):
    """Fixed vectors of known words; one learned vector for all unknown ones and one for ROOT."""

    table: torch.Tensor

    def __init__(self, vectors: Vectors) -> None:
        """Store the vectors; the learned vectors start at zero."""
        super().__init__()
        self.register_buffer("table", torch.tensor(vectors.table), persistent=False)
        self.learned = torch.nn.Parameter(torch.zeros(2, vectors.size))

    def forward(self, batch: Batch, roots: int) -> Float[torch.Tensor, "sentences units size"]:
        """Return ``roots`` vectors of ROOT, then the vectors of the words of a batch."""
        assert batch.words is not None
        unknown = batch.words >= len(self.table)
        known = torch.nn.functional.embedding(batch.words.masked_fill(unknown, 0), self._filled())
        words = torch.where(unknown[..., None], self.learned[0], known)
        root = self.learned[1].expand(len(words), roots, -1)
        return torch.cat([root, words], dim=1)

    def _filled(self) -> torch.Tensor:
        """Return the table of vectors, or one row where it is empty."""
        return self.table if len(self.table) else self.learned[:1].detach()


class _AttentionProbe(torch.nn.Module):
    """Base of both attention probes: it reads ROOT from special tokens.

    Attention between a word and ROOT is a learned scalar times that of the class token plus another
    times that of the other special tokens. A model without special tokens has a learned logit of ROOT.
    """

    def __init__(self, special: bool) -> None:
        super().__init__()
        self.special = torch.nn.Parameter(torch.full((SPECIAL_UNITS,), 0.5), requires_grad=special)
        self.bias = torch.nn.Parameter(torch.zeros(()), requires_grad=not special)

    def logits(self, cells: Float[torch.Tensor, "sentences units units 2"], batch: Batch) -> Logits:
        """Return logits from the scores of every cell (query, key), with the query as dependent or head."""
        score = (cells[..., 0] + cells[..., 1].transpose(1, 2))[:, SPECIAL_UNITS:]
        root = score[:, :, :SPECIAL_UNITS] @ self.special + self.bias
        logits = torch.cat([root[..., None], score[:, :, SPECIAL_UNITS:]], dim=2)
        return logits.masked_fill(~batch.candidates, -torch.inf)


class AttentionProbe(_AttentionProbe):
    """``p(i|j) ∝ exp(Σ_k w_k α^k_ij + u_k α^k_ji)`` with α^k_ij the attention from i to j in head k.

    Attributes:
        weight: Maps × 2: the weight of the dependent attending to its head (u), and the reverse (w).
    """

    def __init__(self, maps: int, special: bool) -> None:
        """Start with all weights at zero."""
        super().__init__(special)
        self.weight = torch.nn.Parameter(torch.zeros(maps, 2))

    def forward(self, batch: Batch) -> Logits:
        """Return the logits of the candidates."""
        assert batch.attention is not None
        return self.logits(batch.attention @ self.weight, batch)


class AttentionWordsProbe(_AttentionProbe):
    """The weights of the attention probe, linear in the two words' vectors.

    ``w_k = W_k (v_i ⊕ v_j) + b_k`` is the sum of a part for the head and one for the dependent, so no
    array of maps × words × words × vector size is needed.
    """

    def __init__(self, maps: int, special: bool, vectors: Vectors, draw: torch.Generator) -> None:
        """Start with small random weights."""
        super().__init__(special)
        self.vectors = WordVectors(vectors)
        start = torch.randn(vectors.size, 4 * maps, generator=draw) * 0.01
        self.weight = torch.nn.Parameter(start)
        self.level = torch.nn.Parameter(torch.zeros(maps, 2))

    def forward(self, batch: Batch) -> Logits:
        """Return the logits of the candidates."""
        assert batch.attention is not None
        words = self.vectors(batch, SPECIAL_UNITS)
        parts = (words @ self.weight).unflatten(2, (4, -1))
        to_head, to_dependent = parts[:, :, 0], parts[:, :, 1]
        of_dependent, of_head = parts[:, :, 2] + self.level[:, 0], parts[:, :, 3] + self.level[:, 1]
        as_query = torch.stack([of_dependent, of_head], dim=3)
        as_key = torch.stack([to_head, to_dependent], dim=3)
        cells = batch.attention @ as_query
        cells = cells + (batch.attention.transpose(1, 2) @ as_key).transpose(1, 2)
        return self.logits(cells, batch)


class DistancesWordsProbe(torch.nn.Module):
    """256 tanh units over distance features and the vectors of both words.

    Features: distance to the head ahead and behind as a share of the sentence's words, indicators of
    the offsets −2 to +2, and of ROOT.
    """

    def __init__(self, vectors: Vectors, draw: torch.Generator) -> None:
        """Start with random weights of the usual size (uniform, ±1/√inputs)."""
        super().__init__()
        self.vectors = WordVectors(vectors)
        features = 2 * NEAR + 4
        inputs = features + 2 * vectors.size

        def random_parameter(*shape: int, reach: float) -> torch.nn.Parameter:
            return torch.nn.Parameter((torch.rand(shape, generator=draw) * 2 - 1) * reach)

        self.distance = random_parameter(features, HIDDEN, reach=inputs**-0.5)
        self.head = random_parameter(vectors.size, HIDDEN, reach=inputs**-0.5)
        self.dependent = random_parameter(vectors.size, HIDDEN, reach=inputs**-0.5)
        self.level = torch.nn.Parameter(torch.zeros(HIDDEN))
        self.out = random_parameter(HIDDEN, reach=HIDDEN**-0.5)

    def forward(self, batch: Batch) -> Logits:
        """Return the logits of the candidates."""
        units = self.vectors(batch, 1)
        heads = units @ self.head
        dependents = units[:, 1:] @ self.dependent + self.level
        hidden = distances(batch) @ self.distance
        hidden = hidden.add_(heads[:, None]).add_(dependents[:, :, None]).tanh_()
        return (hidden @ self.out).masked_fill(~batch.candidates, -torch.inf)


def distances(batch: Batch) -> Float[torch.Tensor, "sentences words candidates 8"]:
    """Return the distance features of every word's candidates, ROOT first."""
    width, device = batch.target.shape[1], batch.target.device
    places = torch.arange(width, device=device)
    offset = places[None, :] - places[:, None]
    share = offset / batch.lengths[:, None, None]
    near = [(offset == distance).expand(share.shape) for distance in range(-NEAR, NEAR + 1)]
    columns = [share.clamp(min=0), (-share).clamp(min=0), *near, torch.zeros_like(share)]
    words = torch.stack([column.float() for column in columns], dim=3)
    root = words.new_zeros(words.shape[0], width, 1, words.shape[3])
    root[..., -1] = 1
    return torch.cat([root, words], dim=2)


def probe_of(name: str, vectors: Vectors | None, maps: WordMaps | None, seed: int) -> torch.nn.Module:
    """Make a probe by its name, with its initial weights.

    Args:
        name: A name of ``CLASSIFIERS``.
        vectors: Word vectors, for probes that read words.
        maps: Word attention, for probes that read it.
        seed: Seed of the initial weights; the state of torch's own generator stays.

    Raises:
        UnknownName: When there is no such probe.
    """
    draw = torch.Generator().manual_seed(seed)
    if name == ATTENTION and maps is not None:
        return AttentionProbe(maps.maps, maps.special)
    if name == ATTENTION_WORDS and maps is not None and vectors is not None:
        return AttentionWordsProbe(maps.maps, maps.special, vectors, draw)
    if name == DISTANCES_WORDS and vectors is not None:
        return DistancesWordsProbe(vectors, draw)
    raise UnknownName("classifier", name, CLASSIFIERS)


BRANCHING = ("right-branching", "left-branching")


def branching(name: str, words: int) -> Int[np.ndarray, " words"]:
    """Return heads when every word's head is its neighbour, with −1 (the root) at the end of the chain.

    "right-branching" takes the word to the right as the head, as the baseline of Clark et al. (2019,
    Table 3) does; "left-branching" the word to the left.

    Example:
        >>> branching("right-branching", 4).tolist(), branching("left-branching", 4).tolist()
        ([1, 2, 3, -1], [-1, 0, 1, 2])
    """
    if name == "left-branching":
        return np.arange(words) - 1
    heads = np.arange(words) + 1
    heads[-1:] = -1
    return heads


def randomise_weights(model: Model, seed: int) -> Model:
    """Return the same model with random weights, except for its word and position embeddings.

    This is the control of Clark et al. (2019, section 5): results of a probe on it are due to the
    embeddings and the probe's own learning. The network is built again from its configuration, with the
    library's own initialisation for the architecture. Then all embeddings (words, positions, text
    types, relative positions) are copied, with the normalisation that belongs to their block.

    Args:
        model: The trained model; it is not changed.
        seed: Seed of the random weights; the state of torch's own generator stays.

    Raises:
        BadInput: When the architecture cannot be built from its configuration.
    """
    network = model.network
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            fresh = type(network)(copy.deepcopy(network.config))
        except Exception as error:  # the library raises many kinds; each becomes one sentence
            reason = " ".join(str(error).split())[:200]
            raise BadInput(
                f"the control needs a model that can be built from its configuration, but "
                f"{type(network).__name__} cannot ({reason}); leave the control out"
            ) from error
    kept = _embedding_weights(network)
    state = network.state_dict()
    with torch.no_grad():
        for name, tensor in fresh.state_dict().items():
            if name in kept:
                tensor.copy_(state[name])
    fresh.to(device=model.device, dtype=network.dtype).eval()
    copy_attention(network, fresh)
    described = model.described | {"weights": "random but for the embeddings", "seed": seed}
    return replace(model, network=fresh, described=described)


def _embedding_weights(network: Any) -> set[str]:
    """Return the names of the weights of embeddings, and of the block that holds the word embeddings.

    Where the word embeddings lie beside the layers, as in decoders, there is no such block.
    """
    words = network.get_input_embeddings()
    blocks = [name for name, module in network.named_modules() if isinstance(module, torch.nn.Embedding)]
    block = next(name for name, module in network.named_modules() if module is words).rpartition(".")[0]
    beside = network.get_submodule(block).modules()
    if not any(isinstance(module, torch.nn.ModuleList) for module in beside):
        blocks.append(block)
    return {name for name in network.state_dict() if any(name.startswith(f"{block}.") for block in blocks)}
