"""Facts of a run beyond its model: parts of its identity, facts for the manifest, and notes."""

from typing import Any

import numpy as np

from headroles.options.causal.why import MOST_ROTATIONS, WhyOptions
from headroles.records.rules.rule import Decision
from headroles.runs.held.labels import roles_digest
from headroles.runs.sources import longest_input
from headroles.runs.why.opening import Opened
from headroles.shards.work import Known

UNTESTED = 3
"""Code of the decision "untestable" (``records.findings.DECISIONS``)."""


def known_of(options: WhyOptions, opened: Opened) -> Known:
    """Return the facts of a run beyond its model.

    Args:
        options: Of the run.
        opened: Roles, model, cells and groups of units.
    """
    held, cells, layout = opened.roles.held, opened.cells, opened.layout
    facts: dict[str, Any] = {
        "roles": {
            "run": held.source,
            "asked": list(dict.fromkeys(opened.families.roles)),
            "families": len(opened.families),
            "tested": int((held.decision != UNTESTED).sum()),
        },
        "units": _units_of_groups(opened),
        "references": {
            "inputs": len(opened.drawn.passages),
            "units": len({*opened.drawn.units}),
        },
        "queries": {
            "size": layout.size,
            "turned": int((~layout.free).sum()),
            "capped": layout.capped,
            "biased": layout.biased,
        },
        "redeals": options.redeals,
        "rotations": options.rotations,
    }
    return Known(
        parser=cells.parser,
        vectors=cells.vectors,
        omitted=cells.omitted,
        components={"roles": roles_digest(held), **cells.components},
        noted={
            "longest": longest_input(opened.model, options.max_length),
            "why": facts | {"notes": _notes(options, opened, facts)},
        },
    )


def _units_of_groups(opened: Opened) -> dict[str, int]:
    """Return the number of units in each group."""
    units, groups = np.array(opened.drawn.every_unit), opened.groups
    return {
        "deciding": len(opened.roles.held.units),
        "measured": len({*units[groups.measured].tolist()}),
        "knocked": len({*units[groups.knocked].tolist()}),
    }


def rotations_note(rotations: int, families: int, decision: Decision) -> str:
    """Return that so many rotations cannot show few neurons of a single role of a head; "" where they can.

    Args:
        rotations: Random rotations of each head.
        families: Roles of heads that are corrected together.
        decision: Correction and alpha.
    """
    from headroles.stats.why.rotations import fewest_rotations

    least = fewest_rotations(families, decision)
    if rotations >= least:
        return ""
    what = "a role of a head" if families == 1 else f"a single one of {families:,} roles of heads"
    after = "" if decision.correction == "none" else ", after correction"
    advice = (
        f"Give at least --rotations {least}"
        if least <= MOST_ROTATIONS
        else f"No number of --rotations up to {MOST_ROTATIONS:,} can; give another --alpha or --correction"
    )
    return f"{rotations:,} rotations cannot show that few neurons carry {what}{after}. {advice}."


def _notes(options: WhyOptions, opened: Opened, facts: dict[str, Any]) -> list[str]:
    """Return the notes on the products of a run, one sentence each."""
    notes, queries = [], facts["queries"]
    if not len(opened.families):
        notes.append(
            "No head holds a role whose cells can be counted, on the units that decide roles. So no queries "
            "and keys are tested."
        )
    if queries["capped"]:
        notes.append("The model caps its logits. The parts are those of the products before the cap.")
    if queries["turned"]:
        turned = "all" if queries["turned"] == queries["size"] else f"{queries['turned']}"
        notes.append(
            f"Rotary positions turn {turned} of the {queries['size']} dimensions of a query in pairs. A pair "
            f"counts as one. The basis of these dimensions is fixed, so no random rotation is tested."
        )
    elif note := rotations_note(options.rotations, len(opened.families), options.decision):
        notes.append(note)
    if not options.redeals:
        notes.append("Without re-deals of cells (--redeals 0), no directions are tested.")
    return notes
