"""The entry point of the command line: all commands, and what a user sees of mistakes and interrupts."""

import atexit
import errno
import gc
import os
import signal
import sys
from contextlib import suppress
from io import StringIO, TextIOWrapper
from typing import NoReturn

import click

from headroles.cli import finished, inputs, pruning, runs
from headroles.cli.options import CONTEXT, Commands
from headroles.errors import HeadrolesError, visible

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of an output on a full or broken disk."""
SHORTAGES = (
    "can't start new thread",
    "Failed to launch worker thread",
    "can't allocate memory",
    "could not create a primitive",
)
"""Words of libraries for missing memory or threads."""


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(package_name="headroles", prog_name="headroles")
def cli() -> None:
    """What do the attention heads of a model do, and how sure can we be?"""


for each in (*runs.COMMANDS, *pruning.COMMANDS, *finished.COMMANDS, *inputs.COMMANDS):
    cli.add_command(each)


def main() -> NoReturn:
    """Run the command line; exit with 0 when done, 1 after a user's mistake, and 2 after wrong usage."""
    _spare_collector()
    _stop_on_signals()
    _start_arrow_threads()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # for characters that the terminal's encoding lacks
    try:
        cli.main(standalone_mode=False, prog_name="headroles")
        sys.stdout.flush()
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
    """Return the sentence for a long name, a full disk or missing memory; None for any other error."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return (
            f"a name in a path has at most 255 bytes on most systems, but got '{error.filename!s:.60}…'; "
            f"give a shorter path"
        )
    if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
        with open(os.devnull, "w") as nowhere:  # else the rest is written at the end, and fails again
            os.dup2(nowhere.fileno(), 1)
        return f"the output cannot be written ({error.strerror}); make room, or write it somewhere else"
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


def _spare_collector() -> None:
    """Let Python search for cyclic garbage more rarely, and not when the process ends.

    Imports make a million objects, none of them garbage. Searching them takes a second of a run, half of it
    at the end, where all memory is given back anyway.
    """
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)


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
    from tempfile import TemporaryDirectory

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
