"""What a view takes from a run: its model, an input of its own, the roles of heads, and the keys of roles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.catalogue import sieve_of
from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.extraction.model.checkpoint import Checkpoint, find_checkpoint
from headroles.options.values import stored_settings
from headroles.plugins import is_built_in
from headroles.records.findings import Labelling
from headroles.records.kept_maps import TypicalInput
from headroles.records.objects import ModelObject
from headroles.records.passage import Passage
from headroles.records.roles import control_of
from headroles.records.view import (
    DECODER,
    ENCODER,
    SELF,
    Carriers,
    Maps,
    View,
    ViewOrigins,
    ViewRoles,
)
from headroles.reports.kinds.why import Asked, role_sentence
from headroles.reports.view import strongest_role
from headroles.shards.stored_sieves import FILE, checked_sieve, with_known_sieves
from headroles.sieves.base import MaskSieve, Sieve
from headroles.sieves.weights.cells import count_cells
from headroles.storage.folder import read_manifest

KINDS = ("label", "cluster", "why")
"""Kinds of run whose roles a view shows."""
IN_MEMORY = "an object in memory"
"""Origin of a model that was given as an object."""
MOST_NAMED = 4
"""Most sieves that a note names."""


def open_run(run: str | Path | Labelling) -> Labelling:
    """Return a finished run whose model a view can show.

    Raises:
        BadInput: When there is no complete run, it tests no sieves, or it was made from stored maps or
            scores.
    """
    if isinstance(run, Labelling):
        labelling = run
    else:
        from headroles.storage.run import load

        labelling = load(run)
    from headroles.kinds import kind_of

    kind = kind_of(labelling).name
    if kind not in KINDS:
        raise BadInput(
            f"a view shows the roles of a run of {', '.join(KINDS[:-1])} or {KINDS[-1]}, but got a run of "
            f"the kind {kind}; give another run, or the text without --run"
        )
    if _settings(labelling).get("attention") is not None:
        raise BadInput(
            "a view of a run runs its model again, but this run was made from stored maps; show them with "
            "--attention, without --run"
        )
    if _settings(labelling).get("scores") is not None:
        raise BadInput(
            "a view of a run runs its model again, but this run judged a table of scores, which has none; "
            "give the text without --run"
        )
    if not labelling.findings.roles:
        raise BadInput("a view shows the roles of a run, but this run tests none; leave --run out")
    return labelling


def run_checkpoint(run: Labelling, given: ModelObject | None = None) -> Checkpoint:
    """Return the checkpoint of a run's model, before anything heavy is loaded.

    Args:
        run: A finished run.
        given: The model as an object, where the run was made with one.

    Raises:
        BadInput: When the model is not there, or an object is missing or was not to be given.
    """
    model, settings = run.manifest.get("model") or {}, _settings(run)
    in_memory = model.get("origin") == IN_MEMORY
    if in_memory != (given is not None):
        raise BadInput(
            "the model of this run was an object in memory; give it again in Python, with model="
            if in_memory
            else "a run brings its own model, so model has no effect; leave it out"
        )
    if given is not None:
        return find_checkpoint(given, None)
    name, revision = settings.get("model"), settings.get("revision")
    local = name is None or Path(name).exists()
    return find_checkpoint(name, revision if local else model.get("revision") or revision)


def run_weights(run: Labelling) -> str | None:
    """Return the SHA-256 of the weights of a run's model; None where its manifest has none."""
    weights = (run.manifest.get("model") or {}).get("weights_sha256")
    return None if weights is None else str(weights)


def weights_read(run: Labelling) -> str:
    """Return which weights a run read: "attention", or "norm" for norm-weighted attention."""
    return str(_settings(run).get("weights") or "attention")


def run_name(run: Labelling) -> str:
    """Return the name of a run: its folder, or the name of its model."""
    return Path(run.folder).name if run.folder else str((run.manifest.get("model") or {}).get("name", "run"))


