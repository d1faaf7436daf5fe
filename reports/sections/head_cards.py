"""Data of the head cards beyond findings and clusters: distributions of scores, and typical inputs."""

import json
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int, UInt16

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps, TypicalInput
from headroles.reports.records import Role, Summary
from headroles.reports.sections.map_data import pack, tokens_of
from headroles.reports.summary.embedded import script_json
from headroles.reports.summary.score_spread import Spreads, spreads_of
from headroles.reports.words.words import exact, plural

HOW = "headroles label … --maps 1000"
"""A command that keeps examples."""


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """Data of the head cards.

    Attributes:
        roles: Names of the roles, in the order of the page.
        heads: Heads of a layer.
        inputs: Number of inputs.
        spreads: Distributions of scores, a column per role.
        notes: Per role, what must be known to read its distribution; "" where nothing must.
        exhibited: Examples of roles that heads hold, with their maps only; None where there are none.
        kept: Why there are no examples, or how many were left out, in a sentence; "" where all are there.
    """

    roles: tuple[str, ...]
    heads: int
    inputs: int
    spreads: Spreads
    notes: tuple[str, ...]
    exhibited: KeptMaps | None
    kept: str


def cards_of(labelling: Labelling, summary: Summary) -> Cards:
    """Count, choose and name the data of the head cards.

    Args:
        labelling: The result of a run.
        summary: Of the same run, for its roles.
    """
    exhibited = _held_examples(labelling, summary)
    return Cards(
        roles=tuple(role.sieve for role in summary.roles),
        heads=summary.table.heads,
        inputs=len(labelling.scores.examples),
        spreads=spreads_of(labelling.scores, [role.position for role in summary.roles]),
        notes=tuple(_note(labelling, role) for role in summary.roles),
        exhibited=exhibited if exhibited and exhibited.exhibits else None,
        kept=_missing_sentence(labelling),
    )


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
            f"The role also asks for a contrast beyond {exact(role.contrast_threshold)}, not drawn here."
        )
    return " ".join(sentences)


def _missing_sentence(labelling: Labelling) -> str:
    """Return why there are no examples, or how many are missing."""
    kept = labelling.exhibited
    if not kind_of(labelling).keeps_inputs:
        return "Runs of probes keep no examples; examples are kept by label and cluster."
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


def _held_examples(labelling: Labelling, summary: Summary) -> KeptMaps | None:
    """Return the examples of roles that heads hold, as the run is judged now, and their inputs and maps."""
    kept, table = labelling.exhibited, summary.table
    if kept is None:
        return None
    positions = {role.sieve: number for number, role in enumerate(summary.roles)}
    exhibits = [
        exhibit
        for exhibit in kept.exhibits
        if exhibit.sieve in positions
        and exhibit.layer < table.layers
        and exhibit.head < table.heads
        and summary.held[positions[exhibit.sieve], exhibit.layer, exhibit.head]
    ]
    maps = sorted({exhibit.map for exhibit in exhibits})
    examples = sorted({int(kept.places[map_number, 0]) for map_number in maps})
    places = kept.places[maps].copy()
    places[:, 0] = np.searchsorted(examples, places[:, 0])
    return replace(
        kept,
        examples=tuple(kept.examples[example] for example in examples),
        places=places,
        weights=tuple(kept.weights[map_number] for map_number in maps),
        exhibits=tuple(_with_map(exhibit, np.searchsorted(maps, exhibit.map)) for exhibit in exhibits),
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
    """Return the examples as role, head, rank, score and map; each map's input; inputs as packed JSON."""
    kept = cards.exhibited
    if kept is None:
        return {"exhibits": [], "maps": [], "mapped": [], "examples": ""}
    numbers = {name: number for number, name in enumerate(cards.roles)}
    texts = [{"key": example.key, **tokens_of(example)} for example in kept.examples]
    inputs = json.dumps(texts, separators=(",", ":")).encode()
    return {
        "exhibits": [
            [
                numbers[exhibit.sieve],
                exhibit.layer * cards.heads + exhibit.head,
                exhibit.rank,
                round(exhibit.score, 6),
                exhibit.map,
            ]
            for exhibit in kept.exhibits
        ],
        "maps": [pack(weights) for weights in kept.weights],
        "mapped": kept.places[:, 0].tolist(),
        "examples": pack(np.frombuffer(inputs, dtype=np.uint8)),
    }
