"""The cells that a sieve counts on one input, as ``headroles sieves NAME --show`` draws them."""

import numpy as np
from jaxtyping import Bool

from headroles.plans.cells import SieveCells
from headroles.records.example import Example
from headroles.sieves.base import MaskSieve, Sieve
from headroles.sieves.weights.calls import SieveCalls
from headroles.sieves.weights.plan import cells_of, contrast_column, plan, query_weights


def count_cells(
    sieve: Sieve, example: Example, visible: Bool[np.ndarray, "tokens tokens"] | None = None
) -> SieveCells:
    """Return the cells that a sieve counts on an example, with their weights in its selectivity.

    A sieve that computes from attention counts no cells; a note says so.

    Args:
        sieve: A mask sieve, or a scorer.
        example: The input, with the annotation that the sieve needs.
        visible: Whether query i can see key j; None when every key is visible.

    Raises:
        BadSieve: When the sieve breaks its contract.
        BadInput: When the sieve needs annotation that the example lacks.

    Example:
        >>> from headroles.sieves.built_in.positions import following
        >>> cells = count_cells(following, Example("note", ("it", "rains", "again")))
        >>> cells.counted.astype(int).tolist(), cells.asking.tolist()
        ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [True, True, False])
    """
    n = example.size
    nothing = np.zeros((n, n), dtype=np.bool_)
    counted, compared, weight = nothing, nothing, np.zeros((n, n))
    notes = []
    masks = [sieve] if isinstance(sieve, MaskSieve) else []
    contrast = getattr(sieve, "contrast", None)
    beside = {contrast_column(sieve): contrast} if not masks and contrast is not None else {}
    laid = plan(example, masks, visible, beside=beside)
    if isinstance(sieve, MaskSieve) and laid.linear.size:
        weight = laid.weight[0].reshape(n, n)
        whole, scope = cells_of(sieve, SieveCalls(example), visible)
        asking = (weight != 0).any(axis=1)
        counted = whole & asking[:, None]
        compared = (np.ones_like(nothing) if scope is None else scope) & asking[:, None]
    elif isinstance(sieve, MaskSieve):
        notes.append("No query counts on this input: it has no such keys, or nothing to compare them with.")
    else:
        notes.append("This sieve counts no cells: it computes its score from the attention of a whole layer.")
    if contrast is not None:
        pairs = int((laid.profiles[0].weight > 0).sum()) if laid.profiles else 0
        whole_pairs = int(laid.profiles[0].inside.sum()) if laid.profiles else 0
        notes.append(
            f"Contrast beyond distance{'' if contrast.others is None else ' and key'}: "
            f"{pairs} of {whole_pairs} pairs of "
            f"{'words' if contrast.words else 'tokens'} count; a role needs more than {contrast.margin:g}."
        )
    if (swap := getattr(sieve, "swap", None)) is not None:
        notes.append(
            f"Contrast beyond position: in a run, inputs of equal length exchange layouts. A role then needs "
            f"more than {swap.margin:g} here, in place of the contrast beyond distance."
        )
    return SieveCells(
        sieve=sieve.name,
        question=getattr(sieve, "question", ""),
        example=example,
        counted=counted,
        compared=compared,
        asking=np.asarray(compared.any(axis=1)),
        weight=weight,
        notes=tuple(notes),
    )


def counted_cells(
    sieve: MaskSieve, example: Example, visible: Bool[np.ndarray, "tokens tokens"] | None = None
) -> Bool[np.ndarray, "tokens tokens"]:
    """Return the cells that a mask sieve counts on an example: those of ``count_cells``, and nothing else.

    Args:
        sieve: The sieve.
        example: The input, with the annotation that the sieve needs.
        visible: Whether query i can see key j; None when every key is visible.

    Raises:
        BadSieve: When the sieve breaks its contract.
        BadInput: When the sieve needs annotation that the example lacks.

    Example:
        >>> from headroles.sieves.built_in.positions import following
        >>> counted_cells(following, Example("note", ("it", "rains"))).astype(int).tolist()
        [[0, 1], [0, 0]]
    """
    calls = SieveCalls(example)
    counted, scope = cells_of(sieve, calls, visible)
    size = counted.sum(axis=1)
    room = example.size if scope is None else scope.sum(axis=1)
    query, _ = query_weights(calls.labels(sieve), (size > 0) & (size < room) & ~example.special)
    cells: np.ndarray = counted & (query > 0)[:, None]
    return cells
