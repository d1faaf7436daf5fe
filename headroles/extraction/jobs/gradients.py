"""Measure how much a loss depends on attention: gradients to attention weights, by kind of key."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.model.losses import (
    CAUSAL,
    CLASSES,
    LossModel,
    LossOptions,
    LossTarget,
    losses,
    prepare_target,
)
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.example import Example
from headroles.records.passage import Passage

KeyKinds = Callable[[Example], Mapping[str, Bool[np.ndarray, " tokens"]]]
MEASURES = ("gradient", "attention×gradient")
BUDGET = 2**30
"""Most bytes of the weights, gradients and logits of a batch, of all layers at once."""
COPIES, LOGITS = 4, 3
"""Numbers of arrays of the size of a layer's weights, and of the logits, that a backward pass holds."""


def gradient_shards(
    model: LossModel,
    passages: Sequence[Passage],
    kinds: KeyKinds,
    *,
    options: LossOptions,
    batch_size: int,
    max_length: int,
    advance: Callable[[int], None],
) -> Iterator[Shard]:
    """Yield the importance of attention to each kind of key, for every input, layer and head.

    ``gradient:KIND`` is the mean over the keys j of the kind of each key's mean of |∂loss/∂A_ij| over the
    queries i that can see it (any tokens of the input, special ones included). So in a decoder early keys
    do not weigh more because more queries see them. ``attention×gradient:KIND`` is the same mean of
    |A_ij ∂loss/∂A_ij|. The loss is that of the input alone (the sum over a batch gives each input its own
    gradient), in nats or as ``losses`` defines it, so values are 0 or more and have no upper bound. A
    masked token is of no kind: the model does not see which one it is. Weights are varied as if rows need
    not sum to 1. NaN where an input has no such key, or no loss.

    Source: Clark et al. (2019), section 3.2 and Figure 3 (gradient of the masked-language-modelling loss).

    Args:
        model: From ``load_with_loss``.
        passages: All single texts, or all pairs.
        kinds: Returns the tokens of each kind of an example, always the same kinds in the same order.
        options: Options of the loss.
        batch_size: Largest batch; smaller where the attention of all layers would not fit in memory.
        max_length: Longest input, in tokens.
        advance: Called with the number of inputs done since the last call.

    Yields:
        Shards in the order of the passages. Columns: ``gradient:KIND`` for all kinds, then
        ``attention×gradient:KIND``; ``cells`` counts the keys of the kind.

    Raises:
        BadInput: When labels do not fit, a model of next words sees later ones, or memory is too small.
    """
    return stream(
        model,
        passages,
        _ImportanceJob(model, kinds, options),
        batch_size=min(batch_size, max_batch_size(model, max_length)),
        max_length=max_length,
        advance=advance,
    )


