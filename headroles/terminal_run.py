"""A run in the terminal, by its kind."""

from rich.console import Console

from headroles.outcomes import Labelling
from headroles.terminal import show_labelling
from headroles.terminal_cluster import show_clusters
from headroles.terminal_probe import show_probe
from headroles.terminal_surface import show_surface


def show_run(console: Console, labelling: Labelling, folder: str) -> None:
    """Print what a run found, and where its report is.

    Args:
        console: Of any width.
        labelling: Of any kind of run.
        folder: Of the run, as it is named in the last line.
    """
    if labelling.surface is not None:
        show_surface(console, labelling, folder)
    elif labelling.probed is not None:
        show_probe(console, labelling, folder)
    else:
        if labelling.clustered is not None:
            show_clusters(console, labelling)
            console.print()
        show_labelling(console, labelling, folder)
