"""Commands that make a run: label, probe, surface, cluster."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from headroles.cli.options import Command, command

SECTION = "Label and ask"


@command(
    "label",
    "label:LabelOptions",
    SECTION,
    "headroles label --task QNLI",
    "headroles label --task QNLI --sieve patterns --limit 50",
    "headroles label --model bert-base-uncased --data reviews.csv --text-a review",
    "headroles label --attention maps.safetensors --correction holm --alpha 0.01",
)
def label_command(**given: Any) -> None:
    """Label the heads of a model with their roles; write tables and a report.

    Each sieve asks whether a head looks at some tokens more than chance gives. A head has the role of a sieve
    when the tests say so. The command headroles sieves lists all sieves.
    """
    from headroles.runs.label.run import label

    _run(label, "label:show_labelling", given)


@command(
    "probe",
    "probe:ProbeOptions",
    SECTION,
    "headroles probe dependency --data dev.conllu",
    "headroles probe dependency trees --data dev.conllu --limit 100",
    "headroles probe coreference --data gap-development.tsv",
)
def probe_command(**given: Any) -> None:
    """Ask every head questions with right answers: head words, trees, antecedents.

    Several probes share one pass over the data. The best head for each row of the table is chosen on one
    half of the documents, and tested on the other.
    """
    from headroles.runs.probe.run import probe

    _run(probe, "probe:show_probe", given)


@command(
    "surface",
    "surface:SurfaceOptions",
    SECTION,
    "headroles surface --task QNLI",
    "headroles surface --data wiki.jsonl --group group",
    "headroles surface --model gpt2 --data texts.txt.jsonl --gradients --limit 100",
)
def surface_command(**given: Any) -> None:
    """Describe attention by kind of token, offset and entropy, head by head.

    Every statistic is tested against even attention. With --gradients, the run also measures how much
    the loss depends on attention. The attention of all layers then stays in memory, so batches are small.
    """
    from headroles.runs.surface.run import surface

    _run(surface, "surface:show_surface", given)


@command(
    "cluster",
    "cluster:ClusterOptions",
    SECTION,
    "headroles cluster --task QNLI",
    "headroles cluster --task QNLI --method spectral --clusters 6",
)
def cluster_command(**given: Any) -> None:
    """Label the heads of a model, and cluster them by the differences of their attention.

    Distances between all pairs of heads (Jensen-Shannon divergence) are summed in the same pass.
    """
    from headroles.runs.cluster.run import cluster

    _run(cluster, "run:show_run", given)


def _run(function: Callable[..., Any], show: str, given: dict[str, Any]) -> None:
    """Make the run of checked options into its folder, and print the result by a function of the terminal."""
    from headroles.options.values import record_of
    from headroles.runs.defaults import default_folder, judge_instead

    current = click.get_current_context().command
    assert isinstance(current, Command)
    options: Any = record_of(current.record, **given)
    folder = given["out"] or default_folder(options)
    hint = None if given["out"] else judge_instead(options)
    from headroles.terminal.console import console, progress

    if hint is not None:
        console().print(f"note    {hint}", markup=False)
    with progress() as advance:
        labelling = function(progress=advance, **given | {"out": folder})
    module, _, name = show.partition(":")
    getattr(import_module(f"headroles.terminal.{module}"), name)(console(), labelling, folder)


COMMANDS = (label_command, probe_command, surface_command, cluster_command)
