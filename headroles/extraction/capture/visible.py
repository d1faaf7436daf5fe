"""Read the keys that each query can see from the mask that an attention function gets.

The state of one forward pass whose attention is read is here too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch

from headroles.errors import BadInput
from headroles.extraction.capture.cross import CrossLayout
from headroles.extraction.capture.gates import Gates
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.norms import ALL, weigh_in_place
from headroles.extraction.capture.readers import (
    GraphReader,
    LongReader,
    NormReader,
    Reader,
    VisibleArray,
    VisibleMask,
)
from headroles.extraction.capture.threads import Threads
from headroles.plans.masks import Band, Cells

ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}
"""How far weights of a type may lie below 0, and their rows above 1."""
BLOCK = 2**22
"""Cells of a mask that are examined at a time."""


@dataclass(slots=True)
class _Known:
    """What is known of one mask: the sets of examples, and which of them it leaves as they are."""

    mask: object
    causal: bool
    arrays: dict[int, VisibleArray] = field(default_factory=dict)
    masks: dict[int, VisibleMask] = field(default_factory=dict)
    open: list[bool] | None = None


class VisibleSets:
    """The visible sets of a batch under each mask, computed once for a forward pass."""

    def __init__(self, lengths: Sequence[int]) -> None:
        """Take the number of tokens of each example."""
        self._lengths = lengths
        self._known: list[_Known] = []

    def arrays(self, mask: torch.Tensor | None, causal: bool) -> list[VisibleArray]:
        """Return the visible sets of all examples under a mask."""
        sets = self._of(mask, causal).arrays
        if mask is not None and not sets:
            whole = sees_all_keys(mask, self._lengths)
            sets.update({example: None for example, visible in enumerate(whole) if visible})
        return [self.array(mask, causal, example) for example in range(len(self._lengths))]

    def array(self, mask: torch.Tensor | None, causal: bool, example: int) -> VisibleArray:
        """Return the visible set of one example under a mask."""
        sets = self._of(mask, causal).arrays
        if example not in sets:
            sets[example] = visible_under(mask, causal, example, self._lengths[example])
        return sets[example]

    def visible_mask(self, mask: torch.Tensor | None, causal: bool, example: int) -> VisibleMask:
        """Return the visible set as a mask, which for a long example takes no memory unless irregular."""
        masks = self._of(mask, causal).masks
        if example not in masks:
            masks[example] = visible_mask_under(mask, causal, example, self._lengths[example])
        return masks[example]

    def open_examples(self, mask: torch.Tensor | None, causal: bool) -> list[bool]:
        """Return whether a mask hides none of the keys of each example, and adds nothing to its logits."""
        known = self._of(mask, causal)
        if known.open is None:
            known.open = [visible is None for visible in self.arrays(mask, causal)]
            if mask is not None and mask.dtype != torch.bool:
                added = [_own_cells(mask, example, n).any() for example, n in enumerate(self._lengths)]
                known.open = [seen and not bool(any_) for seen, any_ in zip(known.open, added, strict=True)]
        return known.open

    def _of(self, mask: torch.Tensor | None, causal: bool) -> _Known:
        for known in self._known:
            if known.mask is mask and known.causal == causal:
                return known
        self._known.append(_Known(mask, causal))
        return self._known[-1]


def sees_all_keys(mask: torch.Tensor, lengths: Sequence[int]) -> list[bool]:
    """Return whether each example's queries see all of its keys, in one call: results wait for the device."""
    visible = _visible_cells(mask[:, 0])
    tokens = torch.tensor(lengths, device=mask.device)
    real = torch.arange(visible.shape[2], device=mask.device)[None] < tokens[:, None]
    outside = ~(real[:, None] & real[:, : visible.shape[1], None])
    whole: list[bool] = (visible | outside).flatten(1).all(1).tolist()
    return whole


