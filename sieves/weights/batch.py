"""What the sieves of a selection say of an example, as kinds of mask, each function asked once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headroles.plans.batch import Asking, Stated
from headroles.plans.masks import Cells, Mask
from headroles.records.example import Example
from headroles.sieves.base import Contrast, MaskSieve
from headroles.sieves.masks import KINDS, as_mask
from headroles.sieves.weights.plan import asked, columns_of, matched


def contrasts_of(sieves: Sequence[MaskSieve], beside: Mapping[str, Contrast]) -> dict[str, Contrast]:
    """All contrasts by their columns: those of mask sieves, then those of sieves that are no masks."""
    return {matched(each): each.contrast for each in sieves if each.contrast is not None} | dict(beside)


def asking(sieves: Sequence[MaskSieve], statistic: str, beside: Mapping[str, Contrast]) -> Asking:
    """What a selection asks of every example.

    Args:
        sieves: Mask sieves.
        statistic: "selectivity" or "bias".
        beside: Contrasts of sieves that are no masks, by their columns, which come last.

    Example:
        >>> from headroles.sieves.built_in.block import block
        >>> from headroles.sieves.built_in.local import local
        >>> found = asking([local, block], "selectivity", {})
        >>> found.columns, found.linear, found.contrasts, found.space
        (3, (0, 1), (2,), (0,))
    """
    columns = columns_of(sieves) + tuple(beside)
    contrasts = contrasts_of(sieves, beside)
    spaces = list(dict.fromkeys((each.words, each.scope) for each in contrasts.values()))
    return Asking(
        columns=len(columns),
        ratio=statistic == "bias",
        linear=tuple(columns.index(each.name) for each in sieves),
        specials=tuple(each.specials for each in sieves),
        arcs=tuple(each.arcs for each in sieves),
        contrasts=tuple(columns.index(name) for name in contrasts),
        words=tuple(each.words for each in contrasts.values()),
        space=tuple(spaces.index((each.words, each.scope)) for each in contrasts.values()),
    )


def stated(sieves: Sequence[MaskSieve], beside: Mapping[str, Contrast], example: Example) -> Stated:
    """What the sieves say of one example; a function that several of them share is asked once.

    Args:
        sieves: Mask sieves.
        beside: Contrasts of sieves that are no masks, by their columns.
        example: The input.

    Raises:
        BadSieve: When a mask function fails, or a mask has the wrong shape or type.
        BadInput: When a sieve needs annotation the example lacks.
    """
    known: dict[object, object] = {}

    def once(function: Callable[[Example], object]) -> object:
        if function not in known:
            known[function] = function(example)
        return known[function]

    def scope_of(each: MaskSieve) -> Mask | None:
        if each.scope is None:
            return None
        return as_mask(once(each.scope), example.size, each.name, example.key)

    contrasts = contrasts_of(sieves, beside)
    scopes = dict.fromkeys((each.words, each.scope) for each in contrasts.values())
    return Stated(
        counted=tuple(as_mask(asked(each, example), example.size, each.name, example.key) for each in sieves),
        scope=tuple(scope_of(each) for each in sieves),
        labels=tuple(None if each.groups is None else _array(once(each.groups)) for each in sieves),
        cells=tuple(_cells(once(each.cells)) for each in contrasts.values()),
        compared=tuple(_cells(once(scope)) for _, scope in scopes),
        families=tuple(
            None if each.groups is None else _array(once(each.groups)) for each in contrasts.values()
        ),
    )


def _array(labels: object) -> np.ndarray:
    return np.asarray(labels)


def _cells(returned: object) -> Mask:
    """What a contrast counts, as a mask over its units."""
    return returned if isinstance(returned, (*KINDS, Mask)) else Cells(np.asarray(returned))
