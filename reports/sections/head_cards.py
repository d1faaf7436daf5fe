"""Data of the head panel beyond findings and clusters: sentences, examples, distributions of scores."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int, UInt16

from headroles.records.findings import Labelling
from headroles.records.kept_maps import ANY_INPUT, MOST_TYPICAL, KeptMaps, TypicalInput
from headroles.records.numbers import exact, plural
from headroles.records.roles import phrase_of
from headroles.reports.answer.heads import head_sentences
from headroles.reports.records import Role, Summary
from headroles.reports.sections.map_data import pack, tokens_of
from headroles.reports.summary.embedded import script_json
from headroles.reports.summary.score_spread import Spreads, spreads_of

PANEL_SCRIPTS = (
    "attention/attention.js", "attention/draw.js",
    "cards/spread.js", "cards/evidence.js", "cards/examples.js", "cards/cards.js",
)  # fmt: skip
PANEL_STYLES = ("attention/attention.css", "cards/cards.css")
"""Scripts and style sheets of the head panel, for every page that has it."""
HOW = "--maps 1000"
"""A command that keeps examples."""
SPECIAL = ("delimiter", "first")
"""First parts of the names of roles about special tokens, for runs that keep no cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """Data of the head panel.

    Attributes:
        roles: Names of the roles, in the order of the page.
        heads: Heads of a layer.
        inputs: Number of inputs.
        spreads: Distributions of scores, a column per role.
        notes: Per role, what must be known to read its distribution; "" where nothing must.
        exhibited: Examples to show, with their maps only; None where there are none.
        kept: Why there are no examples, or how many were left out, in a sentence; "" where all are there.
        sentences: What each head does, layer by layer.
        specials: Per role, whether it is about special tokens.
        former: Heads, by number, whose examples are of roles that they no longer hold.
    """

    roles: tuple[str, ...]
    heads: int
    inputs: int
    spreads: Spreads
    notes: tuple[str, ...]
    exhibited: KeptMaps | None
    kept: str
    sentences: tuple[str, ...] = ()
    specials: tuple[bool, ...] = ()
    former: tuple[int, ...] = field(default=())


def cards_of(labelling: Labelling, summary: Summary) -> Cards:
    """Count, choose and name the data of the head panel.

    Args:
        labelling: The result of a run.
        summary: Of the same run, for its roles.
    """
    exhibited, former = _shown_examples(labelling, summary)
    return Cards(
        roles=tuple(role.sieve for role in summary.roles),
        heads=summary.table.heads,
        inputs=len(labelling.scores.examples),
        spreads=spreads_of(labelling.scores, [role.position for role in summary.roles]),
        notes=tuple(_note(labelling, role) for role in summary.roles),
        exhibited=exhibited if exhibited and exhibited.exhibits else None,
        kept=_missing_sentence(labelling),
        sentences=head_sentences(summary),
        specials=tuple(_about_specials(role.sieve, exhibited) for role in summary.roles),
        former=former,
    )


def _about_specials(name: str, kept: KeptMaps | None) -> bool:
    """Return whether most of the cells of a role have special tokens as keys, or else its name says so."""
    counted = (
        ()
        if kept is None
        else [(place, cells) for (place, own), cells in kept.counted.items() if own == name]
    )
    if kept is None or not counted:
        return name.partition(":")[0] in SPECIAL
    special = sum(int(cells[:, kept.examples[place].special].sum()) for place, cells in counted)
    return 2 * special > sum(int(cells.sum()) for _, cells in counted)


def _note(labelling: Labelling, role: Role) -> str:
    """Return what the mean is taken over where that is not every input once, and any further condition."""
    scores, units = labelling.scores, len(set(labelling.scores.units))
    counts = labelling.findings.count[role.position]
    sentences = []
    if labelling.findings.rules[role.position].pooled:
        sentences.append(
            "The mean is over all cells of all inputs, each weighing the same; the bars count inputs."
        )
    elif units < len(scores.examples):
        groups = plural(int(counts.max()), "group")
        most = "" if (counts == counts.max()).all() else "at most "
        sentences.append(f"The mean is over {most}{groups} of inputs; the bars count inputs.")
    if role.contrast:
        sentences.append(
            f"The role also needs a contrast beyond {exact(role.contrast_threshold)}, not drawn here."
        )
    return " ".join(sentences)


def _missing_sentence(labelling: Labelling) -> str:
    """Return why there are no examples, or how many are missing."""
    kept = labelling.exhibited
    if kept is None and labelling.manifest.get("settings", {}).get("maps"):
        return "This run kept no examples; where it was to keep some, “What was left out” says why."
    if kept is None or not kept.limit:
        return f"This run kept no examples; `{HOW}` keeps them."
    if kept.left:
        return (
            f"{plural(kept.left, 'more example')} of this run {'was' if kept.left == 1 else 'were'} not kept "
            f"(limit: {plural(kept.limit, 'attention map')} and the bytes that a report has room for)."
        )
    return ""


def _shown_examples(labelling: Labelling, summary: Summary) -> tuple[KeptMaps | None, tuple[int, ...]]:
    """Return the examples of every head as the run is judged now, and the heads that lost all their roles.

    A head has the examples of the roles that it holds. Where none of these has any, it has those that were
    kept without a role, or else the most typical ones of roles that it held before.
    """
    kept, table = labelling.exhibited, summary.table
    if kept is None:
        return None, ()
    positions = {role.sieve: number for number, role in enumerate(summary.roles)}
    by_head: dict[int, list[TypicalInput]] = {}
    for exhibit in kept.exhibits:
        if exhibit.layer < table.layers and exhibit.head < table.heads:
            by_head.setdefault(exhibit.layer * table.heads + exhibit.head, []).append(exhibit)
    exhibits, former = list[TypicalInput](), list[int]()
    for cell, own in by_head.items():
        held = [exhibit for exhibit in own if _is_held(exhibit, positions, summary)]
        unchosen = [exhibit for exhibit in own if exhibit.sieve == ANY_INPUT]
        exhibits += held or unchosen or _without_role(own)
        former += [] if held or unchosen else [cell]
    return _with_exhibits(kept, exhibits), tuple(former)


