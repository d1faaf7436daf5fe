"""The roles that a run asks about, decided on units that measure nothing else.

Units that decide a role must not be those that test it: their noise chose the role. So labels and the tests
of a run get different units: halves of the same inputs, or different inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.inputs.identity import sketches_of
from headroles.inputs.sketch import find_shared
from headroles.inputs.units import half_of_units
from headroles.kinds import kind_named
from headroles.options.causal.held import AsksRoles, no_label_run
from headroles.options.label import Options
from headroles.records.causal.ablation import HeldRoles
from headroles.records.rules.rule import Rule
from headroles.shards.stored_sieves import with_known_sieves
from headroles.storage.folder import RUN
from headroles.storage.integrity.manifest import read_checked_manifest

if TYPE_CHECKING:
    from headroles.extraction.model.load import Model
    from headroles.records.findings import Labelling

SAME_INPUTS = ("task", "source", "data")
"""Options that name inputs: where both runs have the same, their units are split into halves."""


def check_label_run(options: AsksRoles) -> None:
    """Refuse a folder of roles that holds no finished run of sieves, or into which the run would be written.

    Raises:
        BadInput: When it holds none, or when the run that asks would replace it.
    """
    if options.roles is not None:
        label_options(read_checked_manifest(Path(options.roles), RUN), options)
        out = options.out
        if out is not None and not is_address(out) and Path(out).resolve() == Path(options.roles).resolve():
            raise BadInput(
                f"a run is written into a folder of its own, but --out names '{out}', the label run of "
                f"{options.NAMES_RUN}; name another folder"
            )


def label_options(manifest: Mapping[str, Any], asking: AsksRoles) -> Options:
    """Return the options of a label run from its manifest, with sieves that may be made here.

    Args:
        manifest: Of the label run.
        asking: Options of the run that asks about its roles.

    Raises:
        BadInput: When it is no run of sieves, or a sieve came from a file that is not given.
    """
    folder, settings = str(asking.roles), manifest.get("settings")
    if not isinstance(settings, dict) or "sieve" not in settings:
        raise no_label_run(asking.NAMES_RUN, folder)
    known = with_known_sieves(settings, folder, asking.sieve)
    options = kind_named("cluster" if "divergence" in settings else "label").options(known)
    assert isinstance(options, Options), "runs of tables of scores have no sieves"
    return options


def annotation_of(options: AsksRoles) -> frozenset[str]:
    """Return the annotation that the sieves of the label run read; none without a label run.

    Raises:
        HeadrolesError: When the folder holds no finished run of sieves, or a sieve no longer exists.
    """
    if options.roles is None:
        return frozenset()
    from headroles.runs.label.sieves import selection_of_run

    manifest = read_checked_manifest(Path(options.roles), RUN)
    return selection_of_run(label_options(manifest, options)).needs


@dataclass(frozen=True, slots=True, eq=False)
class StoredRoles:
    """The roles of a label run, with its options, model and rules.

    Attributes:
        held: The roles, decided on units that measure nothing else.
        options: Options of the label run.
        model: Its model, as the manifest describes it.
        rules: Its rules.
    """

    held: HeldRoles
    options: Options
    model: Mapping[str, Any]
    rules: tuple[Rule, ...]


def stored_roles(options: AsksRoles) -> StoredRoles | None:
    """Return the roles of the label run, decided on units that measure nothing else; None without one.

    Rules, test, correction and level are those of the label run. Where the inputs are named alike, one half
    of the label run's units decides, chosen by a hash of the seed and their names. With other inputs, all its
    units decide, and inputs that share a text, their tokens or a group with them are left out.
    ``HeldRoles.apart`` then says which units are left.

    Args:
        options: Of the run that asks.

    Raises:
        BadInput: When the folder holds no finished run of sieves, was altered, or has fewer than 4 units.
    """
    if options.roles is None:
        return None
    from headroles.storage.run import load

    run, own = load(options.roles), options.settings()
    asked = label_options(run.manifest, options)
    halved = all(asked.settings()[name] == own[name] for name in SAME_INPUTS)
    held = decide_roles(run, options.roles, options.seed if halved else None)
    if not halved:
        named = tuple(f"{unit} of {options.roles}" for unit in held.units)  # equal names are other inputs
        held = replace(held, units=named, examples=_shared_keys(options, run.manifest))
    return StoredRoles(held, asked, run.manifest.get("model", {}), run.findings.rules)


def _shared_keys(options: AsksRoles, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the inputs of a run that share a text, their tokens or a group with a label run."""
    corpus, sketches = kind_named(options.KIND).read_corpus(options), sketches_of(manifest)
    try:
        keys, marks = zip(*((passage.key, corpus.identity.marks(passage)) for passage in corpus), strict=True)
    finally:
        corpus.close()
    ways = [find_shared(sketch, [own[way] for own in marks]) for way, sketch in sketches.items()]
    return tuple(key for key, *found in zip(keys, *ways, strict=True) if any(found))


def held_roles(options: AsksRoles) -> HeldRoles | None:
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
    from headroles.stats.engine import judge

    units = run.scores.units
    if len(set(units)) < 4:
        raise BadInput(
            f"roles are decided on one half of the units and asked about on the other, which "
            f"takes at least 4 units, but '{source}' has {len(set(units))}; label more inputs"
        )
    deciding = np.ones(len(units), dtype=np.bool_) if seed is None else deciding_half(units, seed)
    scores = run.scores.take(deciding)
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


def check_same_model(roles: StoredRoles, model: Model) -> None:
    """Refuse roles of other heads, of other weights, or of another kind of attention.

    Raises:
        BadInput: When the label run is of another model.
    """
    check_grid(roles.held, model.layers, model.heads)
    stored, source = roles.model, roles.held.source
    for what, name in (("weights", "weights_sha256"), ("attention", "kind")):
        if stored.get(name) != model.described.get(name):
            raise BadInput(
                f"roles are those of the heads that are asked about, but '{source}' labels other {what} "
                f"({stored.get('name')}) than those of {model.described['name']!r}; label this model, or "
                f"give the --model of that run"
            )


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


def roles_digest(held: HeldRoles | None) -> str | None:
    """Return the SHA-256 over roles, units, decisions and scores; None without roles."""
    if held is None:
        return None
    digest = sha256("\0".join((*held.roles, "", *held.units)).encode())
    for array in (held.decision, held.score):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
