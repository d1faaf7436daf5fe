"""The three groups of units of a run: they decide roles, give products, or give scores after removals.

No unit is in two groups. So no finding is tested on the units that gave it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.inputs.units import half_of_units
from headroles.options.causal.why import WhyOptions
from headroles.records.causal.ablation import HeldRoles
from headroles.storage.folder import RUN
from headroles.storage.integrity.manifest import read_checked_manifest

PURPOSE = "origins"
"""Purpose of the halves of the units that decide no role."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The group of each input of a run; no unit is in two.

    Attributes:
        deciding: Inputs of units that decided roles.
        measured: Inputs whose products are measured.
        knocked: Inputs that give mean queries, and are scored again after removals. Mean queries choose no
            direction that is removed.
    """

    deciding: Bool[np.ndarray, " inputs"]
    measured: Bool[np.ndarray, " inputs"]
    knocked: Bool[np.ndarray, " inputs"]


def check_kept(options: WhyOptions) -> None:
    """Refuse a label run that kept no scores of single units, or labels norm-weighted attention.

    Raises:
        BadInput: When it did.
    """
    manifest = read_checked_manifest(Path(options.folder), RUN)
    settings = manifest.get("settings") or {}
    if "kept" in manifest:
        raise BadInput(
            f"roles are decided on one half of the units, which takes the scores of all of them, but the run "
            f"in '{options.folder}' kept sums; label at most as many inputs as its --keep, or give a larger "
            f"one"
        )
    if settings.get("weights") == "norm":
        raise BadInput(
            f"queries and keys make attention, but the run in '{options.folder}' labels norm-weighted "
            f"attention; label with --weights attention"
        )


def cut_into_groups(held: HeldRoles, units: Sequence[str], examples: Sequence[str], seed: int) -> Groups:
    """Return the group of each input.

    Args:
        held: The roles, with the units that decided them.
        units: Unit of each input.
        examples: Key of each.
        seed: Of the halves.
    """
    apart = held.apart(units, examples)
    left = np.flatnonzero(apart).tolist()
    measured = np.zeros(len(units), dtype=np.bool_)
    measured[left] = half_of_units([units[place] for place in left], seed, PURPOSE)
    return Groups(~apart, measured, apart & ~measured)


def check_groups(groups: Groups, source: str) -> None:
    """Refuse inputs of which too few units decide no role.

    Args:
        groups: The groups.
        source: Folder of the label run.

    Raises:
        BadInput: When no unit is left to measure products, or to give mean queries.
    """
    if not (groups.measured.any() and groups.knocked.any()):
        raise BadInput(
            f"products and mean queries are measured on units that decide no role of '{source}', which takes "
            f"at least 2 of them, but got {int((groups.measured | groups.knocked).any())}; give more inputs"
        )
