"""The roles that a run of ablations asks about, decided on units that measure no damage.

A role that is decided on the units whose damage then speaks for it is chosen by their noise. So labels and
damage get different units: halves of the same inputs, or different inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from headroles.errors import BadInput
from headroles.inputs.units import half_of_units
from headroles.kinds import kind_named
from headroles.options.causal.ablate import AblateOptions
from headroles.options.label import Options
from headroles.records.causal.ablation import HeldRoles
from headroles.storage.folder import RUN
from headroles.storage.integrity.manifest import read_checked_manifest

if TYPE_CHECKING:
    from headroles.records.findings import Labelling

SAME_INPUTS = ("task", "source", "data")
"""Options that name inputs: where both runs have the same, their units are split into halves."""


def check_label_run(options: AblateOptions) -> None:
    """Refuse a folder of roles that holds no finished run of sieves.

    Raises:
        BadInput: When it does not.
    """
    if options.roles is not None:
        label_options(read_checked_manifest(Path(options.roles), RUN), options.roles)


def label_options(manifest: Mapping[str, Any], folder: str) -> Options:
    """Return the options of a label run from its manifest.

    Args:
        manifest: Of the run.
        folder: Its folder.

    Raises:
        BadInput: When it is no run of sieves.
    """
    settings = manifest.get("settings")
    if not isinstance(settings, dict) or "sieve" not in settings:
        raise BadInput(
            f"--roles names the folder of a label run, but '{folder}' holds none; make one with headroles "
            f"label"
        )
    options = kind_named("cluster" if "divergence" in settings else "label").options(settings)
    assert isinstance(options, Options), "runs of tables of scores have no sieves"
    return options


def annotation_of(options: AblateOptions) -> frozenset[str]:
    """Return the annotation that the sieves of the label run read; none without a label run.

    Raises:
        HeadrolesError: When the folder holds no finished run of sieves, or a sieve is gone.
    """
    if options.roles is None:
        return frozenset()
    from headroles.runs.label.sieves import selection_of_run

    manifest = read_checked_manifest(Path(options.roles), RUN)
    return selection_of_run(label_options(manifest, options.roles)).needs


@dataclass(frozen=True, slots=True, eq=False)
class StoredRoles:
    """The roles of a label run, with what the run says of itself.

    Attributes:
        held: The roles, decided on units that measure no damage.
        options: Options of the label run.
        model: Its model, as the manifest describes it.
    """

    held: HeldRoles
    options: Options
    model: Mapping[str, Any]


def stored_roles(options: AblateOptions) -> StoredRoles | None:
    """Return the roles of the label run, decided on units that measure no damage; None without a label run.

    Rules, test, correction and level are those of the label run. Where the inputs are named alike, one half
    of the label run's units decides, chosen by a hash of the seed and their names. With other inputs, all its
    units decide. ``HeldRoles.apart`` then says which units of the ablation are left for damage.

    Args:
        options: Of the run of ablations.

    Raises:
        BadInput: When the folder holds no finished run of sieves, was altered, or has fewer than 4 units.
    """
    if options.roles is None:
        return None
    from headroles.storage.run import load

    run, own = load(options.roles), options.settings()
    asked = label_options(run.manifest, options.roles)
    halved = all(asked.settings()[name] == own[name] for name in SAME_INPUTS)
    held = decide_roles(run, options.roles, options.seed if halved else None)
    return StoredRoles(held, asked, run.manifest.get("model", {}))


def held_roles(options: AblateOptions) -> HeldRoles | None:
    """Return the roles of the label run alone, as ``stored_roles``; None without a label run."""
    stored = stored_roles(options)
    return None if stored is None else stored.held


def decide_roles(run: Labelling, source: str, seed: int | None) -> HeldRoles:
    """Return the roles of a label run, decided on one half of its units, or on all.

    Args:
        run: The label run.
        source: Its folder.
        seed: Of the halves; None: all units decide.

    Raises:
        BadInput: For fewer than 4 units.
    """
    from headroles.stats.columns import select_examples
    from headroles.stats.engine import judge

    units = run.scores.units
    if len(set(units)) < 4:
        raise BadInput(
            f"roles are decided on one half of the units and their damage is measured on the other, which "
            f"takes at least 4 units, but '{source}' has {len(set(units))}; label more inputs"
        )
    deciding = np.ones(len(units), dtype=np.bool_) if seed is None else deciding_half(units, seed)
    scores = select_examples(run.scores, deciding)
    findings = judge(scores, run.findings.rules, run.decision)
    places = [place for place, rule in enumerate(findings.rules) if rule.role]
    return HeldRoles(
        roles=findings.roles,
        decision=findings.decision[places],
        score=findings.mean[places],
        units=tuple(dict.fromkeys(scores.units)),
        source=source,
        examples=scores.examples,
    )


def deciding_half(units: Sequence[str], seed: int) -> Bool[np.ndarray, " examples"]:
    """Return whether each example's unit is in the half that decides labels; of an odd number, the smaller.

    Args:
        units: Unit of each example.
        seed: Of the halves.

    Example:
        >>> deciding_half(["a", "a", "b", "c", "d"], 0).tolist()
        [False, False, True, False, True]
    """
    return half_of_units(units, seed, "labels")


def check_grid(held: HeldRoles, layers: int, heads: int) -> None:
    """Refuse roles of a model with other layers or heads.

    Raises:
        BadInput: When the label run has others.
    """
    grid: tuple[Any, ...] = held.decision.shape[1:]
    if grid != (layers, heads):
        raise BadInput(
            f"roles are those of the same heads, but '{held.source}' has {grid[0]} x {grid[1]} heads and the "
            f"model {layers} x {heads}; name a label run of this model"
        )
