"""A pool of actors of Ray Data, each with its own worker, that answers questions one by one."""

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
    """One member of the pool: a worker that is made once and answers questions."""

    def __init__(self, order: Order, feed: Any, home: str, make: Callable[[Order], Any]) -> None:
        """Make the worker; its error is the answer to every question, so that Ray does not try again.

        Args:
            order: Instructions for the worker.
            feed: Handle of the feed actor.
            home: Folder that relative paths of the options start from.
            make: Makes the worker.
        """
        with suppress(OSError):  # on another machine the user is responsible for the paths
            os.chdir(home)
        self._feed = feed
        self._worker: Any = None
        self._failure = self._make_worker(order, make)

    def _make_worker(self, order: Order, make: Callable[[Order], Any]) -> Failure | None:
        """Make the worker; return the failure when it cannot be made."""
        import ray

        name = ray.get_runtime_context().get_actor_id()
        failure: Failure | None = ray.get(self._feed.note_start.remote(name))
        if failure is not None:
            return failure
        try:
            self._worker = make(order)
        except Exception as error:
            return failure_of(error)
        ray.get(self._feed.note_loaded.remote(name))
        return None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Answer one question.

        Args:
            batch: The number of the question.

        Returns:
            The number and the pickled answer; an error is an answer.
        """
        import numpy as np
        import ray

        (number,) = batch["number"].tolist()
        question = ray.get(self._feed.question.remote(number))
        pickled = np.empty(1, dtype=object)
        pickled[0] = pickle.dumps(None if question is None else self._answer(question))
        return {"number": np.array([number]), "answer": pickled}

    def _answer(self, question: Any) -> Any:
        if self._failure is not None:
            return self._failure
        if isinstance(question, Failure):
            return question
        try:
            if isinstance(question, Task):
                return self._worker.score(question)
            return self._worker.facts if question == FACTS else self._worker.keep(*question)
        except Exception as error:
            return failure_of(error)


class Pool:
    """Actors that answer questions, in one stream of Ray Data from the first question to the last."""

    def __init__(self, order: Order, make: Callable[[Order], Any]) -> None:
        """Set up the stream; the actors start with it.

        Args:
            order: Instructions for the workers.
            make: Makes a worker.
        """
        import ray

        self._count = 0
        here = ray.get_runtime_context().get_node_id()
        same_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        remote = ray.remote(num_cpus=0, max_concurrency=1000, scheduling_strategy=same_node)
        self._feed = remote(Feed).remote()
        self._stream = stream_answers(order, self._feed, make)

    def ask(self, question: Any) -> None:
        """Hand over a question."""
        import ray

        ray.get(self._feed.give.remote(self._count, question))
        self._count += 1

    def answer(self) -> Any:
        """Return the next answer, to whichever question.

        Raises:
            HeadrolesError: When the answer is an error, or the workers have ended.
        """
        for number, answer in self._stream:
            self._feed.note_answer.remote(number)
            if isinstance(answer, Failure):
                raise answer.error()
            if answer is not None:
                return answer
        raise errors.BadInput(
            "the workers on Ray ended before the run did; see the logs of the cluster, and start the same "
            "command again to go on"
        )

    def __enter__(self) -> "Pool":
        """Return the pool; the stream starts with its first answer."""
        return self

    def __exit__(self, *why: object) -> None:
        """End the stream, and with it the actors, whatever they are doing."""
        import ray

        self._stream.close()
        with suppress(Exception):  # it may have ended already
            ray.kill(self._feed)


def stream_answers(
    order: Order, feed: Any, make: Callable[[Order], Any]
) -> Generator[tuple[int, Any], None, None]:
    """Yield numbers and answers as they arrive.

    Args:
        order: Instructions for the workers.
        feed: Handle of the feed actor.
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
        for number, pickled in zip(batch["number"].tolist(), batch["answer"], strict=True):
            yield number, pickle.loads(pickled)
