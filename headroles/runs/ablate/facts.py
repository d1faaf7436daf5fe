"""What the work of a run knows beyond its model: parts of its identity, facts for the manifest, and notes."""

from typing import Any

from headroles.extraction.ablation.arms import Ablator
from headroles.extraction.model.losses import MASKED, LossModel
from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.ablation import HeldRoles
from headroles.records.causal.columns import LOSS
from headroles.runs.ablate.arms.laying import Laid
from headroles.runs.ablate.arms.layout import main_intervention
from headroles.runs.ablate.arms.opening import OpenModel
from headroles.runs.ablate.sets import different_sets
from headroles.runs.held.labels import roles_digest
from headroles.runs.held.references import DrawnInputs
from headroles.runs.held.role_cells import RoleCells
from headroles.runs.sources import longest_input
from headroles.shards.work import Known


def known_of(
    options: AblateOptions,
    opened: OpenModel,
    ablator: Ablator,
    held: HeldRoles | None,
    cells: RoleCells | None,
    laid: Laid,
    drawn: DrawnInputs,
) -> Known:
    """Return what the work of a run knows beyond its model.

    Args:
        options: Of the run.
        opened: The model.
        ablator: It, with interventions.
        held: The roles that are asked about; None without any.
        cells: Counts their cells; None without any.
        laid: The arms.
        drawn: The reference inputs.
    """
    described, layout = ablator.described, laid.layout
    run, every = len(layout.heads), opened.model.layers * opened.model.heads
    different = len([*different_sets(layout.sets)])
    facts: dict[str, Any] = {
        "outcomes": list(opened.outcomes),
        "by": list(options.by),
        "main": main_intervention(options.by),
        "loss": opened.about,
        "references": {"inputs": len(drawn.passages), "units": len(set(drawn.units))},
        "heads": {"run": run, "of": every, "chosen_by": len(laid.chose)},
        "roles": _facts_of_roles(held, laid),
        "sets": {
            "of_roles": len(set(layout.sets.roles)),
            "different": different,
        },
        "runs": described,
    }
    return Known(
        parser=None if cells is None else cells.parser,
        vectors=None if cells is None else cells.vectors,
        omitted=() if cells is None else cells.omitted,
        components={
            "loss": [opened.about, options.label],
            "roles": roles_digest(held),
            "interventions": described,
            **({} if cells is None else cells.components),
        },
        noted={
            "longest": longest_input(opened.model, options.max_length),
            "ablation": facts | {"notes": _notes(options, opened, held, cells, laid, facts)},
        },
    )


def _facts_of_roles(held: HeldRoles | None, laid: Laid) -> dict[str, Any] | None:
    """Return what a manifest says of the roles; None without any."""
    if held is None:
        return None
    return {
        "run": held.source,
        "asked": list(held.roles),
        "units": len(held.units),
        "sites": list(laid.layout.sites),
        "cells": list(laid.layout.removed),
    }


def _notes(
    options: AblateOptions,
    opened: OpenModel,
    held: HeldRoles | None,
    cells: RoleCells | None,
    laid: Laid,
    facts: dict[str, Any],
) -> list[str]:
    """Return what a reader of the run should know of its arms, one sentence each."""
    notes, heads, sets = [], facts["heads"], facts["sets"]
    masked = isinstance(opened.model, LossModel) and opened.model.about == MASKED
    if masked and opened.outcomes != (LOSS,):
        notes.append("All outcomes are measured on inputs with masked tokens.")
    if options.screen is not None:
        notes.append(
            f"{heads['run']} of {heads['of']} heads were taken out: those of the largest estimated damage, "
            f"and those that roles need. The others are untestable. {heads['chosen_by']} units chose them, "
            f"and measure no damage themselves."
        )
    if held is not None and not any(held.heads(role).any() for role in held.roles):
        notes.append("No head holds a role on the units that decide roles, so nothing is asked about roles.")
    if held is not None and opened.by_token and laid.void:
        notes.append(
            f"These roles have no sites, because they apply to nearly every token: {', '.join(laid.void)}."
        )
    if held is not None and cells is not None and not opened.by_token:
        notes.append(
            f"No role has sites, because {', '.join(opened.outcomes)} has one value for each input. "
            f"--outcome tokens has one for each token."
        )
    if options.groups and held is not None:
        lone = [role for role in held.roles if laid.layout.sets.roles.count(role) == 1]
        notes.append(
            f"{sets['different']} different sets of heads were taken out on every input that decides no "
            f"label. Each takes about as long as one head."
        )
        if lone:
            notes.append(f"No random sets for {', '.join(lone)}: no other heads match theirs.")
    return notes
