"""Surface statistics of plain attention arrays, from any source and without torch."""

import numpy as np
from jaxtyping import Bool, Float

from headroles.arrays import checked_attention, visible_keys
from headroles.errors import BadInput
from headroles.records.example import Example
from headroles.sieves.apply import apply
from headroles.sieves.marks import USUAL
from headroles.sieves.spread import entropies
from headroles.sieves.surface import COLUMNS, MASSES, laid


def surface_of(
    attention: Float[np.ndarray, "layers heads tokens tokens"],
    example: Example,
    *,
    visible: Bool[np.ndarray, "tokens tokens"] | None = None,
    marks: str = USUAL,
    smoothing: float = 0.0,
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """Surface statistics of every head of plain attention arrays on one example.

    Args:
        attention: Float, (layers, heads, tokens, tokens); rows are queries and sum to 1.
        example: What the tokens are.
        visible: Whether query i can see key j. None: read from the attention; causal where every
            cell above the diagonal is 0 in all heads and every other cell is not 0 in some, else
            every key is visible.
        marks: Characters that count as punctuation.
        smoothing: Share of each row that is spread evenly before entropies are taken; the released
            code takes ``headroles.sieves.spread.SMOOTHING``.

    Returns:
        By column, mean attention (0 to 1), or entropy (nats, 0 to ln(tokens)); NaN where the input
        has nothing of the kind, or its visible keys leave no choice.

    Raises:
        BadInput: For attention of another rank or size, with NaN or negative cells, or with rows
            that do not sum to 1; for marks that are none, or smoothing out of range.

    Source:
        Clark et al. 2019, sections 3.1 to 3.3; definitions of the released code.

    Example:
        >>> tokens = ("[CLS]", "it", "rains", ".", "[SEP]")
        >>> example = Example("it", tokens, segment=np.array([-1, 0, 0, 0, -1]))
        >>> found = surface_of(np.full((1, 2, 5, 5), 0.2), example)
        >>> found["surface:separator"].round(12).tolist(), found["surface:previous"].round(12).tolist()
        ([[0.2, 0.2]], [[0.16, 0.16]])
    """
    if not 0 <= smoothing < 1:
        raise BadInput(f"smoothing must be at least 0 and below 1, but {smoothing} came")
    weights = checked_attention(attention, example)
    here = laid(example, visible_keys(weights, visible), marks=marks, smoothing=smoothing)
    values = np.stack([apply(here.plan, layer) for layer in weights], axis=1)
    spread = entropies(weights, smoothing)
    for column, rows in enumerate((spread, spread[..., here.first]), start=len(MASSES)):
        if not np.isnan(here.even[column]):
            values[column] = rows.mean(axis=-1)
    return dict(zip(COLUMNS, values, strict=True))
