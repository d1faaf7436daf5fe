"""Plans of whole batches: what a handful of operations per layer say of many examples together."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float

from headroles.extraction.batched_contrasts import Contrasts, beyond, contrasts_of
from headroles.extraction.batched_plan import padding_of, weights_of
from headroles.extraction.readers import Visible
from headroles.extraction.scratch import Scratches
from headroles.plans.batch import Asking, Stated
from headroles.records.example import Example


@dataclass(frozen=True, slots=True, eq=False)
class BatchPlan:
    """All mask sieves and contrasts of some examples of one padded width.

    Attributes:
        linear: Column of each row of the product that is a score by itself.
        weight: Weights of attention (examples, rows, tokens × tokens): of the mask sieves, then of the
            pairs that contrasts count.
        divisor: For the bias (examples, masks, tokens × tokens); None for the selectivity.
        contrasts: By space.
        said: Which columns have something to say (examples, columns); the others are NaN.
        cells: Eligible queries or arcs (examples, columns); NaN where nothing is said.
        low: Smallest value each column can take; NaN where nothing is said.
        high: Largest value.
        real: Pairs of an example's own tokens of which the first can see the second (examples, 1, tokens,
            tokens).
    """

    linear: tuple[int, ...]
    weight: Float[torch.Tensor, "examples rows pairs"]
    divisor: Float[torch.Tensor, "examples masks pairs"] | None
    contrasts: tuple[Contrasts, ...]
    said: Bool[torch.Tensor, "examples columns"]
    cells: Float[torch.Tensor, "examples columns"]
    low: Float[torch.Tensor, "examples columns"]
    high: Float[torch.Tensor, "examples columns"]
    real: Bool[torch.Tensor, "examples 1 tokens tokens"]

    def scores(
        self, weights: Float[torch.Tensor, "examples heads tokens tokens"], scratch: Scratches
    ) -> Float[torch.Tensor, "examples columns heads"]:
        """Scores of one layer's attention; NaN where a column has nothing to say.

        Where a head's attention on what an example's tokens can see is no number, neither are its scores:
        infinity stands for them, as NaN means something else.

        Args:
            weights: Attention of a padded batch; what lies beyond an example's own tokens does not matter
                (on devices other than processors as long as it is finite).
            scratch: Memory for what is on the way.
        """
        examples, heads = weights.shape[:2]
        flat = weights.flatten(2).mT
        products = self.weight @ flat
        fine = weights.device.type == "cpu" and bool(products.isfinite().all())  # elsewhere asking would wait
        if weights.device.type == "cpu" and not fine:
            weights = weights.masked_fill(~self.real, 0.0)
            flat = weights.flatten(2).mT
            products = self.weight @ flat
        masks = len(self.linear)
        inside = products[:, :masks]
        if self.divisor is not None:
            base = self.divisor @ flat
            inside = torch.where(base > 0, inside / base, torch.nan)
        found = inside.new_full((examples, self.said.shape[1], heads), torch.nan)
        found[:, list(self.linear)] = inside
        row = masks
        for each in self.contrasts:
            seen = products[:, row : row + len(each.columns)]
            found[:, each.columns] = beyond(each, seen, weights, scratch.of(each.shape))
            row += len(each.columns)
        if not fine:
            found.masked_fill_(~products.isfinite().all(1, keepdim=True), torch.inf)
        return found.masked_fill_(~self.said[..., None], torch.nan)


def batch_plan(
    asking: Asking,
    stated: Sequence[Stated],
    examples: Sequence[Example],
    visible: Sequence[Visible],
    width: int,
    device: torch.device,
    words: int = 0,
) -> BatchPlan:
    """Lay a selection of sieves over a padded batch.

    Args:
        asking: What the selection asks.
        stated: What it says of each example.
        examples: The inputs; joint inputs of cross attention are not laid out so.
        visible: Which keys each query of each example can see; None: all.
        width: To which they are padded, at least the longest.
        device: Where attention lies, and the plan with it.
        words: To which words are padded, where parts of a batch are to be of one shape.
    """
    batch = padding_of(examples, visible, device, width, words)
    contrasts = contrasts_of(asking, stated, batch)
    masks = weights_of(asking, stated, batch, sum(len(each.columns) for each in contrasts))
    shape = (len(examples), asking.columns)
    said = torch.zeros(shape, dtype=torch.bool, device=device)
    cells, low, high = (torch.zeros(shape, dtype=batch.exact, device=device) for _ in range(3))
    linear = list(asking.linear)
    said[:, linear] = masks.said
    cells[:, linear] = masks.cells.to(batch.exact)
    low[:, linear], high[:, linear] = masks.low, masks.high
    row = len(linear)
    for each in contrasts:
        reach, stop = each.reach.to(batch.exact), row + len(each.columns)
        masks.weight[:, row:stop], row = each.seen, stop
        said[:, each.columns] = each.said
        cells[:, each.columns] = each.cells.to(batch.exact)
        low[:, each.columns], high[:, each.columns] = -reach, reach
    return BatchPlan(
        linear=asking.linear,
        weight=masks.weight,
        divisor=masks.divisor,
        contrasts=tuple(contrasts),
        said=said,
        cells=cells.masked_fill_(~said, torch.nan),
        low=low.masked_fill_(~said, torch.nan),
        high=high.masked_fill_(~said, torch.nan),
        real=(batch.real[:, :, None] & batch.visible)[:, None],
    )
