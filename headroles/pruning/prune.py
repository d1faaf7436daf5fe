"""Remove heads from a model with a certificate of the damage: ``prune()``.

Options, folders and the manifest of the run are checked before torch, scipy or plotly is imported.
"""

import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.options.causal.prune import PruneOptions
from headroles.options.keywords import keywords_of
from headroles.progress import LOAD, REPORT, SCORE, Phases, Progress, phases_of
from headroles.pruning.checks import check_out, read_run_manifest
from headroles.records.causal.pruning import WITHIN, Pruning
from headroles.storage.folder import PRUNED_MODEL, PRUNING, check_free, stage_folder, write_errors
from headroles.storage.integrity.lock import lock_run_folder

if TYPE_CHECKING:
    from headroles.pruning.source import PruneSource

SIZES = 36
"""Sets of heads that are tried where no sizes are given."""
TIMED = 32
"""Inputs on which the saved model is compared, and on which times are measured."""
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "scipy")


@keywords_of(PruneOptions, "folder", "bound")
def prune(options: PruneOptions, *, progress: Progress | Phases | None = None) -> Pruning:
    """Remove the largest set of heads whose damage stays below a bound, with a certificate.

    One half of the units of a run of ``ablate`` orders the heads by their damage. Growing sets of the first
    heads are removed from the model: the output of a head becomes its mean over inputs of that half, folded
    into the weights. The other half tests the joint damage of each set, in a fixed sequence. It ends with the
    first set whose damage is not shown to lie below the bound. The model without the heads of the largest set
    that passed is saved, and plain transformers loads it.

    With ``check``, the damage of a finished pruning is measured on fresh inputs.

    Args:
        progress: Called with the inputs done and their total, over all sets of heads.
        {options}

    Returns:
        The removed heads, the tested sets, the certificate, and what is gained by cutting the heads out.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    for where in (options.folder, options.out or ""):
        if is_address(where):
            raise BadInput(
                f"a model is pruned from and to folders of this machine, but got {where!r}; copy the run here"
            )
    if options.check:
        from headroles.pruning.check import check_pruning

        return check_pruning(options, phases_of(progress))
    return _prune(options, phases_of(progress))


def _prune(options: PruneOptions, phases: Phases) -> Pruning:
    """Prune the model of a run into a folder, if there is one."""
    read_run_manifest(options.folder)
    out = check_out(options)
    with lock_run_folder(out):
        if out is not None:
            check_free(out, settings_of(options), options.overwrite, PRUNING)
        from headroles.pruning.source import check_sizes, default_sizes, read_source

        source = read_source(options.folder, options.outcome, options.seed)
        options.check_bound(source.outcome)
        heads = source.single.size
        check_sizes(options.sizes, heads)
        sizes = options.sizes or default_sizes(heads, SIZES)
        if out is None:
            return _pruned(options, source, sizes, phases, None)
        with stage_folder(out) as staging:
            pruning = _pruned(options, source, sizes, phases, staging)
            with phases.during(REPORT):
                from headroles.reports.kinds.prune import pruning_page
                from headroles.storage.causal.pruning import finish_pruning, pruning_texts

                finish_pruning(staging, pruning, pruning_page(pruning, pruning_texts(pruning)))
    return pruning


def _pruned(
    options: PruneOptions, source: "PruneSource", sizes: tuple[int, ...], phases: Phases, place: Path | None
) -> Pruning:
    """Open the model, test growing sets of heads, and save the model without those of the largest one."""
    import numpy as np

    from headroles.extraction.pruning.cut import measure_gain
    from headroles.extraction.pruning.opening import save_network
    from headroles.pruning.measure import UnitDamage, mask_of, measure_sets
    from headroles.pruning.model import open_model, remover_of
    from headroles.records.causal.pruning import Gain

    assert options.bound is not None
    bound, alpha = options.bound, options.alpha
    with phases.during(LOAD):
        opened = open_model(source.options, options.device)
        opened.check_weights(source.run.manifest["model"], options.folder)
        opened.check_outcome(source.outcome)
        remover, projections, opened = remover_of(opened, source.references(options.seed), options.batch_size)
        testing = [source.passages[place] for place in source.testing]
        units = [source.run.scores.units[place] for place in source.testing]
        meter = opened.meter(testing, source.outcome, options.batch_size)
    damage = UnitDamage(meter, source.outcome, units)
    done = 0

    total = len(sizes) * len(testing)

    def advance() -> None:
        nonlocal done
        done += len(testing)
        phases.reach(SCORE, done, total)

    shape = source.single.shape
    with phases.during(SCORE, total):
        steps, change = measure_sets(remover, damage, source.order, sizes, (bound, alpha), shape, advance)
    passed = [step.size for step in steps if step.decision == WITHIN]
    removed = mask_of(source.order, passed[-1] if passed else 0, shape)
    gain, remarks = Gain(), list(opened.remarks(source.outcome, remover.folds_means, steps[0].count))
    if passed:
        remover.remove(removed)
        sample = opened.read(testing)[0][:TIMED]
        gain = measure_gain(opened.model, projections, removed, sample, options.batch_size)
        if place is not None:
            with write_errors("the pruned model"):
                save_network(opened.model, place / PRUNED_MODEL, opened.batches(sample, options.batch_size))
    known = ~np.isnan(change).all(axis=0)
    return Pruning(
        outcome=source.outcome,
        arm=source.arm,
        bound=bound,
        alpha=alpha,
        order=source.order,
        single=source.single,
        removed=removed,
        steps=steps,
        units=tuple(name for name, there in zip(damage.names, known, strict=True) if there),
        clean=damage.clean[known],
        change=change[:, known],
        seen=tuple(sorted(source.seen)),
        gain=gain,
        manifest=facts_of(options, source)
        | source.facts
        | {"replaced_by": "mean output" if remover.folds_means else "zero"},
        remarks=tuple(remarks),
    )


def settings_of(options: PruneOptions) -> dict[str, Any]:
    """Return the options that decide the numbers, in JSON types."""
    return {
        "run": str(options.folder),
        "bound": options.bound,
        "outcome": options.outcome,
        "sizes": list(options.sizes),
        "alpha": options.alpha,
        "seed": options.seed,
        "device": options.device,
        "batch_size": options.batch_size,
    }


def facts_of(options: PruneOptions, source: "PruneSource") -> dict[str, Any]:
    """Return everything needed to reproduce a pruning, in JSON types; no time of day."""
    settings = settings_of(options)
    words = ["headroles", "prune", settings["run"], "--bound", f"{options.bound:g}"]
    for name in ("outcome", "alpha", "seed", "device", "batch_size"):
        if getattr(options, name) != PruneOptions.__dataclass_fields__[name].default:
            words += [f"--{name.replace('_', '-')}", str(settings[name])]
    if options.sizes:
        words += ["--sizes", ",".join(map(str, options.sizes))]
    run = source.run.manifest
    return {
        "headroles": version("headroles"),
        "command": shlex.join(words),
        "settings": settings,
        "run": {
            "command": run.get("command"),
            "settings": run["settings"],
            "findings": run.get("counts"),
        },
        "model": run["model"],
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }


def default_folder(run: str) -> str:
    """Return the folder that the command uses by default: ``pruned/`` and the name of the run.

    Example:
        >>> default_folder("runs/MRPC-tuned/")
        'pruned/MRPC-tuned'
    """
    return str(Path("pruned") / Path(run).resolve().name)
