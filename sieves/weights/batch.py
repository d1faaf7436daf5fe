"""The masks of an example, sieve by sieve, for the engine that reads whole batches."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from headroles.plans.batch import SieveLayout, SieveMasks
from headroles.records.example import Example
from headroles.sieves.base import Contrast, MaskSieve, Swap
from headroles.sieves.weights.calls import calls_of
from headroles.sieves.weights.plan import column_names, contrast_column


def contrasts_of(sieves: Sequence[MaskSieve], beside: Mapping[str, Contrast]) -> dict[str, Contrast]:
    """Return all contrasts by their columns: those of mask sieves, then those of scorers."""
    return {contrast_column(mask): mask.contrast for mask in sieves if mask.contrast is not None} | dict(
        beside
    )


NO_SWAPS: Mapping[str, Swap] = MappingProxyType({})


def sieve_layout(
    sieves: Sequence[MaskSieve],
    statistic: str,
    beside: Mapping[str, Contrast],
    swaps: Mapping[str, Swap] = NO_SWAPS,
) -> SieveLayout:
    """Return the columns and settings of a selection, which are the same for every example.

    Args:
        sieves: Mask sieves.
        statistic: "selectivity" or "bias".
        beside: Contrasts of scorers, by their columns, which come after those of mask sieves.
        swaps: Contrasts beyond position, by their columns, which come last.

    Example:
        >>> from headroles.sieves.built_in.block import block
        >>> from headroles.sieves.built_in.local import local
        >>> layout = sieve_layout([local, block], "selectivity", {})
        >>> layout.columns, layout.linear, layout.contrasts, layout.space
        (3, (0, 1), (2,), (0,))
    """
    columns = column_names(sieves) + tuple(beside) + tuple(swaps)
    contrasts = contrasts_of(sieves, beside)
    spaces = list(dict.fromkeys((contrast.words, contrast.scope) for contrast in contrasts.values()))
    return SieveLayout(
        columns=len(columns),
        ratio=statistic == "bias",
        linear=tuple(columns.index(mask.name) for mask in sieves),
        specials=tuple(mask.specials for mask in sieves),
        arcs=tuple(mask.arcs for mask in sieves),
        contrasts=tuple(columns.index(name) for name in contrasts),
        words=tuple(contrast.words for contrast in contrasts.values()),
        space=tuple(spaces.index((contrast.words, contrast.scope)) for contrast in contrasts.values()),
        swaps=tuple(columns.index(name) for name in swaps),
        exchanged=sieve_layout(_both_sides(swaps), "selectivity", {}) if swaps else None,
    )


def sieve_masks(
    sieves: Sequence[MaskSieve],
    beside: Mapping[str, Contrast],
    examples: Sequence[Example],
    swaps: Mapping[str, Swap] = NO_SWAPS,
) -> list[SieveMasks]:
    """Return the masks of each example; a function that several sieves share is called once.

    Args:
        sieves: Mask sieves.
        beside: Contrasts of scorers, by their columns.
        examples: The inputs.
        swaps: Contrasts beyond position, by their columns.

    Raises:
        BadSieve: When a mask function fails, or a mask has the wrong shape or type.
        BadInput: When a sieve needs annotation the example lacks.
    """
    contrasts = [(contrast, name) for name, contrast in contrasts_of(sieves, beside).items()]
    scopes: dict[tuple[bool, object], tuple[Contrast, str]] = {}
    for contrast, name in contrasts:
        scopes.setdefault((contrast.words, contrast.scope), (contrast, name))
    sides = sieve_masks(_both_sides(swaps), {}, examples) if swaps else [None] * len(examples)
    return [
        SieveMasks(
            counted=tuple(calls.mask(mask) for mask in sieves),
            scope=tuple(calls.scope(mask) for mask in sieves),
            labels=tuple(calls.labels(mask) for mask in sieves),
            cells=tuple(calls.contrast_cells(contrast, name) for contrast, name in contrasts),
            compared=tuple(calls.contrast_scope(contrast, name) for contrast, name in scopes.values()),
            families=tuple(calls.contrast_labels(contrast, name) for contrast, name in contrasts),
            others=tuple(calls.contrast_others(contrast, name) for contrast, name in contrasts),
            exchanged=exchanged,
        )
        for calls, exchanged in zip(map(calls_of, examples), sides, strict=True)
    ]


def _both_sides(swaps: Mapping[str, Swap]) -> list[MaskSieve]:
    """Return the two sieves of each swap, one swap after the other."""
    return [side for swap in swaps.values() for side in (swap.own, swap.partner)]
