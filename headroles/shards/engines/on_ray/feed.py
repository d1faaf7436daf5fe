"""The source of a stream of Ray Data, to which questions are added while the stream runs.

Ray Data expects an input that is known beforehand, or reads the input itself. Neither suits a corpus: a list
of all shards would hold the whole corpus, and a worker that reads its own part of a gzipped file has to read
everything before it. The dataset therefore holds numbers only. The question of a number waits in a small
actor next to the run, the ``Feed``, until its answer has arrived. The source is one endless read task that
asks the feed whether there is a next number. It takes no processor, so a pool that takes all processors
starves nothing. Ray may read it again at any time and gets the same numbers, so lost blocks can be made
again. Shards are handed over as answers arrive, two for each worker ahead; this is the back-pressure.

Ray restarts a lost worker and asks it the same question again, without end. The feed therefore counts: a
worker that was lost too often at one question, or at its start, gets a ``Failure``, which ends the run.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from headroles.shards.engines.losses import (
    MOST_LOSSES,
    Failure,
    describe_scoring,
    failure_of,
    lost_worker_error,
)
from headroles.shards.work import Task

FACTS = "facts"
"""The first question to an actor."""


class Feed:
    """The questions to the workers by number, until they are answered; an actor next to the run."""

    def __init__(self) -> None:
        """Start without questions."""
        import asyncio

        self._questions: dict[int, Any] = {}
        self._tries: dict[int | str, int] = {}
        self._given = 0
        self._closed = False
        self._news = asyncio.Condition()

    async def give(self, number: int, question: Any) -> None:
        """Add a question.

        Args:
            number: One more than the number of the last question.
            question: ``FACTS``, a shard, or the inputs and heads of maps.
        """
        async with self._news:
            self._questions[number] = question
            self._given = number + 1
            self._news.notify_all()

    async def there(self, number: int) -> bool:
        """Return whether there is a question of this number; wait until this is known."""
        async with self._news:
            await self._news.wait_for(lambda: self._closed or number < self._given)
            return number < self._given

    async def question(self, number: int) -> Any:
        """Give a question to a worker.

        Returns:
            The question; None when it was answered before, and Ray only makes a lost block again; a
            ``Failure`` when too many workers were lost at it.
        """
        question = self._questions.get(number)
        if question is None:
            return None
        if isinstance(question, Task):
            doing = describe_scoring(question)
        else:
            doing = "reporting the loaded model" if question == FACTS else "keeping maps of heads"
        return self._count_try(number, doing) or question

    async def note_answer(self, number: int) -> None:
        """Remove a question that was answered."""
        self._questions.pop(number, None)
        self._tries.pop(number, None)

    async def note_start(self, worker: str) -> Failure | None:
        """Note that a worker starts to load the model; return a ``Failure`` when it was lost at it too often.

        Args:
            worker: Its name, which stays the same when Ray restarts it.
        """
        return self._count_try(worker, "loading the model")

    async def note_loaded(self, worker: str) -> None:
        """Note that a worker has loaded the model."""
        self._tries.pop(worker, None)

    def _count_try(self, subject: int | str, doing: str) -> Failure | None:
        """Count a try at a question or by a worker; return a ``Failure`` when there were too many."""
        tries = self._tries[subject] = self._tries.get(subject, 0) + 1
        return failure_of(lost_worker_error(doing)) if tries > MOST_LOSSES else None

    async def close(self) -> None:
        """Note that no further questions will follow."""
        async with self._news:
            self._closed = True
            self._news.notify_all()


def numbers(feed: Any) -> Iterator[Any]:
    """Yield the blocks of the source, one number each, when the feed has them.

    Args:
        feed: Handle of the feed actor.
    """
    import pyarrow as pa
    import ray

    number = 0
    while ray.get(feed.there.remote(number)):
        yield pa.table({"number": [number]})
        number += 1


def source_of(feed: Any) -> Any:
    """Return the source of the stream: one read task that gives numbers when the feed has them.

    Args:
        feed: Handle of the feed actor.
    """
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    class Numbers(Datasource):  # type: ignore[misc]  # the types of Ray are not checked
        """Numbers of questions."""

        def estimate_inmemory_data_size(self) -> int | None:
            """Return None, because the size is not known beforehand."""
            return None

        def get_read_tasks(self, *args: Any, **kwargs: Any) -> list[Any]:
            """Return one task, whatever number is requested: the questions have one order."""
            return [ReadTask(partial(numbers, feed), BlockMetadata(None, None, None, None))]

    return Numbers()
