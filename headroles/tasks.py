"""Tasks of GLUE: the columns of their texts, in GLUE's files and on the hub."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headroles.errors import UnknownName

HUB = "nyu-mll/glue"
"""The dataset repository of all four tasks."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of GLUE.

    Attributes:
        name: Its name in GLUE.
        question: Description of its inputs, in words.
        columns: Text columns of its TSV files (the same in train, dev and test).
        config: Its configuration in the hub's dataset.
        fields: Text fields of the hub's dataset.
        split: The split of the hub's dataset that is read.
    """

    name: str
    question: str
    columns: tuple[str, ...]
    config: str
    fields: tuple[str, ...]
    split: str = "validation"


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        "QNLI": Task(
            "QNLI", "a question and a sentence", ("question", "sentence"), "qnli", ("question", "sentence")
        ),
        "QQP": Task("QQP", "two questions", ("question1", "question2"), "qqp", ("question1", "question2")),
        "MRPC": Task("MRPC", "two sentences", ("#1 String", "#2 String"), "mrpc", ("sentence1", "sentence2")),
        "SST-2": Task("SST-2", "one sentence", ("sentence",), "sst2", ("sentence",)),
    }
)


def task_of(name: str) -> Task:
    """Return the task with a name, in upper or lower case.

    Raises:
        UnknownName: When there is none, with the nearest known name.

    Example:
        >>> task_of("mrpc").columns, task_of("sst-2").name
        (('#1 String', '#2 String'), 'SST-2')
    """
    task = TASKS.get(name.upper())
    if task is None:
        raise UnknownName("task", name, TASKS)
    return task
