"""Parse the command line: each command reads its options, calls one function, and prints the result."""

import errno
import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import version
from io import StringIO, TextIOWrapper
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

import click

from headroles.cli.commands import COMMANDS
from headroles.cli.options import (
    CLUSTER,
    COMPARE,
    DECISION,
    LABEL,
    PROBE,
    REPLICATE,
    SURFACE,
    VIEW,
    with_options,
)
from headroles.errors import HeadrolesError, visible

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from headroles.progress import Progress

SHORTAGES = (
    "can't start new thread",
    "Failed to launch worker thread",
    "can't allocate memory",
    "could not create a primitive",
)
"""Words of libraries for missing memory or threads."""
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _console() -> "Console":
    """Return the console for results; rich is imported only when it is needed."""
    from headroles.terminal.console import console

    return console()


def _progress() -> "AbstractContextManager[Progress]":
    """Return the progress bar; rich is imported only when it is needed."""
    from headroles.terminal.console import progress

    return progress()


@click.group(context_settings=CONTEXT)
@click.version_option(version("headroles"), prog_name="headroles")
def cli() -> None:
    """What do the attention heads of a model do, and how sure can we be?"""


@cli.command("label")
@with_options(LABEL)
def label_command(**given: Any) -> None:
    """Label the heads of a model, and write tables and a report."""
    from headroles.runs.defaults import default_folder
    from headroles.runs.label.run import label
    from headroles.terminal.label import show_labelling

    given["out"] = given["out"] or default_folder(given, given["kind"] or "")
    with _progress() as progress:
        labelling = label(progress=progress, **given)
    show_labelling(_console(), labelling, given["out"])


@cli.command("probe")
@click.argument("probes", nargs=-1, required=True)
@with_options(PROBE)
def probe_command(**given: Any) -> None:
    """Ask every head questions with right answers: PROBES are dependency, trees, coreference.

    Several probes share one pass over the data. The best head of each row is chosen on one half of the
    documents and tested on the other.
    """
    from headroles.runs.probe.run import default_folder, probe
    from headroles.terminal.probe import show_probe

    given["out"] = given["out"] or default_folder(given)
    with _progress() as progress:
        labelling = probe(progress=progress, **given)
    show_probe(_console(), labelling, given["out"])


@cli.command("surface")
@with_options(SURFACE)
def surface_command(**given: Any) -> None:
    """Describe attention by kind of token, offset and entropy, head by head, against even attention.

    With --gradients, also measure how much the loss depends on the attention to each kind of token. All
    layers' attention then stays in memory until the backward pass, so batches are small.
    """
    from headroles.runs.defaults import default_folder
    from headroles.runs.surface.run import surface
    from headroles.terminal.surface import show_surface

    given["out"] = given["out"] or default_folder(given, "-".join(filter(None, ("surface", given["kind"]))))
    with _progress() as progress:
        labelling = surface(progress=progress, **given)
    show_surface(_console(), labelling, given["out"])


@cli.command("cluster")
@with_options(CLUSTER)
def cluster_command(**given: Any) -> None:
    """Label the heads of a model, and cluster them by the differences of their attention.

    Distances between all pairs of heads (Jensen-Shannon divergence) are summed in the same pass.
    """
    from headroles.runs.cluster.run import cluster
    from headroles.runs.defaults import default_folder
    from headroles.terminal.run import show_run

    given["out"] = given["out"] or default_folder(given, "-".join(filter(None, ("cluster", given["kind"]))))
    with _progress() as progress:
        labelling = cluster(progress=progress, **given)
    show_run(_console(), labelling, given["out"])


@cli.command("judge")
@click.argument("folder")
@with_options(DECISION)
def judge_command(folder: str, **given: Any) -> None:
    """Judge the stored scores of a run FOLDER again; no model is needed."""
    from headroles.judging.again import judge_again
    from headroles.terminal.run import show_run

    show_run(_console(), judge_again(folder, **given), folder)


@cli.command("verify")
@click.argument("folder")
@click.option(
    "--oracles",
    is_flag=True,
    help="Recompute p, q, effects and intervals one by one with scipy, statsmodels and pingouin.",
)
def verify_command(folder: str, oracles: bool) -> None:
    """Check every hash of a run FOLDER, and that its findings follow from its scores.

    Every file must be what it was when it was written, all shards must be there, and findings and labels,
    computed again from the stored scores, must be those of the tables. No model is needed. With --oracles,
    other libraries recompute the findings, and a table shows the largest differences.
    """
    from headroles.shards.verify import refuse_differences, verify
    from headroles.terminal.run import show_checks, show_verified

    verified = verify(folder, oracles=oracles)
    if oracles:
        show_checks(_console(), verified.checks)
        refuse_differences(verified.checks, folder)
    show_verified(_console(), verified, folder)


