"""Sums over the attention of one layer on one input, by FlexAttention, without forming the attention.

With A_ij = exp(s q_i·k_j − L_i) over the visible keys of query i, and L the log-sum-exp of its logits:

- Σ_j A_ij m_j is the output of attention with m in the place of values, for every set of keys m;
- single cells are computed from their queries, keys and L_i;
- within a set of keys S, −Σ_S A ln A = L_i Σ_S A_ij − s q_i · Σ_S A_ij k_j: the set's keys are the values;
- L'_i, the log-sum-exp over compared pairs alone, gives their mass in a row, exp(L'_i − L_i). The sums by
  offset are the gradient of Σ_i exp(L'_i − L_i) L'_i with respect to a bias by offset. Its first factor is
  held fixed.

On a GPU, FlexAttention is compiled, and no tensor has a cell for each pair of tokens. On a processor it runs
uncompiled and forms the logits of a call inside torch, which is slow and meant for tests.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, flex_attention

from headroles.extraction.capture.readers import VisibleMask
from headroles.plans.masks import Band

BLOCK = 128
"""Queries and keys in a tile of FlexAttention."""
WIDEST = 128
"""Most values of a key in one call."""
LEAST = 16
"""Fewest values of a key that the compiled kernels take; others are filled up to a power of 2 with zeros."""
CELLS = 2**24
"""Most numbers of queries and keys that are gathered for single cells at a time."""

ANY = 2**31
"""Most shapes and rules for which torch traces a call: no limit."""

Rule = Callable[[Any, Any, Any, Any], Any]
"""Whether a key is seen, from the numbers of the input, the head, the query and the key."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The pairs of units that one distance profile compares.

    Attributes:
        unit: Unit of each token; −1 for none.
        taken: Whether a token belongs to a unit whose pairs are compared.
        apart: Whether a unit is not compared with itself.
        scope: The pairs of units that are compared; None for all.
        units: Number of units.
    """

    unit: Int[torch.Tensor, " tokens"]
    taken: Bool[torch.Tensor, " tokens"]
    apart: bool
    scope: Bool[torch.Tensor, "units units"] | None
    units: int

    def rule(self, shown: Rule) -> Rule:
        """Return the rule of visible keys that are compared."""
        own, taken, apart, scope = self.unit.clamp(min=0), self.taken, self.apart, self.scope

        def compared(batch: Any, head: Any, query: Any, key: Any) -> Any:
            there = shown(batch, head, query, key) & taken[query] & taken[key]
            if apart:
                there = there & (own[query] != own[key])
            return there if scope is None else there & scope[own[query], own[key]]

        return compared


class FusedAttention:
    """The attention of one layer on one input, read through its sums.

    Attributes:
        heads: Number of heads.
        tokens: Number of tokens.
        home: Device on which sums are returned.
    """

    def __init__(
        self,
        query: Float[torch.Tensor, "heads tokens size"],
        key: Float[torch.Tensor, "key_heads tokens size"],
        scale: float,
        shown: VisibleMask,
        home: torch.device,
    ) -> None:
        """Take the queries and keys of one input without its padding, and the keys that queries see.

        Sums are taken in float32, since kernels round weights to the precision of their values. Queries and
        keys of half precision are exact in float32, and in the TF32 that a GPU multiplies in where allowed.
        """
        self.heads, self.tokens, _ = query.shape
        self.home = home
        self._scale, self._shown = scale, shown
        with torch.inference_mode(False):  # tensors of inference mode take no part in a gradient
            self._query, self._key = (given.to(torch.float32, copy=True)[None] for given in (query, key))
            self._rule = _rule_of(shown, self.tokens, query.device)
        self._levels: torch.Tensor | None = None

    @property
    def levels(self) -> Float[torch.Tensor, "heads tokens"]:
        """Return L, the log-sum-exp of the logits of every row, float32."""
        if self._levels is None:
            self._attend(self._key.new_zeros((1, self._key.shape[1], self.tokens, LEAST)))
        assert self._levels is not None
        return self._levels

    def sums(
        self, columns: Float[torch.Tensor, "tokens columns"]
    ) -> Float[torch.Tensor, "heads tokens columns"]:
        """Return Σ_j A_ij m_j of every row, for columns m over keys that all heads share; float32."""
        shared = columns.to(self._key)[None, None].expand(1, self._key.shape[1], -1, -1)
        return self._attend(shared).to(self.home)

    def spread(
        self, sets: Float[torch.Tensor, "tokens sets"], label: Int[torch.Tensor, " tokens"]
    ) -> tuple[Float[torch.Tensor, "heads tokens sets"], Float[torch.Tensor, "heads tokens"]]:
        """Return the masses of each row on sets of keys, and one mass times an entropy in nats.

        This mass is that on the set of the query, and the entropy is that within the same set.

        Args:
            sets: Sets of keys, 1 inside.
            label: The set of each query, from 0; −1 for none, which gives 0.
        """
        masses, moved = self.sums(sets), []
        for own in sets.T.to(self._key):
            moved.append(self._attend(self._key * own[None, None, :, None]).to(self.home))
        chosen, there = label.clamp(min=0).to(self.home), (label >= 0).to(self.home)
        mass = masses.gather(2, chosen[None, :, None].expand(self.heads, -1, 1))[..., 0].clamp(min=0)
        keys = torch.stack(moved)[chosen, :, torch.arange(self.tokens, device=self.home)].transpose(0, 1)
        dots = (self._query[0].to(self.home) * keys).sum(-1) * self._scale
        spread = self.levels.to(self.home) * mass - dots + torch.xlogy(mass, mass)
        return masses, spread * there

    def cells(
        self, query: Int[np.ndarray, " cells"], key: Int[np.ndarray, " cells"]
    ) -> Float[torch.Tensor, "heads cells"]:
        """Return the attention of single cells, float32; 0 where the query does not see the key."""
        step = max(1, CELLS // (self.heads * self._query.shape[3]))
        parts = [self._cells(query[at : at + step], key[at : at + step]) for at in range(0, len(query), step)]
        return torch.cat(parts, dim=1) if parts else torch.zeros((self.heads, 0), device=self.home)

    def _cells(self, query: np.ndarray, key: np.ndarray) -> torch.Tensor:
        device, levels = self._query.device, self.levels
        rows, columns = (torch.from_numpy(given.astype(np.int64)).to(device) for given in (query, key))
        queries = self._query[0].index_select(1, rows)
        queries = queries.view(self._key.shape[1], -1, *queries.shape[1:])
        keys = self._key[0].index_select(1, columns)[:, None]
        logits = (queries * keys).sum(-1).flatten(0, 1) * self._scale
        hidden = ~self._rule(torch.zeros_like(rows), torch.zeros_like(rows), rows, columns)
        weights: torch.Tensor = (logits - levels.index_select(1, rows)).exp().masked_fill(hidden, 0.0)
        return weights.to(self.home)

    def offsets(
        self, compared: Compared, weight: Float[torch.Tensor, " tokens"]
    ) -> tuple[Float[torch.Tensor, "heads offsets"], Float[torch.Tensor, "heads tokens"]]:
        """Return the weighted attention on compared pairs, summed by offset and by query; float32.

        Args:
            compared: The pairs. Offset d between units has index ``d + units − 1``.
            weight: Weight of each query.
        """
        most, levels = compared.units - 1, self.levels
        with torch.inference_mode(False), torch.enable_grad():
            compared = replace(
                compared,
                unit=compared.unit.clone(),
                taken=compared.taken.clone(),
                scope=None if compared.scope is None else compared.scope.clone(),
            )
            own = compared.unit.clamp(min=0)
            bias = torch.zeros((self.heads, 2 * most + 1), device=self._query.device, requires_grad=True)

            def by_offset(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
                return score + bias[head, own[key] - own[query] + most]

            rule = compared.rule(self._rule)
            values = self._key.new_zeros((1, self._key.shape[1], self.tokens, LEAST))
            _, inside = self._flex(values, rule, by_offset)
            masses = (inside.detach()[0] - levels.clone()).exp().nan_to_num(0.0) * weight.clone()
            (sums,) = torch.autograd.grad(inside, bias, masses[None])
        return sums.to(self.home), masses.to(self.home)

    def _attend(self, values: torch.Tensor) -> Float[torch.Tensor, "heads tokens values"]:
        """Return A times values (1, key heads, tokens, values), float32; the first call also sets L."""
        parts = []
        with torch.inference_mode(False), torch.no_grad():
            for start in range(0, values.shape[3], WIDEST):
                part = values[..., start : start + WIDEST]
                count = part.shape[3]
                width = max(LEAST, 1 << (count - 1).bit_length())
                output, levels = self._flex(
                    torch.nn.functional.pad(part, (0, width - count)), self._rule, None
                )
                parts.append(output[0, ..., :count])
                if self._levels is None:
                    self._levels = levels[0]
        return torch.cat(parts, dim=2) if len(parts) > 1 else parts[0]

    def _flex(self, values: torch.Tensor, rule: Rule, change: Any) -> tuple[torch.Tensor, torch.Tensor]:
        output, more = _function(self._query.device.type)(
            self._query,
            self._key,
            values,
            score_mod=change,
            block_mask=_tiles(rule, self._shown, self.tokens, self._query.device),
            scale=self._scale,
            enable_gqa=self.heads != self._key.shape[1],
            return_aux=AuxRequest(lse=True),
        )
        return output, more.lse


def _rule_of(shown: VisibleMask, tokens: int, device: torch.device) -> Rule:
    """Return the rule of the keys that queries see; an irregular mask is held whole, as in the model."""
    if isinstance(shown, Band):
        low, high = (torch.tensor(end, device=device) for end in (shown.low, shown.high))

        def near(batch: Any, head: Any, query: Any, key: Any) -> Any:
            return (key - query >= low) & (key - query <= high)

        return near
    if shown is None:
        return lambda batch, head, query, key: query >= 0
    cells = torch.from_numpy(shown.rows(0, tokens).copy()).to(device)
    return lambda batch, head, query, key: cells[query, key]


def _tiles(rule: Rule, shown: VisibleMask, tokens: int, device: torch.device) -> BlockMask:
    """Return the tiles with visible keys, and the rule inside them."""
    count = -(-tokens // BLOCK)
    first, last = np.zeros(count, np.int64), np.full(count, count - 1)
    if isinstance(shown, Band):
        start = np.arange(count) * BLOCK
        stop = np.minimum(start + BLOCK, tokens) - 1
        first = np.clip(start + shown.low, 0, tokens - 1) // BLOCK
        last = np.clip(stop + shown.high, 0, tokens - 1) // BLOCK
    order = (first[:, None] + np.arange(count)) % count
    number, places = (torch.from_numpy(given.astype(np.int32)) for given in (last - first + 1, order))
    return BlockMask.from_kv_blocks(
        number[None, None].to(device),
        places[None, None].to(device),
        BLOCK_SIZE=BLOCK,
        mask_mod=rule,
        seq_lengths=(tokens, tokens),
    )


@cache
def _function(device: str) -> Any:
    """Return FlexAttention, compiled for all lengths; uncompiled on a processor, which has no kernel.

    Torch compiles a call anew for each width of values and kind of rule. It must not stop at its usual limit,
    since it would then run uncompiled and form all weights.
    """
    limits = {"recompile_limit": ANY, "accumulated_recompile_limit": ANY, "fail_on_recompile_limit_hit": True}
    run: Any = flex_attention
    if device != "cpu":
        run = torch.compile(flex_attention, dynamic=True)
    else:
        with warnings.catch_warnings(), torch.inference_mode(False):
            warnings.simplefilter("ignore")  # torch says once that it runs uncompiled; that is meant here
            one = torch.zeros((1, 1, 1, LEAST))
            flex_attention(one, one, one)

    def unlimited(*given: Any, **options: Any) -> Any:
        with torch._dynamo.config.patch(limits):
            return run(*given, **options)

    return unlimited
