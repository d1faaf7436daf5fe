"""A pool of actors of Ray Data, each with a worker of its own, that answers questions as they are asked."""

import os
import pickle
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from headroles import errors
from headroles.shards.engines.losses import Failure, failure_of
from headroles.shards.engines.on_ray.feed import FACTS, Feed, source_of
from headroles.shards.work import Order, Task


class Actor:
    """One member of the pool: a worker, made once, that answers questions."""

    def __init__(self, order: Order, feed: Any, home: str, make: Callable[[Order], Any]) -> None:
        """Make the worker; what goes wrong is the answer to every question, so that Ray tries no more.

        Args:
            order: What it does.
            feed: Handle of the actor that has the questions.
            home: Folder that relative paths of the options start from.
            make: Makes the worker.
        """
        with suppress(OSError):  # another machine; its paths are the user's to mind
            os.chdir(home)
        self._feed = feed
        self._worker: Any = None
        self._failed = self._made(order, make)

    def _made(self, order: Order, make: Callable[[Order], Any]) -> Failure | None:
        """Make the worker; what kept it from being made otherwise."""
        import ray

        name = ray.get_runtime_context().get_actor_id()
        failed: Failure | None = ray.get(self._feed.starting.remote(name))
        if failed is not None:
            return failed
        try:
            self._worker = make(order)
        except Exception as error:
            return failure_of(error)
        ray.get(self._feed.started.remote(name))
        return None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Answer one question.

        Args:
            batch: The number of it.

        Returns:
            The number and the answer, packed; an error is an answer.
        """
        import numpy as np
        import ray

        (number,) = batch["number"].tolist()
        asked = ray.get(self._feed.asked.remote(number))
        packed = np.empty(1, dtype=object)
        packed[0] = pickle.dumps(None if asked is None else self._answer(asked))
        return {"number": np.array([number]), "answer": packed}

    def _answer(self, asked: Any) -> Any:
        if self._failed is not None:
            return self._failed
        if isinstance(asked, Failure):
            return asked
        try:
            if isinstance(asked, Task):
                return self._worker.score(asked)
            return self._worker.facts if asked == FACTS else self._worker.keep(*asked)
        except Exception as error:
            return failure_of(error)


class Pool:
    """Actors that answer questions, one stream of Ray Data from its first question to its last."""

    def __init__(self, order: Order, make: Callable[[Order], Any]) -> None:
        """Set up the stream; the actors start with it.

        Args:
            order: What their workers do.
            make: Makes a worker.
        """
        import ray

        self._given = 0
        here = ray.get_runtime_context().get_node_id()
        beside = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        remote = ray.remote(num_cpus=0, max_concurrency=1000, scheduling_strategy=beside)
        self._feed = remote(Feed).remote()
        self._stream = streamed(order, self._feed, make)

    def ask(self, asked: Any) -> None:
        """Hand over a question."""
        import ray

        ray.get(self._feed.give.remote(self._given, asked))
        self._given += 1

    def answer(self) -> Any:
        """The next answer, whatever it answers.

        Raises:
            HeadrolesError: When that is the answer, or the workers are gone.
        """
        for number, answer in self._stream:
            self._feed.settle.remote(number)
            if isinstance(answer, Failure):
                raise answer.error()
            if answer is not None:
                return answer
        raise errors.BadInput(
            "the workers on Ray ended before the run did; see the logs of the cluster, and start the same "
            "command again to go on"
        )

    def __enter__(self) -> "Pool":
        """Nothing more: the stream starts with its first answer."""
        return self

    def __exit__(self, *why: object) -> None:
        """End the stream, and with it the actors, whatever they are at."""
        import ray

        self._stream.close()
        with suppress(Exception):  # it may be gone, and is not missed
            ray.kill(self._feed)


def streamed(order: Order, feed: Any, make: Callable[[Order], Any]) -> Generator[tuple[int, Any], None, None]:
    """Numbers and answers as they come.

    Args:
        order: What the workers do.
        feed: Handle of the actor that has the questions.
        make: Makes a worker.
    """
    import ray.data

    options = order.options
    stream = ray.data.read_datasource(source_of(feed), override_num_blocks=1, num_cpus=0).map_batches(
        Actor,
        fn_constructor_args=(order, feed, os.getcwd(), make),
        compute=ray.data.ActorPoolStrategy(size=options.workers, max_tasks_in_flight_per_actor=1),
        batch_size=1,
        num_cpus=order.threads or 1,
        num_gpus=options.gpus or None,
    )
    for batch in stream.iter_batches(batch_size=None, prefetch_batches=0, batch_format="numpy"):
        for number, packed in zip(batch["number"].tolist(), batch["answer"], strict=True):
            yield number, pickle.loads(packed)
