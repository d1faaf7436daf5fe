"""Engines that score shards: in this process, in other processes of this machine, or on a Ray cluster.

Engines may import the records of ``headroles.shards.work``, the worker and the options, and nothing of the
runs that use them. ``engine_of`` chooses the engine; a newcomer starts with ``here``, the simplest one.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from headroles.errors import BadInput
from headroles.inputs.corpora import Corpus
from headroles.options.run import CommonOptions
from headroles.progress import Advance
from headroles.records.objects import ModelObject
from headroles.shards.engines.loading import without_collection
from headroles.shards.work import Engine, Order
from headroles.storage.places import Place


@contextmanager
def engine_of(order: Order, place: Place, corpus: Corpus, advance: Advance) -> Iterator[Engine]:
    """Give the engine that the options name, with its first worker ready; stop all workers at the end.

    Args:
        order: Instructions for its workers.
        place: Where shards are written.
        corpus: The inputs.
        advance: Called with the number of examples scored or parsed since the last call; negative when
            examples that were counted have to be done again.

    Raises:
        MissingExtra: When the engine is not installed.
        HeadrolesError: When the worker raised it while it loaded.
    """
    with ExitStack() as stack:
        with without_collection():
            engine = stack.enter_context(_engine(order, place, corpus, advance))
        yield engine


def _engine(order: Order, place: Place, corpus: Corpus, advance: Advance) -> Engine:
    """Import and return the engine that the options name."""
    if order.options.engine == "ray":
        from headroles.shards.engines.on_ray.data import RayEngine

        return RayEngine(order, advance)
    if order.options.workers == 1:
        from headroles.shards.engines.here import InProcess

        return InProcess(order, place, corpus, advance)
    from headroles.shards.engines.processes import Processes

    return Processes(order, advance)


def uses_other_processes(options: CommonOptions) -> bool:
    """Return whether workers are other processes than this one.

    Raises:
        BadInput: When they are and a model or sieve is given as an object, which cannot leave this process.
    """
    apart = options.engine != "local" or options.workers > 1
    objects = [sieve for sieve in getattr(options, "sieve", ()) if not isinstance(sieve, str)]
    several = "the engine ray" if options.engine != "local" else f"{options.workers} workers"
    if apart and isinstance(options.model, ModelObject):
        raise BadInput(
            f"a model given as an object stays in this process, but got {options.model.name} with {several}; "
            f"save model and tokenizer with save_pretrained and name the folder, or take one worker"
        )
    if apart and objects:
        raise BadInput(
            f"sieves given as objects stay in this process, but got {objects[0].name!r} with {several}; name "
            f"it as 'path/to/file.py:name' or by its plug-in, or take one worker"
        )
    return apart


def threads_per_worker(options: CommonOptions) -> int | None:
    """Return the threads of each worker: as requested, otherwise an equal share of the processors.

    Returns:
        The number; None for one worker in this process without a request, which has the threads of the
        process.
    """
    if options.threads is not None:
        return options.threads
    if options.engine == "local" and options.workers == 1:
        return None
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdecimal() and int(setting):
        threads = int(setting)
    else:
        from headroles.extraction.model.threads import cpu_count

        threads = cpu_count()
    return max(1, threads // options.workers)


def has_idle_processor(options: CommonOptions) -> bool:
    """Return whether a worker may find another processor free while its model computes.

    That is not so where workers of one thread each take all processors of this machine.
    """
    from headroles.extraction.model.threads import cpu_count

    return options.engine != "local" or (options.threads or 1) > 1 or cpu_count() > options.workers