def own_input(run: Labelling, sieves: Sequence[str] = ()) -> Passage:
    """Return an input that the run kept: the shortest of the most typical ones of its strongest role.

    The run has its tokens; the text is read again from where the run had it.

    Args:
        run: The run.
        sieves: Its sieves that came from files, as the user gives them.

    Raises:
        BadInput: When the run kept no input, or the input cannot be read again.
    """
    kept = run.exhibited
    if kept is None or not kept.exhibits:
        raise BadInput(
            "without a text a view shows an input that the run kept for its head cards, but this run kept "
            "none; give a text"
        )
    shown = [kept.examples[int(kept.places[typical.map, 0])] for typical in _typical(run, kept.exhibits)]
    example = min(shown, key=lambda example: example.size)
    from headroles.kinds import kind_of

    kind = kind_of(run)
    try:
        settings = _settings(run)
        asks = run.origins is not None or run.ablated is not None
        if run.folder and not asks:
            settings = with_known_sieves(settings, run.folder, sieves)
        options: Any = kind.options(settings)
        options = replace(options, sieve=tuple(sieves)) if asks else options
        corpus = kind.read_corpus(options)
        try:
            passage = next((passage for passage in corpus if passage.key == example.key), None)
        finally:
            corpus.close()
    except HeadrolesError as error:
        raise BadInput(f"the inputs of the run cannot be read again ({error}); give a text") from error
    if passage is None:
        raise BadInput(
            f"the run's input {example.key!r} is not where the run read it; give a text, or restore the data"
        )
    return passage


def _typical(run: Labelling, exhibits: Sequence[TypicalInput]) -> list[TypicalInput]:
    """Return the most typical inputs of the strongest role, or the first one kept."""
    findings = run.findings
    rows = [findings.of(name) for name in findings.roles]
    best = strongest_role(findings.roles, findings.decision[rows] == 0, findings.mean[rows])
    wanted = (findings.roles[best[0]], *best[1:]) if best else None
    typical = [row for row in exhibits if (row.sieve, row.layer, row.head) == wanted and row.rank > 0]
    return typical or [exhibits[0]]


