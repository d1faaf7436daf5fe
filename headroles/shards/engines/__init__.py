"""Where shards are scored: in this process, in processes beside it, or on a cluster."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headroles.errors import BadInput
from headroles.extraction.model.machine import processors
from headroles.inputs.corpora import Corpus
from headroles.options.label import LabelOptions
from headroles.shards.work import Engine, Order
from headroles.storage.places import Place


@contextmanager
def engine_of(order: Order, place: Place, corpus: Corpus, advance: Callable[[int], None]) -> Iterator[Engine]:
    """The engine that options ask for, its first worker ready; leaving it stops all workers.

    Args:
        order: What its workers do.
        place: Where shards are written to.
        corpus: The inputs.
        advance: Called with the examples done since the last call; a negative number when some that
            were counted have to be done again.

    Raises:
        MissingExtra: When the engine is not installed.
        HeadrolesError: What the worker raised while it was made.
    """
    engine: Engine
    if order.options.engine == "ray":
        from headroles.shards.engines.on_ray.data import RayEngine

        engine = RayEngine(order, advance)
    elif order.options.workers == 1:
        from headroles.shards.engines.here import Here

        engine = Here(order, place, corpus, advance)
    else:
        from headroles.shards.engines.processes import Processes

        engine = Processes(order, advance)
    with engine as ready:
        yield ready


def leaves_the_process(options: LabelOptions) -> bool:
    """Whether workers are other processes than this one.

    Raises:
        BadInput: When they are, and sieves cannot follow them, as they are no names.
    """
    apart = options.engine != "local" or options.workers > 1
    made = [each for each in options.sieve if not isinstance(each, str)]
    if apart and made:
        raise BadInput(
            f"sieves given as they are stay in this process, but {made[0].name!r} came with "
            f"{'the engine ray' if options.engine != 'local' else f'{options.workers} workers'}; name it as "
            f"'path/to/file.py:name' or by its plug-in, or take one worker"
        )
    return apart


def threads_each(options: LabelOptions) -> int | None:
    """Threads of each worker: as asked for, else the processors of the machine shared among workers.

    Returns:
        None for one worker in this process that was not told, which has as many as the process has.
    """
    if options.threads is not None:
        return options.threads
    if options.engine == "local" and options.workers == 1:
        return None
    told = os.environ.get("OMP_NUM_THREADS", "")
    there = int(told) if told.isdecimal() and int(told) else processors()
    return max(1, there // options.workers)