def visible_under(mask: torch.Tensor | None, causal: bool, example: int, length: int) -> VisibleArray:
    """Return the visible set of one example of ``length`` tokens."""
    if mask is None:
        return np.tril(np.ones((length, length), dtype=np.bool_)) if causal and length > 1 else None
    visible = _visible_cells(_own_cells(mask, example, length)[0])
    return None if bool(visible.all()) else visible.cpu().numpy()


def visible_mask_under(mask: torch.Tensor | None, causal: bool, example: int, length: int) -> VisibleMask:
    """Return the visible set of one example as a band of offsets, or else as cells; None for all keys."""
    if mask is None:
        return Band(1 - length, 0, length) if causal and length > 1 else None
    own = mask[min(example, mask.shape[0] - 1), 0, :, :length]
    own = own if own.shape[0] == 1 else own[:length]
    band = Band(
        _first_visible(own[-1], 0) + 1 - length, _first_visible(~_visible_cells(own[0]), length) - 1, length
    )
    step = max(1, BLOCK // length)
    for start in range(0, length, step):
        stop = min(start + step, length)
        rows = _visible_cells(own[start:stop] if own.shape[0] > 1 else own)
        offset = torch.arange(length, device=own.device)[None, :]
        place = torch.arange(start, stop, device=own.device)[:, None]
        inside = (offset - place >= band.low) & (offset - place <= band.high)
        if not torch.equal(rows.expand(stop - start, -1), inside):
            return Cells(np.ascontiguousarray(_visible_cells(own).expand(length, -1).cpu().numpy()))
    return None if band.low <= 1 - length and band.high >= length - 1 else band


def _own_cells(mask: torch.Tensor, example: int, length: int) -> torch.Tensor:
    """Return the part (1 or heads, 1 or tokens, tokens) of a mask for the tokens of an example."""
    return mask[min(example, mask.shape[0] - 1), :, :length, :length]


def _visible_cells(mask: torch.Tensor) -> torch.Tensor:
    """Return the keys that a boolean or additive mask leaves visible."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def _first_visible(row: torch.Tensor, otherwise: int) -> int:
    """Return the first key that a row leaves visible, or ``otherwise`` where there is none."""
    places = torch.nonzero(_visible_cells(row))
    return int(places[0]) if len(places) else otherwise


def hides_later_keys(module: Any, query: torch.Tensor, mask: Any, rest: dict[str, Any]) -> bool:
    """Return whether a layer without a mask hides later keys, by the library's own rule."""
    argument = rest.get("is_causal")
    rule = getattr(module, "is_causal", False) if argument is None else argument
    return bool(rule) and mask is None and query.shape[2] > 1


def check_rows(weights: torch.Tensor, what: str) -> None:
    """Check that weights are attention: at least 0, with rows that sum to at most 1.

    Args:
        weights: Of any heads, queries and keys.
        what: Their place, for the sentence.

    Raises:
        BadInput: When they are not, as where a library returns the scores before the softmax.
    """
    if not weights.numel():
        return
    least, most = float(weights.amin()), float(weights.sum(-1).amax())
    close = ROUNDING[weights.dtype]
    if not (least >= -close and most <= 1 + close):
        raise BadInput(
            f"weights of attention are at least 0, and those of a query sum to at most 1, but {what} gives "
            f"{least:.4g}, and sums of {most:.4g}; these are no attention, and cannot be labelled"
        )


class LayersRead(Exception):
    """Ends a forward pass whose wanted layers are all read: nothing needs its output."""


class ForwardPass:
    """The state of a forward pass: its layer, its reader, and the keys that each mask leaves visible.

    Attributes:
        reader: Takes the attention.
        lengths: Tokens of each example without padding.
        home: Device on which readers get attention; layers may be on others.
        trial: Number of blocks into which an input is cut in the check at load; 0 outside of it.
        layer: The layer whose attention is read next.
        last: Number of layers after which the pass ends; None where its output is needed.
        visible_sets: The keys that the queries can see.
        cross: Layout of cross attention as joint examples; None where other attention is read.
        packed: Whether the examples follow one another in a single row, without padding.
        threads: Do tasks that each form a part of a layer.
        plain: Whether weights are formed as the softmax of scaled products, which the model computes, too.
        by_heads: Whether weights may be formed by groups of heads: the eager function of the model computes
            some heads without the others, and the reader takes groups.
        gated: Output projections of all layers, where a reader needs norms behind gates.
        gates: The gates, read by a pass before.
    """

    def __init__(
        self,
        reader: Reader | GraphReader,
        lengths: Sequence[int],
        way: CaptureMethod,
        *,
        home: torch.device,
        cross: CrossLayout | None = None,
        packed: bool = False,
        trial: int = 0,
        last: int | None = None,
    ) -> None:
        """Begin at the first layer."""
        self.reader = reader
        self.lengths = lengths
        self.home = home
        self.trial = trial
        self.layer, self.last = 0, last
        self.visible_sets = VisibleSets(lengths)
        self.cross, self.packed = cross, packed
        self._modules, norms, self._number = way.modules, way.norms, way.number
        second = reader.norm_reader if isinstance(reader, NormReader) else None
        wanted = norms is not None and (norms.everywhere or second is not None)
        self._norms = norms if wanted else None
        self.gated = () if self._norms is None else self._norms.gated
        self.gates: Gates = ()
        self._second = second
        self._long = [taker for taker in (reader, second) if isinstance(taker, LongReader)]
        self.threads = Threads()
        self.plain = way.plain and not isinstance(reader, GraphReader)
        self.by_heads = way.by_heads and isinstance(reader, LongReader) and reader.by_heads

    def reads(self, module: torch.nn.Module) -> bool:
        """Return whether a module computes attention of the kind that is read."""
        return self._modules is None or module in self._modules

    @property
    def reads_all(self) -> bool:
        """Return whether every module that computes attention is read."""
        return self._modules is None

    def part_of(self, example: int) -> tuple[int, slice]:
        """Return the row of an example in the tensors of the model, and its tokens in that row."""
        if not self.packed:
            return example, slice(None)
        start = sum(self.lengths[:example])
        return 0, slice(start, start + self.lengths[example])

    def finish_layer(self) -> None:
        """Go on to the next layer.

        Raises:
            LayersRead: When all wanted layers are read.
        """
        self.layer += 1
        if self.layer == self.last:
            raise LayersRead

    def long_reader(self, reader: Reader) -> LongReader | None:
        """Return a reader that takes blocks of long examples as such; None for others."""
        return next((taker for taker in self._long if taker is reader), None)

    def norms_of(
        self, value: torch.Tensor, examples: slice = ALL, rows: slice = ALL, heads: slice = ALL
    ) -> torch.Tensor | None:
        """Return the norms of the transformed values of the layer; None where no reader needs them.

        Args:
            value: Values of these examples and heads.
            examples: The examples.
            rows: Queries, where gates stand before the projection.
            heads: Query heads.
        """
        if self._norms is None:
            return None
        gate = self.gates[self.layer][examples, rows, heads] if self.gated else None
        return self._norms.of(self.layer, value, gate, heads)

    def check_rows(self, weights: torch.Tensor) -> None:
        """Check that weights of the layer are attention, as ``check_rows`` states it."""
        check_rows(weights, f"layer {self._number(self.layer)}")

    def readings(
        self, weights: torch.Tensor, norms: torch.Tensor | None
    ) -> Iterator[tuple[Reader, torch.Tensor]]:
        """Yield every reader with the weights that it takes, which are norm-weighted for some.

        The weights are changed in place once the readers of attention have read them.

        Raises:
            BadInput: When they are no attention.
        """
        if not self.plain and not self.trial:  # the check at load compares them with weights that are checked
            self.check_rows(weights)
        first = cast(Reader, self.reader)  # a check of its type takes as long as a small block
        if self._norms is None or norms is None:
            yield first, weights
            return
        weights = weights.float()
        if not self._norms.everywhere:
            yield first, weights
        reader = first if self._norms.everywhere else self._second
        assert reader is not None
        yield reader, weigh_in_place(weights, norms.to(weights))
