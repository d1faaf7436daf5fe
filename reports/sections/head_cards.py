"""What the cards of heads show beyond findings and clusters: distributions of scores, and examples."""

import json
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int, UInt16

from headroles.records.findings import Labelling
from headroles.records.kept_maps import Exhibit, Exhibited
from headroles.reports.content import Role, Summary
from headroles.reports.sections.map_data import packed, tokens_of
from headroles.reports.summary.embedded import script_json
from headroles.reports.summary.score_spread import Spreads, spreads_of
from headroles.reports.words.words import exact, plural

HOW = "headroles label … --maps 1000"
"""A command that keeps examples."""


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """What the cards show.

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
    exhibited: Exhibited | None
    kept: str


def cards_of(labelling: Labelling, summary: Summary) -> Cards:
    """Count, choose and name what the cards show.

    Args:
        labelling: The result of a run.
        summary: Of the same, for its roles.
    """
    exhibited = _held(labelling, summary)
    return Cards(
        roles=tuple(role.sieve for role in summary.roles),
        heads=summary.table.heads,
        inputs=len(labelling.scores.examples),
        spreads=spreads_of(labelling.scores, [role.position for role in summary.roles]),
        notes=tuple(_note(labelling, role) for role in summary.roles),
        exhibited=exhibited if exhibited and exhibited.exhibits else None,
        kept=_kept(labelling),
    )


def _note(labelling: Labelling, role: Role) -> str:
    """What the mean is taken over where that is not every input once, and what else the role asks for."""
    scores, units = labelling.scores, len(set(labelling.scores.units))
    counted = labelling.findings.count[role.position]
    told = []
    if labelling.findings.rules[role.position].pooled:
        told.append(
            "The mean is over all cells of all inputs, each weighing the same; the bars count inputs."
        )
    elif units < len(scores.examples):
        groups = plural(int(counted.max()), "group")
        most = "" if (counted == counted.max()).all() else "at most "
        told.append(f"The mean is over {most}{groups} of inputs; the bars count inputs.")
    if role.contrast:
        told.append(
            f"The role also asks for a contrast beyond {exact(role.contrast_threshold)}, not drawn here."
        )
    return " ".join(told)


def _kept(labelling: Labelling) -> str:
    """Why there are no examples, or how many are missing."""
    kept = labelling.exhibited
    if labelling.probed is not None:
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


def _held(labelling: Labelling, summary: Summary) -> Exhibited | None:
    """The examples of roles that heads hold, as the run is judged now, and what they need."""
    kept, table = labelling.exhibited, summary.table
    if kept is None:
        return None
    positions = {role.sieve: number for number, role in enumerate(summary.roles)}
    shown = [
        each
        for each in kept.exhibits
        if each.sieve in positions
        and each.layer < table.layers
        and each.head < table.heads
        and summary.held[positions[each.sieve], each.layer, each.head]
    ]
    maps = sorted({each.map for each in shown})
    examples = sorted({int(kept.places[each, 0]) for each in maps})
    places = kept.places[maps].copy()
    places[:, 0] = np.searchsorted(examples, places[:, 0])
    return replace(
        kept,
        examples=tuple(kept.examples[each] for each in examples),
        places=places,
        weights=tuple(kept.weights[each] for each in maps),
        exhibits=tuple(_moved(each, np.searchsorted(maps, each.map)) for each in shown),
    )


def _moved(exhibit: Exhibit, place: Int[np.ndarray, ""] | np.int64) -> Exhibit:
    return replace(exhibit, map=int(place))


def cards_json(cards: Cards) -> str:
    """What the script of the cards reads; arrays little-endian, packed as ``map_data.packed`` does.

    Args:
        cards: What the cards show.

    Returns:
        JSON that can stand inside a script element.
    """
    spreads = cards.spreads
    wide = spreads.counts.dtype.itemsize > 2
    content = {
        "inputs": cards.inputs,
        "edges": [[] if np.isnan(row[0]) else row.tolist() for row in spreads.edges],
        "wide": wide,
        "counts": packed(spreads.counts.astype("<u4" if wide else "<u2")),
        "scored": packed(spreads.scored.astype("<u4")),
        "five": packed(_steps(spreads)),
        "decimals": spreads.decimals,
        "notes": cards.notes,
        "kept": cards.kept,
        **_exhibits(cards),
    }
    return script_json(json.dumps(content, separators=(",", ":"), allow_nan=False))


def _steps(spreads: Spreads) -> UInt16[np.ndarray, "columns heads 5"]:
    """The five numbers of every head, counted from the first edge in units of the last decimal."""
    size = 10.0 ** np.array(spreads.decimals).reshape(-1, 1, 1)
    steps = (spreads.five - spreads.edges[:, :1, None]) * size
    found: np.ndarray = np.rint(np.nan_to_num(steps)).astype("<u2")
    return found


def _exhibits(cards: Cards) -> dict[str, object]:
    """The examples: each as role, head, rank, score and map; each map's input; inputs as packed JSON."""
    kept = cards.exhibited
    if kept is None:
        return {"exhibits": [], "maps": [], "mapped": [], "examples": ""}
    numbers = {name: number for number, name in enumerate(cards.roles)}
    texts = [{"key": example.key, **tokens_of(example)} for example in kept.examples]
    told = json.dumps(texts, separators=(",", ":")).encode()
    return {
        "exhibits": [
            [
                numbers[each.sieve],
                each.layer * cards.heads + each.head,
                each.rank,
                round(each.score, 6),
                each.map,
            ]
            for each in kept.exhibits
        ],
        "maps": [packed(weights) for weights in kept.weights],
        "mapped": kept.places[:, 0].tolist(),
        "examples": packed(np.frombuffer(told, dtype=np.uint8)),
    }