def max_batch_size(model: LossModel, length: int) -> int:
    """Return the largest batch of inputs of a length whose attention and logits fit in ``BUDGET``, or 1.

    A decoder of classes answers at the last token that is not padding. Where its configuration does not
    name the padding token that it gets, inputs are read one by one.
    """
    pad = getattr(model.tokenizer, "pad_token_id", None) or 0
    if model.about == CLASSES and model.network.config.pad_token_id != pad:
        return 1
    words = 0 if model.about == CLASSES else int(model.network.config.get_text_config().vocab_size)
    cells = COPIES * model.layers * model.heads * length**2 + LOGITS * length * words
    return max(1, BUDGET // (cells * int(model.network.dtype.itemsize)))


@dataclass(slots=True)
class _Input:
    """One input that is ready for the model, with masked tokens replaced.

    Attributes:
        place: Its place in the shard.
        tokenised: Pieces that the model reads.
        target: Target of its loss.
        keys: Tokens of each kind (kinds, tokens).
    """

    place: int
    tokenised: Tokenised
    target: LossTarget
    keys: Bool[np.ndarray, "kinds tokens"]


class _Table:
    """The importances of one shard while they are computed."""

    def __init__(self, tokenised: Sequence[Tokenised], kinds: tuple[str, ...], model: LossModel) -> None:
        count = len(tokenised)
        self.tokenised, self.kinds = tokenised, kinds
        shape = (len(MEASURES), len(kinds), count, model.layers, model.heads)
        self.values = np.full(shape, np.nan, dtype=np.float32)
        self.cells = np.full((len(kinds), count), np.nan)

    def shard(self) -> Shard:
        """Return the finished importances."""
        columns = len(MEASURES) * len(self.kinds)
        return Shard.of(
            self.tokenised,
            values=self.values.reshape(columns, *self.values.shape[2:]),
            cells=np.tile(self.cells, (len(MEASURES), 1)),
            null=np.zeros((0, len(self.tokenised))),
            low=np.zeros(columns),
            high=np.full(columns, np.inf),
        )


class _ImportanceJob:
    """The job of measuring the importance of attention for the loss."""

    def __init__(self, model: LossModel, kinds: KeyKinds, options: LossOptions) -> None:
        self._model, self._kinds, self._options = model, kinds, options

    def table(self, tokenised: Sequence[Tokenised]) -> _Table:
        """Return empty importances of a shard, with the kinds of its first input."""
        names = tuple(self._kinds(example_of(tokenised[0], None, arcs=False)))
        return _Table(tokenised, names, self._model)

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[_Input]:
        """Mask tokens, and find the keys of each kind that remain."""
        batch = []
        for place in places.tolist():
            by_kind = self._kinds(example_of(tokenised[place], None, arcs=False))
            masked, target = prepare_target(self._model, tokenised[place], self._options)
            keys = np.stack(list(by_kind.values()))
            if masked is not tokenised[place]:
                keys[:, target.places] = False
            batch.append(_Input(place, masked, target, keys))
        return batch

    def reader(self, batch: list[_Input], table: _Table) -> "_ImportanceReader":
        """Return the reader of a batch's gradients."""
        for item in batch:
            table.cells[:, item.place] = item.keys.sum(axis=1)
        return _ImportanceReader(self._model, batch, table)

    def result(self, table: _Table) -> Shard:
        """Return the finished importances."""
        return table.shard()


class _ImportanceReader:
    """Takes each layer's gradients in the backward pass, as soon as they are computed."""

    def __init__(self, model: LossModel, batch: list[_Input], table: _Table) -> None:
        self.model, self.batch, self.table = model, batch, table
        self.has_loss = [True] * len(batch)

    def read_graph(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        """Request the gradients to a layer's weights."""
        if self.model.about == CAUSAL:
            self._check_causal(visible)
        attention, visible_sets = weights.detach(), list(visible)

        def take(gradient: torch.Tensor) -> None:
            self._write(layer, attention, gradient, visible_sets)

        weights.register_hook(take)  # type: ignore[no-untyped-call]

    def loss(self, output: torch.Tensor) -> torch.Tensor:
        """Return the sum of the inputs' losses, in which each input has its own gradient."""
        values, self.has_loss = losses(self.model, output, [item.target for item in self.batch])
        return values.sum()

    def _write(
        self, layer: int, attention: torch.Tensor, gradient: torch.Tensor, visible: list[VisibleArray]
    ) -> None:
        """Write means over the keys of each kind, of each key's mean over the queries that see it."""
        for row, (item, mask) in enumerate(zip(self.batch, visible, strict=True)):
            if not self.has_loss[row]:
                continue
            n = item.tokenised.size
            size = gradient[row, :, :n, :n].abs()
            size = size if size.dtype == torch.float64 else size.float()
            if mask is not None:
                size = size * torch.from_numpy(mask).to(size.device)
            queries = np.full(n, n) if mask is None else mask.sum(axis=0)
            keys = item.keys.T * (queries > 0)[:, None]
            share = keys / np.maximum(queries, 1)[:, None] / np.maximum(keys.sum(axis=0), 1)
            weight = torch.from_numpy(share).to(size.device, size.dtype)
            means = torch.stack([size.sum(1), (size * attention[row, :, :n, :n]).sum(1)]) @ weight
            exist = keys.any(axis=0)
            self.table.values[:, exist, item.place, layer] = means.permute(0, 2, 1).cpu().numpy()[:, exist]

    def _check_causal(self, visible: Sequence[VisibleArray]) -> None:
        for item, mask in zip(self.batch, visible, strict=True):
            if item.tokenised.size > 1 and (mask is None or np.triu(mask, 1).any()):
                raise BadInput(
                    f"a loss of next words needs a model that cannot see them, but "
                    f"{self.model.described['name']!r} ({self.model.described['architecture']}) does; "
                    f"give a model for masked words, or a decoder"
                )
