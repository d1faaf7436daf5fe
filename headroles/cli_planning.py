"""Commands that run nothing: how much to collect, and what can be asked."""

from typing import Any

import click

from headroles.cli_options import option


@click.command("plan")
@option("effect", float, "(mean − θ) / sd of a head to find, θ = null + margin.", required=True)
@option("heads", int, "Heads of the model, over all its layers.", required=True)
@option("sieves", int, "Roles that are asked for.", default=1, show_default=True)
@option("power", float, "Wanted probability of finding it.", default=0.8, show_default=True)
@option("alpha", float, "Level of the correction.", default=0.05, show_default=True)
@option("correction", str, "As for label, such as holm.", default="fdr_bh", show_default=True)
@option("family", str, "Corrected together: sieve, run or layer.", default="sieve", show_default=True)
@option("share", float, "Expected share of heads that hold the role.  [default: this head alone]")
@option("layers", int, "Layers of the model, for --family layer.")
def plan_command(**given: Any) -> None:
    """Tell how many examples a study needs, before anything is run."""
    from headroles.planning import study
    from headroles.terminal import show_plan
    from headroles.terminal_console import console

    show_plan(console(), study(**given))


@click.command("sieves")
def sieves_command() -> None:
    """List the sieves: name, question, source, and where each comes from."""
    from headroles.catalogue import entries
    from headroles.terminal import show_sieves
    from headroles.terminal_console import console

    show_sieves(console(), entries())


@click.command("tasks")
def tasks_command() -> None:
    """List the tasks."""
    from headroles.tasks import TASKS
    from headroles.terminal import show_tasks
    from headroles.terminal_console import console

    show_tasks(console(), list(TASKS.values()))


COMMANDS = (plan_command, sieves_command, tasks_command)