def _is_held(exhibit: TypicalInput, positions: dict[str, int], summary: Summary) -> bool:
    """Return whether an example is of a role that its head holds."""
    place = positions.get(exhibit.sieve)
    return place is not None and bool(summary.held[place, exhibit.layer, exhibit.head])


def _without_role(own: Sequence[TypicalInput]) -> list[TypicalInput]:
    """Return the most typical examples of roles that a head held, each map once, as those of no role."""
    typical = sorted((exhibit for exhibit in own if exhibit.rank > 0), key=lambda exhibit: exhibit.rank)
    by_map: dict[int, TypicalInput] = {}
    for exhibit in typical:
        by_map.setdefault(exhibit.map, exhibit)
    first = [*by_map.values()][:MOST_TYPICAL]
    return [
        replace(exhibit, sieve=ANY_INPUT, rank=rank, score=float("nan"))
        for rank, exhibit in enumerate(first, 1)
    ]


def _with_exhibits(kept: KeptMaps, exhibits: Sequence[TypicalInput]) -> KeptMaps:
    """Return kept maps with some of their examples, and only the inputs, maps and cells of these."""
    maps = sorted({exhibit.map for exhibit in exhibits})
    examples = sorted({int(kept.places[map_number, 0]) for map_number in maps})
    places = kept.places[maps].copy()
    places[:, 0] = np.searchsorted(examples, places[:, 0])
    pairs = {(int(kept.places[exhibit.map, 0]), exhibit.sieve) for exhibit in exhibits}
    return replace(
        kept,
        examples=tuple(kept.examples[example] for example in examples),
        places=places,
        weights=tuple(kept.weights[map_number] for map_number in maps),
        exhibits=tuple(_with_map(exhibit, np.searchsorted(maps, exhibit.map)) for exhibit in exhibits),
        counted={
            (examples.index(place), name): cells
            for (place, name), cells in kept.counted.items()
            if (place, name) in pairs
        },
    )


def _with_map(exhibit: TypicalInput, place: Int[np.ndarray, ""] | np.int64) -> TypicalInput:
    """Return an example whose map has a new place."""
    return replace(exhibit, map=int(place))


def cards_json(cards: Cards) -> str:
    """Return the data that the script of the cards reads; arrays are little-endian, see ``map_data``.

    Args:
        cards: Data of the head cards.

    Returns:
        JSON that can stand inside a script element.
    """
    spreads = cards.spreads
    wide = spreads.counts.dtype.itemsize > 2
    content = {
        "inputs": cards.inputs,
        "edges": [[] if np.isnan(row[0]) else row.tolist() for row in spreads.edges],
        "wide": wide,
        "counts": pack(spreads.counts.astype("<u4" if wide else "<u2")),
        "scored": pack(spreads.scored.astype("<u4")),
        "five": pack(_steps(spreads)),
        "decimals": spreads.decimals,
        "notes": cards.notes,
        "kept": cards.kept,
        "sentences": _packed_json(cards.sentences),
        "specials": [int(special) for special in cards.specials],
        "former": cards.former,
        "titles": [phrase_of(role).title for role in cards.roles],
        **_exhibits(cards),
    }
    return script_json(json.dumps(content, separators=(",", ":"), allow_nan=False))


def _steps(spreads: Spreads) -> UInt16[np.ndarray, "columns heads 5"]:
    """Return the five numbers of every head, counted from the first edge in units of the last decimal."""
    size = 10.0 ** np.array(spreads.decimals).reshape(-1, 1, 1)
    steps = (spreads.five - spreads.edges[:, :1, None]) * size
    rounded: np.ndarray = np.rint(np.nan_to_num(steps)).astype("<u2")
    return rounded


def _exhibits(cards: Cards) -> dict[str, object]:
    """Return what is drawn.

    ``exhibits`` have role (−1 without one), head, rank, score (null without a role) and map. ``mapped`` has
    the input of each map, ``counted`` by input and role the cells as bits. Texts are packed JSON. ``plain``
    is whether an input begins with a token that is not special.
    """
    kept = cards.exhibited
    if kept is None:
        return {"exhibits": [], "maps": [], "mapped": [], "counted": [], "examples": "", "plain": False}
    numbers = {name: number for number, name in enumerate(cards.roles)} | {ANY_INPUT: -1}
    texts = [{"key": example.key, **tokens_of(example)} for example in kept.examples]
    return {
        "exhibits": [
            [
                numbers[exhibit.sieve],
                exhibit.layer * cards.heads + exhibit.head,
                exhibit.rank,
                None if np.isnan(exhibit.score) else round(exhibit.score, 6),
                exhibit.map,
            ]
            for exhibit in kept.exhibits
        ],
        "maps": [pack(weights) for weights in kept.weights],
        "mapped": kept.places[:, 0].tolist(),
        "counted": [
            [place, numbers[name], pack(np.packbits(cells))]
            for (place, name), cells in sorted(kept.counted.items())
        ],
        "examples": _packed_json(texts),
        "plain": not all(example.special[0] for example in kept.examples),
    }


def _packed_json(content: object) -> str:
    """Return JSON packed as bytes."""
    text = json.dumps(content, separators=(",", ":")).encode()
    return pack(np.frombuffer(text, dtype=np.uint8))
