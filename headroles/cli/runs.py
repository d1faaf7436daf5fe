"""Commands that make a run: label, probe, surface, cluster."""

from collections.abc import Callable
from typing import Any

from headroles.cli.options import command
from headroles.options.cluster import ClusterOptions
from headroles.options.label import LabelOptions
from headroles.options.probe import ProbeOptions
from headroles.options.surface import SurfaceOptions
from headroles.options.values import record_of

SECTION = "Label and ask"


@command(
    "label",
    LabelOptions,
    SECTION,
    "headroles label --task QNLI",
    "headroles label --task QNLI --sieve patterns --limit 50",
    "headroles label --model bert-base-uncased --data reviews.csv --text-a review",
    "headroles label --attention maps.safetensors --correction holm --alpha 0.01",
)
def label_command(**given: Any) -> None:
    """Label the heads of a model with their roles; write tables and a report."""
    from headroles.runs.label.run import label
    from headroles.terminal.label import show_labelling

    _run(LabelOptions, label, show_labelling, given)


@command(
    "probe",
    ProbeOptions,
    SECTION,
    "headroles probe dependency --data dev.conllu",
    "headroles probe dependency trees --data dev.conllu --limit 100",
    "headroles probe coreference --data gap-development.tsv",
)
def probe_command(**given: Any) -> None:
    """Ask every head questions with right answers: head words, trees, antecedents.

    Several PROBES share one pass over the data. The best head of each row is chosen on one half of the
    documents and tested on the other.
    """
    from headroles.runs.probe.run import probe
    from headroles.terminal.probe import show_probe

    _run(ProbeOptions, probe, show_probe, given)


@command(
    "surface",
    SurfaceOptions,
    SECTION,
    "headroles surface --task QNLI",
    "headroles surface --data wiki.jsonl --group group",
    "headroles surface --model gpt2 --data texts.txt.jsonl --gradients --limit 100",
)
def surface_command(**given: Any) -> None:
    """Describe attention by kind of token, offset and entropy, head by head.

    Every statistic is tested against even attention. With --gradients, the dependence of the loss on
    attention is measured, too. All layers' attention then stays in memory, so batches are small.
    """
    from headroles.runs.surface.run import surface
    from headroles.terminal.surface import show_surface

    _run(SurfaceOptions, surface, show_surface, given)


@command(
    "cluster",
    ClusterOptions,
    SECTION,
    "headroles cluster --task QNLI",
    "headroles cluster --task QNLI --method spectral --clusters 6",
)
def cluster_command(**given: Any) -> None:
    """Label the heads of a model, and cluster them by the differences of their attention.

    Distances between all pairs of heads (Jensen-Shannon divergence) are summed in the same pass.
    """
    from headroles.runs.cluster.run import cluster
    from headroles.terminal.run import show_run

    _run(ClusterOptions, cluster, show_run, given)


def _run(
    record: type[Any], function: Callable[..., Any], show: Callable[..., None], given: dict[str, Any]
) -> None:
    """Check the options, make the run into its folder, and print the result."""
    from headroles.runs.defaults import default_folder, judge_instead

    options = record_of(record, **given)
    folder = given["out"] or default_folder(options)
    from headroles.terminal.console import console, progress

    if given["out"] is None and (hint := judge_instead(options)):
        console().print(f"note    {hint}", markup=False)
    with progress() as advance:
        labelling = function(progress=advance, **given | {"out": folder})
    show(console(), labelling, folder)


COMMANDS = (label_command, probe_command, surface_command, cluster_command)
