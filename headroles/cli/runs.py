"""Commands that make a run: label, probe, surface, cluster, ablate, why."""

from typing import Any

import click

import headroles
from headroles.cli.options import ASKED, PRINTS, ROLES, WATCHED, Command, command
from headroles.cli.results import go_on, print_result
from headroles.errors import BadInput
from headroles.options.listed import DisplayOptions
from headroles.progress import LOAD

SECTION = "Label and ask"


@command(
    "label",
    "label:LabelOptions",
    SECTION,
    "headroles label --task QNLI",
    "headroles label --task QNLI --sieve patterns --limit 50",
    "headroles label --model bert-base-uncased --data reviews.csv --text-a review",
    "headroles label --attention maps.safetensors --correction holm --alpha 0.01",
    "headroles label --task QNLI --until decided --watch",
    "headroles label --task QNLI --json",
    prints=(*WATCHED, *ASKED),
)
def label_command(display: DisplayOptions, **given: Any) -> None:
    """Label the heads of a model with their roles.

    It writes tables and a report. Each sieve asks whether a head looks at some tokens more than chance gives.
    A head has the role of a sieve when the tests say so. The command headroles sieves lists all sieves.
    """
    if display.watch and given["until"] is None:
        raise BadInput(
            "--watch shows the looks of a run that may stop, so it needs --until decided; give both, or "
            "leave --watch out"
        )
    _run("label", given, display)


@command(
    "probe",
    "probe:ProbeOptions",
    SECTION,
    "headroles probe dependency",
    "headroles probe dependency trees --data dev.conllu --limit 100",
    "headroles probe coreference --data gap-development.tsv",
    prints=(*PRINTS, *ASKED),
)
def probe_command(display: DisplayOptions, **given: Any) -> None:
    """Ask every head questions with right answers.

    They ask for head words, trees and antecedents. Several probes share one pass over the data. The best head
    for each row of the table is chosen on one half of the documents, and tested on the other. Without --data,
    heads are asked about 160 shipped trees, each of another document of UD English EWT.
    """
    _run("probe", given, display)


@command(
    "surface",
    "surface:SurfaceOptions",
    SECTION,
    "headroles surface --task QNLI",
    "headroles surface --data wiki.jsonl --group group",
    "headroles surface --model gpt2 --data texts.txt.jsonl --gradients --limit 100",
    prints=PRINTS,
)
def surface_command(display: DisplayOptions, **given: Any) -> None:
    """Describe where attention goes, head by head.

    Attention is described by kind of token, offset and entropy. Every statistic is tested against even
    attention. With --gradients, the run also measures how much the loss depends on attention. The
    attention of all layers then stays in memory, so batches are small.
    """
    _run("surface", given, display)


@command(
    "cluster",
    "cluster:ClusterOptions",
    SECTION,
    "headroles cluster --task QNLI",
    "headroles cluster --task QNLI --method spectral --clusters 6",
    prints=(*ROLES, *ASKED),
)
def cluster_command(display: DisplayOptions, **given: Any) -> None:
    """Label heads, and cluster them by their attention.

    Distances between all pairs of heads (Jensen-Shannon divergence) are summed in the same pass.
    """
    _run("cluster", given, display)


@command(
    "ablate",
    "causal.ablate:AblateOptions",
    SECTION,
    "headroles ablate --task QNLI",
    "headroles ablate --roles runs/QNLI-all-MiniLM-L6-v2 --by mean --by cells --by cells:matched",
    "headroles ablate --roles runs/QNLI-all-MiniLM-L6-v2 --groups --outcome tokens",
    prints=(*PRINTS, *ASKED),
)
def ablate_command(display: DisplayOptions, **given: Any) -> None:
    """Take heads out of a model and test the damage.

    A head is needed where the model gets significantly worse without it, by more than the margin. It is
    negligible where the damage is significantly within the margin, and interfering where the model is better
    without it. Else it is undetermined. With --roles, the run also tests whether the roles of a label run say
    where heads matter, and which.
    """
    _run("ablate", given, display)


@command(
    "why",
    "causal.why:WhyOptions",
    SECTION,
    "headroles why runs/QNLI-all-MiniLM-L6-v2",
    "headroles why runs/QNLI-all-MiniLM-L6-v2 --redeals 0 --alpha 0.01",
    "headroles why runs/QNLI-all-MiniLM-L6-v2 --data fresh.tsv --text-a sentence",
    prints=(*PRINTS, *ASKED),
)
def why_command(display: DisplayOptions, **given: Any) -> None:
    """Ask why heads attend where they do.

    FOLDER is a label run. The contrast of a role is the mean logit of its cells minus that of other keys. A
    head is vertical in a role when most of the contrast is the same for all queries, and by query when most
    of it differs. The run also tests dimensions, compares them with random rotations, and looks for
    directions. What it finds is removed from the queries, and the head is scored again.
    """
    _run("why", given, display)


def _run(name: str, given: dict[str, Any], display: DisplayOptions) -> None:
    """Make the run of checked options into its folder, and print the result.

    Wrong values are refused before the function, the terminal and the shards are imported.

    Args:
        name: Name of the public function that makes the run.
        given: Its options.
        display: How much is printed.
    """
    from headroles.options.values import record_of
    from headroles.runs.checks import check_run
    from headroles.runs.defaults import default_folder, judge_instead

    current = click.get_current_context().command
    assert isinstance(current, Command)
    options: Any = record_of(current.record, **given)
    if given["out"]:
        display.check_place(given["out"])
    from headroles.inputs import with_text_column

    hints = []
    if (named := with_text_column(options)) is not options:
        options = named
        given |= {"text_a": options.text_a}
        hints.append(f"text    column {options.text_a!r} of {options.data}; --text-a COLUMN takes another")
    folder = given["out"] or default_folder(options)
    if not given["out"] and (hint := judge_instead(options)):
        hints.append(f"note    {hint}")
    if hints and not (display.quiet or display.json):
        from headroles.reports.console import console

        console().print("\n".join(hints), markup=False)
    check_run(options)
    from headroles.runs.feasibility import outlook

    go_on(outlook(options), display)
    from headroles.progress import show_phases

    with show_phases(quiet=display.quiet, watch=display.watch) as phases:
        phases.start(LOAD)
        labelling = getattr(headroles, name)(progress=phases, **given | {"out": folder})
    print_result(labelling, folder, display)


COMMANDS = (label_command, probe_command, surface_command, cluster_command, ablate_command, why_command)
