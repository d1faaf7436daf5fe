"""The command that removes heads: prune."""

from typing import Any

from headroles.cli.options import PRINTS, command
from headroles.cli.results import print_result
from headroles.options.listed import DisplayOptions


@command(
    "prune",
    "causal.prune:PruneOptions",
    "Label and ask",
    "headroles prune runs/ablate-MRPC-tuned --bound 0.05",
    "headroles prune runs/ablate-MRPC-tuned --bound 0.02 --outcome accuracy --out pruned/tuned",
    "headroles prune pruned/tuned --check --data fresh.tsv",
    prints=PRINTS,
)
def prune_command(display: DisplayOptions, **given: Any) -> None:
    """Remove heads from a model, with a certificate.

    FOLDER is a run of headroles ablate. One half of its units orders the heads by their damage. The other
    half tests growing sets of the first heads. The model without the largest set whose damage stays below the
    bound is saved, and plain transformers loads it. With --check, FOLDER is such a model, and its damage is
    measured on fresh inputs.
    """
    from headroles.progress import show_phases
    from headroles.pruning.prune import default_folder, prune

    folder = given["folder"] if given["check"] else given["out"] or default_folder(given["folder"])
    display.check_place(folder)
    with show_phases(quiet=display.quiet) as phases:
        pruning = prune(progress=phases, **given | {"out": None if given["check"] else folder})
    print_result(pruning, folder, display)


COMMANDS = (prune_command,)