@cli.command("view")
@click.argument("text", required=False)
@click.argument("text_b", required=False)
@with_options(VIEW)
def view_command(**given: Any) -> None:
    """Show a model's attention over TEXT, or over the pair TEXT and TEXT_B, as one HTML page.

    The page shows single heads, all layers × heads, and the parts of each weight. In an encoder-decoder,
    the encoder reads TEXT and the decoder reads TEXT_B. With --attention, stored maps are shown.
    """
    from headroles.viewing import PAGE, view

    given["out"] = given["out"] or (None if given["svg"] else PAGE)
    viewed = view(**given)
    _console().print(f"model   {viewed.view.model}", markup=False)
    for note in viewed.view.notes:
        _console().print(f"note    {note}", markup=False)
    for name in ("svg", "out"):
        if given[name]:
            _console().print(f"view    {given[name]}", markup=False)


@cli.command("compare")
@click.argument("dir_a")
@click.argument("dir_b")
@with_options(COMPARE)
def compare_command(dir_a: str, dir_b: str, **given: Any) -> None:
    """Compare the runs DIR_A and DIR_B head by head: differences, and roles gained and lost.

    Both runs score the same examples with the same sieves under two models, or one model on two inputs
    of equal layout. Differences are B − A. No model is needed.
    """
    from headroles.comparing.compare import compare, default_folder
    from headroles.terminal.compare import show_comparison

    given["out"] = given["out"] or default_folder(dir_a, dir_b)
    show_comparison(_console(), compare(dir_a, dir_b, **given), given["out"])


@cli.command("replicate")
@click.argument("dir_a")
@click.argument("dir_b")
@with_options(REPLICATE)
def replicate_command(dir_a: str, dir_b: str, **given: Any) -> None:
    """Test the roles that run DIR_A found on the other inputs of run DIR_B.

    Both runs use one model and the same sieves or probes. B is judged by the test, margins and alpha of
    A, and corrected over the roles of A only. No model is needed.
    """
    from headroles.comparing.replicate import replicate
    from headroles.terminal.replicate import show_replication

    show_replication(_console(), replicate(dir_a, dir_b, **given), given["out"])


for command in COMMANDS:
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command line; exit with 0 when done, 1 after a user's mistake, and 2 after wrong usage."""
    _stop_on_signals()
    _start_arrow_threads()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # for characters that the terminal's encoding lacks
    try:
        cli.main(standalone_mode=False, prog_name="headroles")
    except HeadrolesError as error:
        _complain(f"headroles: {' '.join(str(error).split())}\n")
        sys.exit(1)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
    except click.ClickException as error:
        usage = StringIO()
        error.show(usage)
        _complain(usage.getvalue())
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as stopping:
        message = str(stopping.__cause__ if isinstance(stopping, click.Abort) else stopping)
        _complain(f"headroles: {message or 'stopped; nothing was written'}\n")
        sys.exit(130)
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # the terminal is gone, after SIGHUP
            sys.exit(130)
        sentence = _refusal_of_system(error)
        if sentence is None:
            raise
        _complain(f"headroles: {sentence}\n")
        sys.exit(1)
    sys.exit(0)


def _refusal_of_system(error: Exception) -> str | None:
    """Return the sentence for a name that is too long or for missing memory; None for any other error."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return (
            f"a name in a path has at most 255 bytes on most systems, but got '{error.filename!s:.60}…'; "
            f"give a shorter path"
        )
    refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
    unloaded = isinstance(error, ImportError) and "failed to map segment" in str(error)
    if (
        isinstance(error, MemoryError)
        or refused
        or unloaded
        or any(words in str(error) for words in SHORTAGES)
    ):
        return (
            "the run needs more memory or threads than this machine or its limit (ulimit -v) allows; "
            "finished shards are kept, so start the same command again with a higher limit or a smaller "
            "--batch-size"
        )
    return None


def _start_arrow_threads() -> None:
    """Start the threads of pyarrow while there is room for them, where memory is limited (``ulimit -v``).

    By default pyarrow starts them when it needs them. Where the system then refuses one, a reader of
    Parquet files waits for ever, and no signal ends it.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the usual one reserves a gigabyte
    with suppress(MemoryError, OSError), TemporaryDirectory() as folder:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        pq.write_table(pa.table({"a": [1], "b": [2]}), f"{folder}/threads.parquet")
        pq.read_table(f"{folder}/threads.parquet")


def _stop_on_signals() -> None:
    """Let SIGTERM, and SIGHUP unless ``nohup`` ignores it, stop a run like Ctrl-C, so that it cleans up."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and (name == "SIGTERM" or signal.getsignal(number) != signal.SIG_IGN):
            signal.signal(number, signal.default_int_handler)


def _complain(text: str) -> None:
    """Write a text to standard error; nothing where its terminal is gone."""
    with suppress(OSError):
        click.echo(visible(text), err=True, nl=False)
