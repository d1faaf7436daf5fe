"""The options of a run: one record with the names of the command line and of ``label()``."""

import os
import shlex
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from headroles.errors import BadInput, UnknownName
from headroles.presets import preset_of
from headroles.records import Decision
from headroles.sieves.base import Sieve
from headroles.tasks import task_of

SOURCES = ("sample", "hub")
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("float32", "bfloat16", "float16")
SPLITS, MOST_SPLITS = 200, 100_000
"""Random half-samples behind the stability where no other number is asked for, and at most."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked to do; ``headroles.label`` documents each.

    Raises:
        UnknownName: For a task, source, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    task: str | None = None
    model: str | None = None
    revision: str | None = None
    source: str = "sample"
    data: str | None = None
    text_a: str | None = None
    text_b: str | None = None
    group: str | None = None
    limit: int | None = None
    seed: int = 0
    sieve: tuple[str | Sieve, ...] = ()
    preset: str = "calibrated"
    statistic: str = "selectivity"
    margin: float | None = None
    alpha: float | None = None
    test: str | None = None
    correction: str | None = None
    family: str | None = None
    resamples: int | None = None
    resample_seed: int | None = None
    interval: str | None = None
    splits: int | None = None
    bayes: bool | None = None
    parser: str | None = None
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 32
    max_length: int = 128
    out: str | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        preset_of(self.preset)
        if self.task is not None:
            task_of(self.task)
        for kind, value, known in (
            ("source", self.source, SOURCES),
            ("device", self.device, DEVICES),
            ("dtype", self.dtype, DTYPES),
        ):
            if value not in known:
                raise UnknownName(kind, value, known)
        self._check_numbers()
        self._check_combinations()

    def _check_numbers(self) -> None:
        for name, least in (("limit", 1), ("batch_size", 1), ("max_length", 4), ("seed", 0), ("splits", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise BadInput(f"{name} must be a whole number of at least {least}, but {value} came")
        if self.splits is not None and self.splits > MOST_SPLITS:
            raise BadInput(f"splits must be at most {MOST_SPLITS:,}, but {self.splits} came")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise BadInput(f"alpha must lie between 0 and 1, both excluded, but {self.alpha} came")
        if self.margin is not None and not 0 <= self.margin < float("inf"):
            raise BadInput(f"margin must be a number of at least 0, but {self.margin} came")

    def _check_combinations(self) -> None:
        if self.task is None and self.data is None:
            raise BadInput("a run needs inputs: name a task with --task, or a file with --data")
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
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
        if self.statistic != "selectivity" and self.preset == "published":
            raise BadInput("the preset 'published' has a statistic of its own; leave --statistic out")

    @property
    def decision(self) -> Decision:
        """How scores are judged: as the preset says, where nothing else was asked for."""
        usual = preset_of(self.preset).decision
        return Decision(
            test=self.test or usual.test,
            correction=self.correction or usual.correction,
            family=self.family or usual.family,
            alpha=usual.alpha if self.alpha is None else self.alpha,
            resamples=usual.resamples if self.resamples is None else self.resamples,
            seed=usual.seed if self.resample_seed is None else self.resample_seed,
            interval=self.interval or usual.interval,
        )

    @property
    def assessed(self) -> dict[str, Any]:
        """What is said beyond the decisions: half-samples of the stability, Bayes factors or not."""
        return {"splits": SPLITS if self.splits is None else self.splits, "bayes": bool(self.bayes)}

    @property
    def name(self) -> str:
        """What the inputs are called: the task, or the file."""
        return self.task or Path(self.data or "data").name.split(".")[0]

    def settings(self) -> dict[str, Any]:
        """What decides the numbers, in JSON types: everything but where they are written."""
        chosen = {each.name: getattr(self, each.name) for each in fields(self)}
        chosen["sieve"] = [each if isinstance(each, str) else each.name for each in self.sieve]
        for name in ("out", "overwrite"):
            del chosen[name]
        return chosen

    def command(self) -> str:
        """The command line that gives this run."""
        words = ["headroles", "label"]
        for each in fields(self):
            value = getattr(self, each.name)
            if value == each.default or each.name in ("out", "overwrite"):
                continue
            flag = "--" + each.name.replace("_", "-")
            if value is True:
                words.append(flag)
                continue
            for one in value if isinstance(value, tuple) else (value,):
                words += [flag, one if isinstance(one, str) else str(getattr(one, "name", one))]
        return shlex.join(words)


def options_of(**given: Any) -> Options:
    """Options from whatever a caller gave them as, such as paths or numbers of numpy.

    Raises:
        UnknownName: For an option, task, source, preset, device or precision that does not exist.
        BadInput: For values of another type or out of range, or options that exclude each other.

    Example:
        >>> options_of(task="QNLI", model=Path("models") / "bert").model
        'models/bert'
    """
    known = {each.name: get_args(each.type) or (each.type,) for each in fields(Options)}
    typed: dict[str, Any] = {"sieve": tuple(given.pop("sieve", ()))}
    for name, value in given.items():
        if name not in known:
            raise UnknownName("option", name, known)
        typed[name] = _typed(name, value, known[name])
    return Options(**typed)


def _typed(name: str, value: Any, kinds: tuple[Any, ...]) -> Any:
    """The value as the plain type its option has, for JSON; paths become text.

    Raises:
        BadInput: For a value of another type.
    """
    if value is None and NoneType in kinds:
        return None
    flag = isinstance(value, bool)
    if bool in kinds and flag:
        return bool(value)
    if int in kinds and isinstance(value, Integral) and not flag:
        return int(value)
    if float in kinds and isinstance(value, Real) and not flag:
        return float(value)
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if str in kinds and isinstance(text, str) and _is_utf8(text):
        return text
    wanted = {bool: "True or False", int: "a whole number", float: "a number", str: "text in UTF-8"}
    allowed = next(word for kind, word in wanted.items() if kind in kinds)
    raise BadInput(f"{name} must be {allowed}, but {value!r} came")


def _is_utf8(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
