"""Data of the head panel: sentences, typical inputs with their maps, distributions of scores."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Integer, UInt

from headroles.records.arrays import read_only
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.kept_maps import ANY_INPUT, MOST_TYPICAL, KeptMaps, TypicalInput
from headroles.records.numbers import exact, plural
from headroles.reports.embedded import pack, script_json, tokens_of
from headroles.reports.kinds.label import head_sentences
from headroles.reports.summary import Role, Summary

PANEL_SCRIPTS = ("attention.js", "cards.js")
"""Scripts of the head panel, for every page that has it."""
SPECIAL = ("delimiter", "first")
"""First parts of the names of roles about special tokens, for runs that keep no cells."""
BINS = 24
"""Bins of every histogram."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the scores below each of the five numbers of a head."""
FINEST = 1e-3
"""Range of scores, as a part of the largest, below which a histogram shows no detail."""


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """Distributions of scores over inputs, per column and head (layer after layer).

    Attributes:
        edges: Of the bins, the same for all heads of a column so that heads can be compared; every bin
            holds its lower edge, the last one both. NaN in a column without scores.
        counts: Scores in each bin.
        scored: Inputs on which the head has a score.
        five: Smallest score, quartile, median, quartile and largest, rounded to ``decimals``; NaN where
            there is no score.
        decimals: Digits after the point that scores of a column are shown with, three for most; negative
            where scores are so large that they are shown in tens or hundreds.
    """

    edges: Float[np.ndarray, "columns edges"]
    counts: UInt[np.ndarray, "columns heads bins"]
    scored: Integer[np.ndarray, "columns heads"]
    five: Float[np.ndarray, "columns heads 5"]
    decimals: tuple[int, ...]

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("edges", "counts", "scored", "five"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


def cards_json(labelling: Labelling, summary: Summary) -> str:
    """Return the data that the script of the head panel reads; arrays are little-endian, see ``pack``.

    ``exhibits`` have role (−1 without one), head, rank, score (null without a role) and map. ``mapped`` has
    the input of each map, ``counted`` by input and role the cells as bits. Texts are packed JSON. ``plain``
    is whether an input begins with a token that is not special. ``specials`` has whether a role is about
    special tokens, ``former`` the heads whose examples are of roles that they no longer hold.

    Args:
        labelling: The result of a run.
        summary: Of the same run, for its roles.

    Returns:
        JSON that can stand inside a script element.
    """
    kept, former = typical_inputs(labelling, summary)
    spreads = spreads_of(labelling.scores, [role.position for role in summary.roles])
    wide = spreads.counts.dtype.itemsize > 2
    size = 10.0 ** np.array(spreads.decimals).reshape(-1, 1, 1)
    steps = np.nan_to_num((spreads.five - spreads.edges[:, :1, None]) * size)
    content = {
        "inputs": len(labelling.scores.examples),
        "edges": [[] if np.isnan(row[0]) else row.tolist() for row in spreads.edges],
        "wide": wide,
        "counts": pack(spreads.counts.astype("<u4" if wide else "<u2")),
        "scored": pack(spreads.scored.astype("<u4")),
        "five": pack(np.rint(steps).astype("<u2")),  # from the first edge in units of the last decimal
        "decimals": spreads.decimals,
        "notes": [_note(labelling, role) for role in summary.roles],
        "kept": _missing_sentence(labelling),
        "sentences": _packed_json(head_sentences(summary)),
        "specials": [int(_about_specials(name, kept)) for name in summary.names],
        "former": former,
        "exhibits": [], "maps": [], "mapped": [], "counted": [], "examples": "", "plain": False,
    }  # fmt: skip
    if kept is not None and kept.exhibits:
        numbers = {name: number for number, name in enumerate(summary.names)} | {ANY_INPUT: -1}
        content |= {
            "exhibits": [
                [numbers[each.sieve], each.layer * summary.heads + each.head, each.rank,
                 None if np.isnan(each.score) else round(each.score, 6), each.map]
                for each in kept.exhibits
            ],
            "maps": [pack(weights) for weights in kept.weights],
            "mapped": kept.places[:, 0].tolist(),
            "counted": [
                [place, numbers[name], pack(np.packbits(cells))]
                for (place, name), cells in sorted(kept.counted.items())
            ],
            "examples": _packed_json([{"key": each.key, **tokens_of(each)} for each in kept.examples]),
            "plain": not all(example.special[0] for example in kept.examples),
        }  # fmt: skip
    return script_json(json.dumps(content, separators=(",", ":"), allow_nan=False))


def _packed_json(content: object) -> str:
    """Return JSON packed as bytes."""
    return pack(np.frombuffer(json.dumps(content, separators=(",", ":")).encode(), dtype=np.uint8))


def _about_specials(name: str, kept: KeptMaps | None) -> bool:
    """Return whether most of the cells of a role have special tokens as keys, or else its name says so."""
    cells = [
        (cells, kept.examples[place].special)
        for (place, own), cells in (kept.counted.items() if kept else ()) if kept and own == name
    ]  # fmt: skip
    if not cells:
        return name.partition(":")[0] in SPECIAL
    return 2 * sum(int(own[:, special].sum()) for own, special in cells) > sum(int(c.sum()) for c, _ in cells)


def _note(labelling: Labelling, role: Role) -> str:
    """Return what the mean is taken over where that is not every input once, and any further condition."""
    scores, counts, sentences = labelling.scores, labelling.findings.count[role.position], []
    if labelling.findings.rules[role.position].pooled:
        sentences.append(
            "The mean is over all cells of all inputs, each weighing the same; the bars count inputs."
        )
    elif len(set(scores.units)) < len(scores.examples):
        most = "" if (counts == counts.max()).all() else "at most "
        groups = plural(int(counts.max()), "group")
        sentences.append(f"The mean is over {most}{groups} of inputs; the bars count inputs.")
    if role.contrast:
        least = exact(role.contrast_threshold)
        sentences.append(f"The role also needs a contrast beyond {least}, not drawn here.")
    return " ".join(sentences)


def _missing_sentence(labelling: Labelling) -> str:
    """Return why there are no examples, or how many were left out, in a sentence; "" where all are there."""
    kept = labelling.exhibited
    if kept is None and labelling.manifest.get("settings", {}).get("maps"):
        return "This run kept no examples; where it was to keep some, “What was left out” says why."
    if kept is None or not kept.limit:
        return "This run kept no examples; `--maps 1000` keeps them."
    return (
        f"{plural(kept.left, 'more example')} of this run {'was' if kept.left == 1 else 'were'} not kept "
        f"(limit: {plural(kept.limit, 'attention map')} and the bytes that a report has room for)."
    ) * bool(kept.left)


def typical_inputs(labelling: Labelling, summary: Summary) -> tuple[KeptMaps | None, tuple[int, ...]]:
    """Return the inputs of every head as the run is judged now, and the heads that lost all their roles.

    A head has the inputs of the roles that it holds. Where none of these has any, it has those that were
    kept without a role, or else the most typical ones of roles that it held before, each map once.

    Args:
        labelling: The result of a run.
        summary: Of the same run.

    Returns:
        These inputs, maps and cells only, None where the run kept none; heads by number, layer by layer.
    """
    kept = labelling.exhibited
    if kept is None:
        return None, ()
    by_head: dict[int, list[TypicalInput]] = {}
    for exhibit in kept.exhibits:
        if exhibit.layer < summary.layers and exhibit.head < summary.heads:
            by_head.setdefault(exhibit.layer * summary.heads + exhibit.head, []).append(exhibit)
    places = {name: number for number, name in enumerate(summary.names)}
    shown, former = list[TypicalInput](), list[int]()
    for cell, own in by_head.items():
        chosen = [
            each for each in own
            if each.sieve in places and summary.held[places[each.sieve], each.layer, each.head]
        ] or [each for each in own if each.sieve == ANY_INPUT]  # fmt: skip
        if not chosen:
            former.append(cell)
            by_map: dict[int, TypicalInput] = {}
            for exhibit in sorted(own, key=lambda each: each.rank):
                if exhibit.rank > 0:
                    by_map.setdefault(exhibit.map, exhibit)
            chosen = [
                replace(exhibit, sieve=ANY_INPUT, rank=rank, score=math.nan)
                for rank, exhibit in enumerate([*by_map.values()][:MOST_TYPICAL], 1)
            ]
        shown += chosen
    maps = sorted({exhibit.map for exhibit in shown})
    examples = sorted({int(kept.places[number, 0]) for number in maps})
    of_maps = kept.places[maps].copy()
    of_maps[:, 0] = np.searchsorted(examples, of_maps[:, 0])
    pairs = {(int(kept.places[exhibit.map, 0]), exhibit.sieve) for exhibit in shown}
    counted = {
        (examples.index(place), name): cells
        for (place, name), cells in kept.counted.items() if (place, name) in pairs
    }  # fmt: skip
    exhibits = tuple(replace(exhibit, map=maps.index(exhibit.map)) for exhibit in shown)
    weights = tuple(kept.weights[number] for number in maps)
    inputs = tuple(kept.examples[example] for example in examples)
    some = replace(kept, examples=inputs, places=of_maps, weights=weights, exhibits=exhibits, counted=counted)
    return some, tuple(former)


def spreads_of(scores: Scores, columns: Sequence[int]) -> Spreads:
    """Count the scores of some columns in bins.

    Quantiles are interpolated linearly between two scores.

    Args:
        scores: One number per column, example and head; those that are not finite are left out.
        columns: Places of the columns.

    Returns:
        Counts as 16-bit numbers where they are small enough, else as 32-bit numbers.
    """
    kind = np.uint16 if len(scores.examples) <= np.iinfo(np.uint16).max else np.uint32
    heads = scores.layers * scores.heads
    edges = np.full((len(columns), BINS + 1), np.nan)
    counts = np.zeros((len(columns), heads, BINS), dtype=kind)
    scored = np.zeros((len(columns), heads), dtype=np.int64)
    five = np.full((len(columns), heads, len(SHARES)), np.nan)
    decimals = [3] * len(columns)
    for place, column in enumerate(columns):
        found = scores.values[column].reshape(len(scores.examples), heads)
        values = np.sort(np.where(np.isfinite(found), found, np.float32(np.nan)), axis=0)  # NaN come last
        scored[place] = (~np.isnan(values)).sum(axis=0)
        if not scored[place].any():
            continue
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        edges[place], decimals[place] = edges_of(low, high), decimals_of(low, high)
        bins = np.searchsorted(edges[place], values, side="right") - 1
        bins = bins.clip(0, BINS - 1) + BINS * np.arange(heads)  # rounded ends may lie inside
        counts[place] = np.bincount(bins[~np.isnan(values)], minlength=BINS * heads).reshape(heads, BINS)
        at = np.multiply.outer(np.array(SHARES), np.maximum(scored[place] - 1, 0))
        lower, upper = (
            np.take_along_axis(values, side(at).astype(np.int64), axis=0).astype(np.float64)
            for side in (np.floor, np.ceil)
        )
        five[place] = (lower + (at - np.floor(at)) * (upper - lower)).T.round(decimals[place])
    return Spreads(edges, counts, scored, five, tuple(decimals))


def edges_of(low: float, high: float) -> Float[np.ndarray, " edges"]:
    """Return edges of bins over a range, whose ends are rounded outwards to two digits of its width.

    Args:
        low: Smallest score.
        high: Largest score, at least ``low``.

    Example:
        >>> ends = edges_of(-0.3127, 0.9031)
        >>> len(ends), float(ends[0]), float(ends[-1])
        (25, -0.4, 1.0)
        >>> edges_of(0.5, 0.5)[[0, -1]].tolist()
        [0.5, 0.50001]
    """
    digits = _digits(low, high)
    step = 10.0**-digits
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    return np.linspace(first * step, max(last, first + 1) * step, BINS + 1).round(digits + 6)


def decimals_of(low: float, high: float) -> int:
    """Return the digits after the point for scores of a range: three, more if narrow, fewer if wide.

    Example:
        >>> decimals_of(-0.31, 0.9), decimals_of(0.5, 0.52), decimals_of(0.0, 40.0)
        (3, 4, 2)
    """
    digits = _digits(low, high)
    return min(max(3, digits + 1), digits + 2)


def _digits(low: float, high: float) -> int:
    """Return the decimal place of the second digit of the width of a range."""
    width = max(high - low, FINEST * max(abs(low), abs(high))) or 1.0
    return 1 - math.floor(math.log10(width))