def with_roles(
    view: View, run: Labelling, checkpoint: Checkpoint, passage: Passage, sieves: Sequence[str] = ()
) -> View:
    """Return a view with the roles that a run found in its heads, and the keys of these roles.

    Args:
        view: Attention of the run's model.
        run: The run.
        checkpoint: The run's model, whose tokenizer reads the input for the sieves.
        passage: The input, with gold annotation where the run had some.
        sieves: Sieves of the run that came from files, as the user gives them.

    Raises:
        BadInput: When the view does not hold the attention that the run tested.
    """
    kind = (run.manifest.get("model") or {}).get("kind", SELF)
    maps = next((maps for maps in view.maps if maps.kind == kind), None)
    if maps is None:
        raise BadInput(
            f"the run tested {kind} attention, which needs two texts (for encoder and decoder); give both"
        )
    asked = _asked(run)
    places = [run.scores.stack.place(layer) for layer in maps.layers]
    grid = np.ix_(range(len(asked.names)), places, maps.heads)
    keys, notes = keys_of_roles(run, checkpoint, passage, maps, sieves)
    roles = ViewRoles(
        run=run_name(run),
        kind=kind,
        names=asked.names,
        decision=asked.decision[grid],
        mean=asked.mean[grid],
        control=asked.control,
        keys=keys,
    )
    return replace(view, roles=roles, origins=_origins(run, maps), notes=(*view.notes, *notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Roles of a run: those that it tests, or those that it takes from a label run.

    Attributes:
        names: Their names.
        decision: Code of each decision.
        mean: Mean scores.
        control: What explains a score, by role.
    """

    names: tuple[str, ...]
    decision: Int[np.ndarray, "roles layers heads"]
    mean: Float[np.ndarray, "roles layers heads"]
    control: tuple[str, ...]


def _asked(run: Labelling) -> _Asked:
    """Return the roles whose heads a view shows."""
    if run.origins is not None:
        held = run.origins.held
        return _Asked(held.roles, held.decision, held.score, ("",) * len(held.roles))
    findings = run.findings
    rows = [findings.of(name) for name in findings.roles]
    rules = {rule.sieve: rule for rule in findings.rules}
    control = tuple(control_of(rules[name].contrast) for name in findings.roles)
    return _Asked(findings.roles, findings.decision[rows], findings.mean[rows], control)


def _origins(run: Labelling, maps: Maps) -> ViewOrigins | None:
    """Return which dimensions carry the roles of the heads of some maps; None where the run did not ask."""
    if run.origins is None:
        return None
    products = run.origins.products
    carriers, asked = [], Asked(run)
    for row in asked.origins.origins:
        tests = asked.dimensions(row)
        if row.layer in maps.layers and row.head in maps.heads:
            carriers.append(
                Carriers(
                    role=row.role,
                    layer=maps.layers.index(row.layer),
                    head=maps.heads.index(row.head),
                    share=tests["share"],
                    q=tests["q"],
                    found=tests["found"],
                    text=role_sentence(asked, row),
                )
            )
    return ViewOrigins(maps.kind, products.group, tuple(carriers))


def keys_of_roles(
    run: Labelling, checkpoint: Checkpoint, passage: Passage, maps: Maps, sieves: Sequence[str] = ()
) -> tuple[tuple[Bool[np.ndarray, "queries keys"] | None, ...], list[str]]:
    """Return the keys that each role of a run counts on an input, and notes on what is not known.

    Args:
        run: The run, whose parser and word vectors annotate the input.
        checkpoint: The run's model.
        passage: The input.
        maps: Attention of the kind that the run tested.
        sieves: Sieves of the run that came from files, as the user gives them.

    Raises:
        HeadrolesError: When a given sieve is none of the run.
    """
    names, settings = _asked(run).names, _settings_of_roles(run)
    preset = str(settings.get("preset") or "calibrated")
    folder = str(run.folder if run.origins is None else run.origins.held.source)
    given = {sieve.name: sieve for sieve in (checked_sieve(own, folder) for own in sieves)}
    if unused := sorted(given.keys() - {*names}):
        raise UnknownName("sieve of the run", unused[0], names)
    if maps.kind not in (SELF, ENCODER):
        what = "a decoder" if maps.kind == DECODER else "cross attention"
        return (None,) * len(names), [f"Keys of roles are not coloured in {what}."]
    examples: dict[frozenset[str], Any] = {}
    visible = None if maps.weights[..., *np.triu_indices(maps.keys.size, 1)].any() else _earlier(maps)
    keys: list[np.ndarray | None] = []
    unknown = []
    for name in names:
        try:
            if FILE in name:
                raise BadInput("no file is run that a role names")
            sieve = given.get(name) or sieve_of(name, preset)
            if not isinstance(sieve, MaskSieve):
                raise BadInput(f"the sieve {name!r} counts no keys")
            if sieve.needs not in examples:
                examples[sieve.needs] = _annotate(settings, checkpoint, passage, sieve, maps)
            keys.append(count_cells(sieve, examples[sieve.needs], visible).counted)
        except HeadrolesError:
            keys.append(None)
            unknown.append(name)
    if not unknown:
        return tuple(keys), []
    more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
    advice = "" if all(map(is_built_in, unknown)) else " Give sieves from files with --sieve FILE:NAME."
    return tuple(keys), [f"Keys are not known here of {', '.join(unknown[:MOST_NAMED])}{more}.{advice}"]


def _annotate(
    settings: Mapping[str, Any], checkpoint: Checkpoint, passage: Passage, sieve: Sieve, maps: Maps
) -> Any:
    """Return the input as a sieve reads it, with the parser and the vectors of the run.

    Raises:
        BadInput: When annotation is missing, or the tokens are not those of the maps.
    """
    from headroles.extraction.views.sieve_input import read_example

    example, _ = read_example(
        checkpoint,
        passage,
        sieve.name,
        sieve.needs,
        parser=settings.get("parser"),
        vectors=settings.get("vectors"),
        max_length=maps.keys.size,
    )
    if example.tokens != maps.keys.tokens:
        raise BadInput("the tokens of the input differ from those of the maps")
    return example


def _settings(run: Labelling) -> dict[str, Any]:
    """Return the settings of a run as the options of today take them."""
    return stored_settings(run.manifest.get("settings") or {})


def _settings_of_roles(run: Labelling) -> dict[str, Any]:
    """Return the settings that the roles were scored with: those of the label run, if the roles are its own.

    Where that run is gone, those of the run itself.
    """
    if run.origins is None:
        return _settings(run)
    settings = read_manifest(Path(run.origins.held.source)).get("settings")
    return stored_settings(settings) if isinstance(settings, dict) else _settings(run)


def _earlier(maps: Maps) -> Bool[np.ndarray, "queries keys"]:
    """Return which keys a query sees in a model that sees earlier tokens only."""
    return np.tri(maps.keys.size, dtype=np.bool_)
