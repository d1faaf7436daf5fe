"""Measure the damage of removed heads on fresh inputs: ``prune(..., check=True)``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.kinds import kind_named
from headroles.options.causal.ablate import AblateOptions
from headroles.options.causal.prune import PruneOptions
from headroles.progress import LOAD, REPORT, SCORE, Phases
from headroles.records.causal.columns import ACCURACY, LOSS
from headroles.records.causal.pruning import FreshCheck, Pruning
from headroles.records.passage import Passage
from headroles.storage.causal.pruning import load_pruning, pruning_texts, rewrite_pruning
from headroles.storage.folder import PRUNED_MODEL, PRUNING
from headroles.storage.integrity.lock import lock_present_folder
from headroles.storage.integrity.manifest import read_checked_manifest

OF_ARMS = ("roles", "by", "outcome", "groups", "sets", "screen", "donors", "references", "margin")
"""Options of a run that say which heads it takes out and what it measures."""


def check_pruning(options: PruneOptions, phases: Phases) -> Pruning:
    """Measure the damage of a finished pruning on fresh inputs, and write the result into its folder.

    Both models run: the one that was pruned, and the one in the folder. Null, alternative and unit are those
    of the certificate, on the new inputs: one test, so nothing is corrected. Units are left out where an
    input of theirs shares a text, its tokens or a document with one that was used before.

    Args:
        options: With ``check`` and ``data``.
        phases: Of the terminal, or of a caller.

    Returns:
        The pruning with its check.

    Raises:
        BadInput: When the folder is no pruning, no head was removed, the model that was pruned is gone or
            changed, or no input is fresh.
    """
    folder = Path(options.folder)
    read_checked_manifest(folder, PRUNING)
    with lock_present_folder(folder):
        pruning = load_pruning(folder)
        if not pruning.removed.any():
            raise BadInput(
                "a check compares the pruned model with the whole one, but no head was removed in "
                f"'{folder}'; prune with a larger --bound first"
            )
        fresh = _fresh_options(pruning, options)
        passages, left_out, units = _fresh_inputs(pruning, fresh)
        checked = replace(pruning, check=_measure(pruning, options, fresh, passages, units, left_out, phases))
        with phases.during(REPORT):
            from headroles.reports.kinds.prune import pruning_page

            rewrite_pruning(folder, checked, pruning_page(checked, pruning_texts(checked)))
    return checked


def _fresh_options(pruning: Pruning, options: PruneOptions) -> AblateOptions:
    """Return the options of the run with the fresh inputs in place of its own.

    Raises:
        BadInput: When the certificate is about no classes, and their column is given.
    """
    if options.label is not None and pruning.outcome not in (LOSS, ACCURACY):
        raise BadInput(
            f"--label names the right classes, but the certificate in '{options.folder}' is about "
            f"{pruning.outcome}, which needs none; leave it out"
        )
    settings = dict(pruning.manifest["run"]["settings"])
    named = {name: getattr(options, name) for name in ("text_a", "text_b", "label")}
    settings |= {name: value for name, value in named.items() if value is not None}
    settings |= {"source": "sample", "limit": None, "first": None, "stream": False}
    settings = {name: value for name, value in settings.items() if name not in OF_ARMS}
    fresh = kind_named("ablate").options(settings | {"data": options.data})
    assert isinstance(fresh, AblateOptions)
    return fresh


def _fresh_inputs(pruning: Pruning, options: AblateOptions) -> tuple[list[Passage], int, list[str]]:
    """Return inputs that share nothing with used ones, how many were left out, and the unit of each."""
    from headroles.inputs.passages import check_data
    from headroles.inputs.units import unit_names
    from headroles.pruning.source import seen_marks

    check_data(options)
    corpus = kind_named("ablate").read_corpus(options)
    try:
        everything, given, identity = list(corpus), corpus.units, corpus.identity
    finally:
        corpus.close()
    names = given or unit_names(
        [passage.group for passage in everything],
        [identity.unit_marks(passage) for passage in everything],
        [passage.key for passage in everything],
    )
    seen = {*pruning.seen}
    used = {
        name
        for name, passage in zip(names, everything, strict=True)
        if not seen.isdisjoint(seen_marks(passage, identity))
    }
    places = [place for place, name in enumerate(names) if name not in used]
    if not places:
        raise BadInput(
            f"a check needs inputs that were never used, but all {len(everything)} of --data are in units "
            "that share a text, tokens or a document with the run; give other inputs"
        )
    units = [names[place] for place in places]
    return [everything[place] for place in places], len(everything) - len(places), units


def _measure(
    pruning: Pruning,
    options: PruneOptions,
    fresh: AblateOptions,
    passages: Sequence[Passage],
    units: Sequence[str],
    left_out: int,
    phases: Phases,
) -> FreshCheck:
    """Run both models over the fresh inputs, and test the damage."""
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.texts.sources import fingerprint
    from headroles.pruning.measure import UnitDamage
    from headroles.pruning.model import open_model

    stated: Any = pruning.manifest["model"]
    with phases.during(LOAD):
        whole = open_model(fresh, options.device)
        whole.check_weights(stated, options.folder)
        saved = find_checkpoint(str(Path(options.folder) / PRUNED_MODEL), None)
        pruned = open_model(fresh, options.device, saved)
    with phases.during(SCORE, len(passages)):
        meter = whole.meter(passages, pruning.outcome, options.batch_size)
        damage = UnitDamage(meter, pruning.outcome, units)
        measured = meter.measure(pruned.model)
        step = damage.step(int(pruning.removed.sum()), measured, pruning.bound, pruning.alpha)
    name = str(options.data if isinstance(options.data, str) else getattr(options.data, "name", "data"))
    return FreshCheck(step, name, fingerprint(passages), len(passages), left_out)
