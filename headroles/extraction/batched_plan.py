"""Mask sieves laid over a whole batch at once, as ``headroles.sieves.plan`` lays them over one example."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headroles.extraction.batched_masks import Cube, laid_out, padded
from headroles.extraction.readers import Visible
from headroles.plans.batch import Asking, Stated
from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class Padding:
    """The tokens of a padded batch.

    Attributes:
        examples: Its inputs.
        sizes: Tokens of each.
        width: Tokens of the widest.
        real: Tokens that are no padding (examples, tokens).
        special: Special tokens and padding (examples, tokens).
        words: Words that spaces of words are padded to, where that is more than there are.
        visible: The keys each query can see, padding never (examples, 1 or tokens, tokens).
        everything: Whether every query of every example sees all keys of its own.
        device: Where all of this lies.
    """

    examples: Sequence[Example]
    sizes: Sequence[int]
    width: int
    real: Bool[torch.Tensor, "examples tokens"]
    special: Bool[torch.Tensor, "examples tokens"]
    words: int
    visible: Cube
    everything: bool
    device: torch.device

    @property
    def exact(self) -> torch.dtype:
        """The best precision that the device has, for numbers per token."""
        return torch.float32 if self.device.type == "mps" else torch.float64


def padding_of(
    examples: Sequence[Example], visible: Sequence[Visible], device: torch.device, width: int, words: int
) -> Padding:
    """The tokens of a batch, padded on the right to a width, and words to a number of their own."""
    sizes = [example.size for example in examples]
    special = torch.from_numpy(padded([each.special for each in examples], width, 1, np.bool_)).to(device)
    real = torch.arange(width, device=device)[None] < torch.tensor(sizes, device=device)[:, None]
    everything = all(seen is None for seen in visible)
    if everything:
        seen = real[:, None]
    else:
        cells = np.zeros((len(sizes), width, width), dtype=np.bool_)
        for row, (own, size) in enumerate(zip(visible, sizes, strict=True)):
            cells[row, :size, :size] = True if own is None else own
        seen = torch.from_numpy(cells).to(device)
    return Padding(examples, sizes, width, real, special, words, seen, everything, device)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The mask sieves of a batch, ready to be multiplied with attention.

    Attributes:
        weight: Score = Σ weight · attention (examples, masks and rows beside them, tokens × tokens).
        divisor: For the bias: the score is divided by Σ divisor · attention; None for selectivity.
        said: Whether the sieve has eligible queries in the example; elsewhere its score is NaN.
        cells: Eligible queries, or groups where those are counted (examples, masks).
        low: Smallest value the score can take; unspecified where nothing is said.
        high: Largest value.
    """

    weight: Float[torch.Tensor, "examples rows pairs"]
    divisor: Float[torch.Tensor, "examples masks pairs"] | None
    said: Bool[torch.Tensor, "examples masks"]
    cells: Int[torch.Tensor, "examples masks"]
    low: Float[torch.Tensor, "examples masks"]
    high: Float[torch.Tensor, "examples masks"]


def weights_of(asking: Asking, stated: Sequence[Stated], batch: Padding, beside: int = 0) -> Weights:
    """Chance, eligible queries and weights of all mask sieves over all examples; see ``sieves.plan``.

    Args:
        asking: What the selection asks.
        stated: What it says of each example.
        batch: The tokens.
        beside: Further rows of the product that others fill in.
    """
    whole, scopes = _squares(asking, stated, batch, beside)
    counted = whole[:, : len(asking.linear)]
    size = counted.sum(-1)
    room = torch.stack([each.sum(-1).expand_as(size[:, 0]) for each in scopes], dim=1)
    eligible = (size > 0) & (size < room) & ~batch.special[:, None]
    query, groups = _query_weights(_labels(stated, batch), eligible, batch.exact)
    chance = size.to(batch.exact) / room.clamp(min=1)
    queries = (query > 0).sum(-1)
    arcs = torch.tensor(asking.arcs, dtype=torch.bool, device=batch.device)
    expected = (query * chance).sum(-1)
    scaled = query if asking.ratio else query / (1 - expected)[..., None]
    counted *= scaled.float()[..., None]
    level = (scaled * chance).float()[..., None]
    divisor = None
    if asking.ratio:
        divisor = torch.stack([scope * level[:, number] for number, scope in enumerate(scopes)], dim=1)
        low, high = torch.zeros_like(expected), torch.where(query > 0, 1 / chance, 0.0).amax(-1)
    else:
        for number, scope in enumerate(scopes):
            counted[:, number].addcmul_(scope, level[:, number], value=-1)
        low, high = -expected / (1 - expected), torch.ones_like(expected)
    return Weights(
        weight=whole.flatten(2),
        divisor=None if divisor is None else divisor.flatten(2),
        said=groups > 0,
        cells=torch.where(arcs, groups, queries),
        low=low,
        high=high,
    )


def _squares(
    asking: Asking, stated: Sequence[Stated], batch: Padding, beside: int
) -> tuple[Float[torch.Tensor, "e all t t"], list[Float[torch.Tensor, "e #t t"]]]:
    """S (with room for rows beside it) and, for each mask, R of every query as 1 and 0.

    Masks that are compared within the same keys share one tensor; R is of width 1 where all queries have the
    same.
    """
    shape = (len(stated), len(asking.linear) + beside, batch.width, batch.width)
    counted = torch.empty(shape, device=batch.device)
    seen = batch.visible, batch.visible.float()
    known: dict[int, tuple[Cube, torch.Tensor]] = {}
    words, scopes = ~batch.special[:, None], []
    for number, specials in enumerate(asking.specials):
        (scope, level), given = seen, [each.scope[number] for each in stated]
        own = [each for each in given if each is not None]
        if own:
            key = id(own[0])  # sieves that share a scope's function got one and the same answer
            if key not in known:
                inside = laid_out(own, batch.sizes, batch.width, batch.device) & batch.visible
                known[key] = inside, inside.float()
            scope, level = known[key]
        cells = laid_out([each.counted[number] for each in stated], batch.sizes, batch.width, batch.device)
        counted[:, number] = cells & (scope if specials else scope & words)
        scopes.append(level)
    return counted, scopes


def _labels(stated: Sequence[Stated], batch: Padding) -> Int[torch.Tensor, "examples masks tokens"]:
    """The group of each query; every query its own where a sieve has no groups."""
    shape = (len(stated), len(stated[0].labels), batch.width)
    labels = np.broadcast_to(np.arange(batch.width), shape).copy()
    for row, (each, size) in enumerate(zip(stated, batch.sizes, strict=True)):
        for number, own in enumerate(each.labels):
            if own is not None:
                labels[row, number, :size] = own
    return torch.from_numpy(np.maximum(labels, 0)).to(batch.device)


def _query_weights(
    labels: Int[torch.Tensor, "e m t"], eligible: Bool[torch.Tensor, "e m t"], exact: torch.dtype
) -> tuple[Float[torch.Tensor, "e m t"], Int[torch.Tensor, "e m"]]:
    """Weights of the eligible queries, summing to 1, and the number of groups that share them."""
    examples, masks, _ = labels.shape
    most = int(labels.max()) + 1 if labels.numel() else 1
    size = torch.zeros((examples, masks, most), dtype=exact, device=labels.device)
    size.scatter_add_(2, labels, eligible.to(exact))
    groups = (size > 0).sum(-1)
    share = 1 / (groups.clamp(min=1)[..., None] * size.clamp(min=1))
    return torch.where(eligible, share.gather(2, labels), 0.0), groups
