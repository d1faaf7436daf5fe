"""The source of a stream of Ray Data to which questions are added while it runs.

Ray Data wants to know its input beforehand, or to read it itself. Neither suits a corpus: a list of all
shards would hold it, and a worker that reads its own run of a gzipped file reads all that comes before.
So the stream of the dataset holds numbers only, and what a number stands for waits in a small actor beside
the run, the ``Feed``, from when the run hands it over until its answer is back. The source is one endless
read task that asks the feed whether there is a next number; it takes no processor, so a pool that takes all
of them starves nothing. What was read is the same however often Ray reads it, so that lost blocks can be
made again. Shards are handed over as answers come, two for each worker ahead: that is the back-pressure.

Ray starts a lost worker anew and asks it the same again, without end. So the feed counts: whoever was lost
too often over one question, or while it started, is answered with a ``Failure``, which ends the run.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from headroles.shards.engines.losses import LOSSES, Failure, failure_of, lost, scoring
from headroles.shards.work import Task

FACTS = "facts"
"""What an actor is asked first."""


class Feed:
    """What is asked of the workers, by number, until it is answered; an actor beside the run."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        import asyncio

        self._asked: dict[int, Any] = {}
        self._tries: dict[int | str, int] = {}
        self._given = 0
        self._closed = False
        self._news = asyncio.Condition()

    async def give(self, number: int, asked: Any) -> None:
        """Take a question.

        Args:
            number: One more than that of the last.
            asked: ``FACTS``, a shard, or the inputs and heads of maps.
        """
        async with self._news:
            self._asked[number] = asked
            self._given = number + 1
            self._news.notify_all()

    async def there(self, number: int) -> bool:
        """Whether there is a question of that number, once that is known."""
        async with self._news:
            await self._news.wait_for(lambda: self._closed or number < self._given)
            return number < self._given

    async def asked(self, number: int) -> Any:
        """A question, for a worker that answers it next.

        Returns:
            None when it was answered before, and is only asked as Ray made a lost block again; a ``Failure``
            when all workers that it was given to were lost, and those were enough.
        """
        asked = self._asked.get(number)
        if asked is None:
            return None
        if isinstance(asked, Task):
            doing = scoring(asked)
        else:
            doing = "telling what it loaded" if asked == FACTS else "keeping maps of heads"
        return self._tried(number, doing) or asked

    async def settle(self, number: int) -> None:
        """Let go of a question that was answered."""
        self._asked.pop(number, None)
        self._tries.pop(number, None)

    async def starting(self, worker: str) -> Failure | None:
        """Note that a worker loads what it needs; a ``Failure`` when it was lost doing so too often.

        Args:
            worker: The same however often Ray starts it.
        """
        return self._tried(worker, "loading the model")

    async def started(self, worker: str) -> None:
        """Note that a worker has loaded what it needs."""
        self._tries.pop(worker, None)

    def _tried(self, what: int | str, doing: str) -> Failure | None:
        """Note that something is tried; a ``Failure`` when that was often enough."""
        tries = self._tries[what] = self._tries.get(what, 0) + 1
        return failure_of(lost(doing)) if tries > LOSSES else None

    async def close(self) -> None:
        """Say that there will be no further questions."""
        async with self._news:
            self._closed = True
            self._news.notify_all()


def numbers(feed: Any) -> Iterator[Any]:
    """The blocks of the source: one number each, as the feed has them.

    Args:
        feed: The handle of the actor.
    """
    import pyarrow as pa
    import ray

    number = 0
    while ray.get(feed.there.remote(number)):
        yield pa.table({"number": [number]})
        number += 1


def source_of(feed: Any) -> Any:
    """The source of the stream: one read task that gives numbers as the feed has them.

    Args:
        feed: Handle of the actor that has the questions.
    """
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    class Numbers(Datasource):  # type: ignore[misc]  # Ray's classes are not looked into
        """Numbers of questions."""

        def estimate_inmemory_data_size(self) -> int | None:
            """Nothing is known beforehand."""
            return None

        def get_read_tasks(self, *asked: Any, **more: Any) -> list[Any]:
            """One task, however many are asked for: the order of questions is one."""
            return [ReadTask(partial(numbers, feed), BlockMetadata(None, None, None, None))]

    return Numbers()
