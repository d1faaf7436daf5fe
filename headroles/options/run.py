"""Options that all kinds of run share, and the conversion of given values to the types of options."""

import errno
import os
import shlex
import sys
from dataclasses import Field, dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args

from headroles.addresses import check_place
from headroles.errors import BadInput, UnknownName, shorten
from headroles.presets import preset_of
from headroles.records.example import Decision
from headroles.records.objects import DataObject, ModelObject, take_objects

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("float32", "bfloat16", "float16")
ENGINES = ("local", "ray")
LARGEST = 10**18
"""Whole numbers lie below it; longer ones are mistakes."""
SPLITS, MOST_SPLITS = 200, 100_000
"""Random half-samples behind the stability: default number, and most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Model, decision, shards and folder of a run; each kind of run adds its own options.

    Attributes:
        attention: A file of stored maps that is read instead of running a model; None runs a model.
        shard_size: Examples in a shard, which is scored and written as one.
        workers: Processes that score shards in parallel.
        threads: Threads of each worker; None: the processors of the machine shared among them.
        engine: "local" or "ray".
        address: Address of a Ray cluster; None uses that of ``RAY_ADDRESS``, or starts one on this machine.
        gpus: GPUs of each worker, for Ray; fractions are allowed.

    Raises:
        UnknownName: For a preset, device, precision or engine that does not exist.
        BadInput: For numbers out of range, or options of a model beside stored maps.
    """

    attention: str | None = None
    model: str | ModelObject | None = None
    revision: str | None = None
    limit: int | None = None
    seed: int = 0
    preset: str = "calibrated"
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
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 32
    shard_size: int = 256
    workers: int = 1
    threads: int | None = None
    engine: str = "local"
    address: str | None = None
    gpus: float = 0.0
    out: str | None = None
    overwrite: bool = False

    KIND: ClassVar[str] = ""
    """Name of this kind of run in ``headroles.kinds``."""
    COMMAND: ClassVar[str] = ""
    """First words of the command line of this kind of run."""
    LEAST: ClassVar[dict[str, int]] = {
        "limit": 1, "batch_size": 1, "seed": 0, "splits": 0, "shard_size": 1, "workers": 1, "threads": 1
    }  # fmt: skip
    """Smallest value of whole numbers."""
    OF_MODELS: ClassVar[tuple[str, ...]] = ("limit", "model", "revision", "device", "dtype")
    """Options of runs of a model, which runs on stored maps do not accept."""
    PLACES: ClassVar[tuple[str, ...]] = (
        "out", "overwrite", "workers", "threads", "engine", "address", "gpus"
    )  # fmt: skip
    """Options about where a run is computed and written, which do not change its numbers."""
    ARGUMENTS: ClassVar[tuple[str, ...]] = ()
    """Options that are arguments of the command line without a flag."""

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        preset_of(self.preset)
        for kind, value, known in (
            ("device", self.device, DEVICES),
            ("dtype", self.dtype, DTYPES),
            ("engine", self.engine, ENGINES),
        ):
            if value not in known:
                raise UnknownName(kind, value, known)
        for name, least in self.LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise BadInput(f"{name} must be a whole number of at least {least}, but got {value}")
        if self.splits is not None and self.splits > MOST_SPLITS:
            raise BadInput(f"splits must be at most {MOST_SPLITS:,}, but got {self.splits}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise BadInput(f"alpha must lie between 0 and 1, both excluded, but got {self.alpha}")
        if self.margin is not None and not 0 <= self.margin < float("inf"):
            raise BadInput(f"margin must be a number of at least 0, but got {self.margin}")
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        if self.out is not None:
            check_place(self.out)
        self._check_engine()
        if self.attention is not None:
            self._check_stored()

    def _check_engine(self) -> None:
        """Refuse options of another engine."""
        if not 0 <= self.gpus < float("inf"):
            raise BadInput(f"gpus must be a number of at least 0, but got {self.gpus}")
        if self.engine != "ray":
            for name, default in (("address", None), ("gpus", 0.0)):
                if getattr(self, name) != default:
                    raise BadInput(f"--{name} is of the engine 'ray', but the engine is {self.engine!r}")

    def _check_stored(self) -> None:
        """Refuse options of model and inputs where stored maps are read."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in self.OF_MODELS:
            if getattr(self, name) != defaults[name]:
                raise BadInput(
                    f"--attention brings inputs and a model of its own, so --{name.replace('_', '-')} has "
                    f"no effect; leave it out"
                )

    @property
    def most_kept(self) -> int:
        """Most examples whose scores are all kept: all of them, where no option says otherwise."""
        return sys.maxsize

    @property
    def streamed(self) -> bool:
        """Whether inputs are read one by one, without counting them beforehand."""
        return False

    @property
    def usual(self) -> Decision:
        """Decision of the preset."""
        return preset_of(self.preset).decision

    @property
    def decision(self) -> Decision:
        """Decision of the run: the preset's, except where options name something else."""
        usual = self.usual
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
        """Settings of the assessment: half-samples of the stability, and whether there are Bayes factors."""
        return {"splits": SPLITS if self.splits is None else self.splits, "bayes": bool(self.bayes)}

    def settings(self) -> dict[str, Any]:
        """Return the options that decide the numbers, in JSON types: all except ``PLACES``."""
        settings = {field.name: getattr(self, field.name) for field in self._deciding_fields()}
        for name, value in settings.items():
            if isinstance(value, tuple):
                settings[name] = [item if isinstance(item, str) else item.name for item in value]
            elif isinstance(value, ModelObject | DataObject):
                settings[name] = value.name
        return settings

    def command(self) -> str:
        """Return the command line that repeats this run."""
        words = self.COMMAND.split() + list(self._arguments())
        for field in self._deciding_fields():
            value = getattr(self, field.name)
            if value == field.default or field.name in self.ARGUMENTS:
                continue
            flag = "--" + field.name.replace("_", "-")
            if value is True:
                words.append(flag)
                continue
            for item in value if isinstance(value, tuple) else (value,):
                words += [flag, item if isinstance(item, str) else str(getattr(item, "name", item))]
        return shlex.join(words)

    def _arguments(self) -> tuple[str, ...]:
        return tuple(word for name in self.ARGUMENTS for word in getattr(self, name))

    def _deciding_fields(self) -> list["Field[Any]"]:
        """Return fields that decide the numbers: those of this kind of run, then those that all share."""
        shared = {field.name for field in fields(CommonOptions)}
        ordered = sorted(fields(self), key=lambda field: field.name in shared)
        return [field for field in ordered if field.name not in self.PLACES]


Kind = TypeVar("Kind")


def typed_options(kind: type[Kind], given: dict[str, Any]) -> Kind:
    """Return an options dataclass from given values, converting paths, numpy numbers and the like.

    Raises:
        UnknownName: For an option that does not exist, or a value that the kind refuses.
        BadInput: For values of another type, or values that the kind refuses.
    """
    known = {field.name: get_args(field.type) or (field.type,) for field in fields(kind)}  # type: ignore[arg-type]
    typed: dict[str, Any] = {}
    given = take_objects(
        given,
        model="model" in known,
        data=next((name for name in ("data", "file") if _takes_data(known.get(name, ()))), ""),
        files=Ellipsis in known.get("data", ()),
    )
    for name, value in given.items():
        if name not in known:
            raise UnknownName("option", name, known)
        repeatable = Ellipsis in known[name]
        typed[name] = (
            _to_tuple(name, value, known[name][0]) if repeatable else _to_type(name, value, known[name])
        )
    return kind(**typed)


def _takes_data(kinds: tuple[Any, ...]) -> bool:
    """Return whether an option takes inputs as an object."""
    return any(DataObject in (kind, *get_args(kind)) for kind in kinds)


def _to_tuple(name: str, value: Any, kind: Any) -> tuple[Any, ...]:
    """Return the values of a repeatable option as a tuple; a single value becomes a tuple of one.

    Raises:
        BadInput: For a value that is neither a name nor an object with a name, unless they are numbers.
    """
    single = isinstance(value, str | os.PathLike) or not hasattr(value, "__iter__")
    items = tuple(
        os.fspath(item) if isinstance(item, os.PathLike) else item for item in ((value,) if single else value)
    )
    for item in items:
        if kind is not int and not isinstance(item, str) and not hasattr(item, "name"):
            raise BadInput(f"{name} holds names, or objects that have one, but got {shorten(item)}")
    return items


def check_name(path: Path) -> None:
    """Check that the system takes the name of a path, whether there is such a file or not.

    Raises:
        BadInput: For a name that is too long.
    """
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadInput(
                f"a name in a path has at most 255 bytes on most systems, but got '{path!s:.60}…'; give a "
                f"shorter path"
            ) from error


def _to_type(name: str, value: Any, kinds: tuple[Any, ...]) -> Any:
    """Convert a value to the plain type of its option, for JSON; paths become text.

    Raises:
        BadInput: For a value of another type.
    """
    objects = tuple(kind for kind in kinds if kind in (ModelObject, DataObject))
    if (value is None and NoneType in kinds) or isinstance(value, objects):
        return value
    flag = isinstance(value, bool)
    if bool in kinds and flag:
        return bool(value)
    small = not isinstance(value, Integral) or abs(int(value)) < LARGEST
    if int in kinds and isinstance(value, Integral) and not flag and small:
        return int(value)
    if float in kinds and isinstance(value, Real) and not flag and small:
        return float(value)
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if str in kinds and isinstance(text, str) and _is_utf8(text):
        return text
    descriptions = {bool: "True or False", int: "a whole number", float: "a number", str: "text in UTF-8"}
    allowed = next(words for kind, words in descriptions.items() if kind in kinds)
    digits = "" if small or not {int, float} & {*kinds} else " of at most 18 digits"
    raise BadInput(f"{name} must be {allowed}{digits}, but got {shorten(value)}")


def _is_utf8(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
