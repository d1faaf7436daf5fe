"""The command line: each command parses, calls one function, and prints."""

import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from importlib.metadata import version
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

import click

from headroles.errors import HeadrolesError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

PIPED = 140
"""Columns of a table where output goes to a file or a pipe."""
WIDE = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _console() -> "Console":
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    return console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=PIPED)


@contextmanager
def _progress() -> "Iterator[Callable[[int, int], None]]":
    """A bar with rate and time left on stderr, off when that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("scoring", total=None, rate="")

        def advance(done: int, total: int) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.0f}/s" if speed else "")

        yield advance


@click.group(context_settings=WIDE)
@click.version_option(version("headroles"), prog_name="headroles")
def cli() -> None:
    """What do the attention heads of a model do, and how sure can we be?"""


def _option(name: str, kind: Any, text: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(f"--{name}", type=kind, help=text, **more)


_DECISION = (
    _option("alpha", float, "Level of both corrections: false roles, and false nots.  [default: 0.05]"),
    _option("margin", float, "How far beyond chance counts, for every sieve.  [default: each sieve's own]"),
    _option("test", str, "t-skew, t, bootstrap-t, sign-flip, wilcoxon or sign.  [default: t-skew]"),
    _option(
        "correction",
        str,
        "fdr_bh, fdr_by, fdr_tsbh, holm, holm-sidak, bonferroni, sidak, maxT or none.  [default: fdr_bh]",
    ),
    _option("family", str, "Tests corrected together: of a sieve, run, or layer.  [default: sieve]"),
    _option("resamples", int, "Draws of resampling tests, maxT and bca.  [default: 10000]"),
    _option("resample-seed", int, "Seed of those draws and of the half-samples.  [default: 0]"),
    _option(
        "interval", str, "95 % interval of the mean: test (that of the test), t or bca.  [default: test]"
    ),
    _option("splits", int, "Random half-samples behind the stability; 0 for none.  [default: 200]"),
    click.option(
        "--bayes/--no-bayes", default=None, help="Bayes factor of a point null for every head.  [default: no]"
    ),
)

_LABEL = (
    _option("task", str, "QNLI, QQP, MRPC or SST-2."),
    _option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    _option("revision", str, "Branch, tag or commit of a model on the hub."),
    _option(
        "source", str, "Inputs of the task: sample (shipped) or hub.", default="sample", show_default=True
    ),
    _option("data", str, "Your inputs: .tsv, .csv, .jsonl or .conllu (.gz too)."),
    _option("text-a", str, "Column of --data with the text."),
    _option("text-b", str, "Column with the second text of a pair."),
    _option("group", str, "Column with the document or paragraph, which is then the unit."),
    _option("limit", int, "A random subset of this many inputs."),
    _option("seed", int, "Seed of that subset.", default=0, show_default=True),
    _option("sieve", str, "A sieve; may be repeated.  [default: all built in]", multiple=True),
    _option("preset", str, "calibrated or published.", default="calibrated", show_default=True),
    _option("statistic", str, "selectivity or bias.", default="selectivity", show_default=True),
    *_DECISION,
    _option("parser", str, "An installed spaCy pipeline or its path.  [default: the one shipped]"),
    _option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    _option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    _option("batch-size", int, "Largest batch.", default=32, show_default=True),
    _option(
        "max-length", int, "Longest input in tokens; longer ones are cut.", default=128, show_default=True
    ),
    _option("out", str, "Run folder.  [default: runs/<task>-<model>]"),
    click.option("--overwrite", is_flag=True, help="Replace a run with other settings."),
)


_AS_A = "  [default: as in DIR_A]"
_COMPARE = (
    _option("bound", float, "What a difference may be to count as none.", default=0.05, show_default=True),
    _option("swaps", int, "Random swaps of A and B; 0 for none.", default=1000, show_default=True),
    _option("alpha", float, "Level of every correction." + _AS_A),
    _option("test", str, "A test, as for judge." + _AS_A),
    _option("correction", str, "A correction, as for judge." + _AS_A),
    _option("family", str, "Tests corrected together." + _AS_A),
    _option("resamples", int, "Draws of resampling tests, maxT and bca." + _AS_A),
    _option("resample-seed", int, "Seed of those draws and of the swaps." + _AS_A),
    _option("interval", str, "95 % interval of the difference: test, t or bca." + _AS_A),
    _option("out", str, "Folder to write.  [default: compare/<name of A>-<name of B>]"),
    click.option("--overwrite", is_flag=True, help="Replace a comparison with other settings."),
)


def _with(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    def apply(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


@cli.command("label")
@_with(_LABEL)
def label_command(**given: Any) -> None:
    """Label the heads of a model, and write tables and a report."""
    from headroles.run import default_folder, label
    from headroles.terminal import show_labelling

    given["out"] = given["out"] or default_folder(given["task"], given["data"], given["model"])
    with _progress() as progress:
        labelling = label(progress=progress, **given)
    show_labelling(_console(), labelling, given["out"])


@cli.command("judge")
@click.argument("folder")
@_with(_DECISION)
def judge_command(folder: str, **given: Any) -> None:
    """Decide again from the stored scores of a run FOLDER; no model is needed."""
    from headroles.run import judge_again
    from headroles.terminal import show_labelling

    show_labelling(_console(), judge_again(folder, **given), folder)


@cli.command("report")
@click.argument("folder")
@_option("out", str, "File to write.  [default: FOLDER/report.html]")
def report_command(folder: str, out: str | None) -> None:
    """Write the report of a run FOLDER."""
    from headroles.run import report

    _console().print(f"report  {report(folder, out)}", markup=False)


@cli.command("compare")
@click.argument("dir_a")
@click.argument("dir_b")
@_with(_COMPARE)
def compare_command(dir_a: str, dir_b: str, **given: Any) -> None:
    """Compare the runs DIR_A and DIR_B head by head: what changed, which roles came and went.

    Both score the same examples with the same sieves, under two models, or one model on two inputs
    of equal layout. Differences are B − A. No model is needed.
    """
    from headroles.comparing import compare, default_folder
    from headroles.terminal_compare import show_comparison

    given["out"] = given["out"] or default_folder(dir_a, dir_b)
    show_comparison(_console(), compare(dir_a, dir_b, **given), given["out"])


@cli.command("plan")
@_option("effect", float, "(mean − θ) / sd of a head to find, θ = null + margin.", required=True)
@_option("heads", int, "Heads of the model, over all its layers.", required=True)
@_option("sieves", int, "Roles that are asked for.", default=1, show_default=True)
@_option("power", float, "Wanted probability of finding it.", default=0.8, show_default=True)
@_option("alpha", float, "Level of the correction.", default=0.05, show_default=True)
@_option("correction", str, "As for label, such as holm.", default="fdr_bh", show_default=True)
@_option("family", str, "Corrected together: sieve, run or layer.", default="sieve", show_default=True)
@_option("share", float, "Expected share of heads that hold the role.  [default: this head alone]")
@_option("layers", int, "Layers of the model, for --family layer.")
def plan_command(**given: Any) -> None:
    """Tell how many examples a study needs, before anything is run."""
    from headroles.planning import study
    from headroles.terminal import show_plan

    show_plan(_console(), study(**given))


@cli.command("sieves")
def sieves_command() -> None:
    """List the sieves: name, question, source, and where each comes from."""
    from headroles.catalogue import entries
    from headroles.terminal import show_sieves

    show_sieves(_console(), entries())


@cli.command("tasks")
def tasks_command() -> None:
    """List the tasks."""
    from headroles.tasks import TASKS
    from headroles.terminal import show_tasks

    show_tasks(_console(), list(TASKS.values()))


def main() -> NoReturn:
    """Run the command line: exit 0 when done, 1 on a user's mistake in one sentence, 2 on wrong usage."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a killed run cleans up, too
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # results that the terminal's encoding lacks
    try:
        cli.main(standalone_mode=False, prog_name="headroles")
    except HeadrolesError as error:
        click.echo(f"headroles: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("headroles: stopped; nothing was written", err=True)
        sys.exit(130)
    sys.exit(0)
