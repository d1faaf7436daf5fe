"""Options of inputs, which all runs on texts share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from headroles.errors import BadInput
from headroles.options.run import CommonOptions
from headroles.options.shared import COLUMN_B, DATA, GROUP, KIND, MAX_LENGTH, SOURCE, STREAM, TASK, TEXT_A
from headroles.records.objects import DataObject
from headroles.tasks import task_of

OBJECTS = "Or a DataFrame, a datasets.Dataset, or a list of texts, pairs or dictionaries."
TABLES = (
    "It ends in .tsv, .csv, .json, .jsonl, .conllu (.gz too) or .parquet. A folder or a pattern names "
    "several. With --source hub, it is a dataset in the layout of GLUE."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions(CommonOptions):
    """The inputs of a run: a task's samples or dataset, or a file.

    Raises:
        UnknownName: For a task, source, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    task: Annotated[str | None, TASK] = None
    source: Annotated[str, SOURCE] = "sample"
    data: Annotated[str | DataObject | None, DATA.but(detail=TABLES, in_python=OBJECTS)] = None
    text_a: Annotated[str | None, TEXT_A] = None
    text_b: Annotated[str | None, COLUMN_B] = None
    group: Annotated[str | None, GROUP] = None
    max_length: Annotated[int, MAX_LENGTH.but(detail="Longer inputs are cut.")] = 128
    kind: Annotated[str | None, KIND.but(default="encoder; self for models with one stack")] = None
    stream: Annotated[bool, STREAM] = False

    OF_MODELS: ClassVar[tuple[str, ...]] = (
        "task", "source", "data", "text_a", "text_b", "group", *CommonOptions.OF_MODELS, "seed", "max_length",
        "kind", "stream",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        CommonOptions.__post_init__(self)
        if self.task is None and self.data is None and self.attention is None:
            raise BadInput(
                "a run needs inputs: name a task with --task, a file with --data, or stored maps with "
                "--attention"
            )
        if self.source == "hub" and isinstance(self.data, DataObject):
            raise BadInput(
                f"source 'hub' names a dataset of the hub, but data is an object ({self.data.name}); leave "
                f"source out"
            )
        if self.source == "hub" and self.task is None:
            raise BadInput("inputs from the hub are those of a task; name it with --task")
        if self.text_b is not None and self.text_a is None:
            raise BadInput("--text-b names the second text of a pair, so --text-a must name the first")
        if self.data is None or self.source == "hub":
            for name in ("text_a", "group"):
                if getattr(self, name) is not None:
                    raise BadInput(
                        f"--{name.replace('_', '-')} names a column of --data, but no file was given"
                    )

    @property
    def streamed(self) -> bool:
        """Whether inputs are read one by one, without counting them beforehand."""
        return self.stream

    @property
    def name(self) -> str:
        """Name of the inputs: the task's, or the file's."""
        return self.task or input_name(self.attention or self.file)

    @property
    def file(self) -> str | None:
        """Path, address or pattern of the inputs; None where there is none, or they are an object."""
        return None if isinstance(self.data, DataObject) else self.data

    def text_columns(self, hub: bool = False) -> list[str]:
        """Return the columns of the texts: those named, else those of the task; none where neither is given.

        Args:
            hub: Whether columns of a task have their names on the hub, not those of GLUE's own files.
        """
        if self.text_a is not None:
            return [self.text_a, *([self.text_b] if self.text_b else [])]
        if self.task is None:
            return []
        task = task_of(self.task)
        return list(task.fields if hub else task.columns)


def input_name(data: str | None) -> str:
    """Return a short name of inputs from a path, an address or a pattern.

    Example:
        >>> input_name("texts/dev.tsv.gz"), input_name("s3://bucket/wiki/*.parquet"), input_name(None)
        ('dev', 'wiki', 'data')
    """
    parts = [part for part in Path(data or "data").parts if not {*part} & {*"*?[]"}]
    return (Path(parts[-1]).name.split(".")[0] if parts else "") or "data"
