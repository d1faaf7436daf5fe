"""What options of every kind of run share: how scores are judged, and which model reads the inputs."""

import os
import shlex
from dataclasses import Field, dataclass, fields
from numbers import Integral, Real
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args

from headroles.errors import BadInput, UnknownName
from headroles.presets import preset_of
from headroles.records.example import Decision

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("float32", "bfloat16", "float16")
SPLITS, MOST_SPLITS = 200, 100_000
"""Random half-samples behind the stability where no other number is asked for, and at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Model, decision and folder of a run; each kind of run adds what its inputs and questions are.

    Raises:
        UnknownName: For a preset, device or precision that does not exist.
        BadInput: For numbers out of range.
    """

    model: str | None = None
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
    out: str | None = None
    overwrite: bool = False

    COMMAND: ClassVar[str] = ""
    """Words that open the command line of this kind of run."""
    LEAST: ClassVar[dict[str, int]] = {"limit": 1, "batch_size": 1, "seed": 0, "splits": 0}
    """Smallest value of whole numbers."""
    PLACES: ClassVar[tuple[str, ...]] = ("out", "overwrite")
    """Options that say where a run is made and written, and nothing of its numbers."""
    ARGUMENTS: ClassVar[tuple[str, ...]] = ()
    """Options that are words of the command line without a flag."""

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        preset_of(self.preset)
        for kind, value, known in (("device", self.device, DEVICES), ("dtype", self.dtype, DTYPES)):
            if value not in known:
                raise UnknownName(kind, value, known)
        for name, least in self.LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise BadInput(f"{name} must be a whole number of at least {least}, but {value} came")
        if self.splits is not None and self.splits > MOST_SPLITS:
            raise BadInput(f"splits must be at most {MOST_SPLITS:,}, but {self.splits} came")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise BadInput(f"alpha must lie between 0 and 1, both excluded, but {self.alpha} came")
        if self.margin is not None and not 0 <= self.margin < float("inf"):
            raise BadInput(f"margin must be a number of at least 0, but {self.margin} came")
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")

    @property
    def usual(self) -> Decision:
        """The preset's way of judging."""
        return preset_of(self.preset).decision

    @property
    def decision(self) -> Decision:
        """How scores are judged: as the preset says, where nothing else was asked for."""
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
        """What is said beyond the decisions: half-samples of the stability, Bayes factors or not."""
        return {"splits": SPLITS if self.splits is None else self.splits, "bayes": bool(self.bayes)}

    def settings(self) -> dict[str, Any]:
        """What decides the numbers, in JSON types: everything but where they are written."""
        chosen = {each.name: getattr(self, each.name) for each in self._telling()}
        for name, value in chosen.items():
            if isinstance(value, tuple):
                chosen[name] = [each if isinstance(each, str) else each.name for each in value]
        return chosen

    def command(self) -> str:
        """The command line that gives this run."""
        words = self.COMMAND.split() + list(self._arguments())
        for each in self._telling():
            value = getattr(self, each.name)
            if value == each.default or each.name in self.ARGUMENTS:
                continue
            flag = "--" + each.name.replace("_", "-")
            if value is True:
                words.append(flag)
                continue
            for one in value if isinstance(value, tuple) else (value,):
                words += [flag, one if isinstance(one, str) else str(getattr(one, "name", one))]
        return shlex.join(words)

    def _arguments(self) -> tuple[str, ...]:
        return tuple(word for name in self.ARGUMENTS for word in getattr(self, name))

    def _telling(self) -> list["Field[Any]"]:
        """Fields that decide the numbers: what this kind of run adds, then what all share."""
        shared = {each.name for each in fields(CommonOptions)}
        every = sorted(fields(self), key=lambda each: each.name in shared)
        return [each for each in every if each.name not in self.PLACES]


Kind = TypeVar("Kind")


def typed_options(kind: type[Kind], given: dict[str, Any]) -> Kind:
    """Options, a dataclass, from whatever a caller gave them as, such as paths or numbers of numpy.

    Raises:
        UnknownName: For an option that does not exist, or what the kind refuses.
        BadInput: For values of another type, or what the kind refuses.
    """
    known = {each.name: get_args(each.type) or (each.type,) for each in fields(kind)}  # type: ignore[arg-type]
    typed: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownName("option", name, known)
        several = Ellipsis in known[name]
        typed[name] = _several(name, value) if several else _typed(name, value, known[name])
    return kind(**typed)


def _several(name: str, value: Any) -> tuple[Any, ...]:
    """Values of an option that may be repeated; one by itself is taken as such."""
    one = isinstance(value, str | os.PathLike) or not hasattr(value, "__iter__")
    return tuple(
        os.fspath(each) if isinstance(each, os.PathLike) else each for each in ((value,) if one else value)
    )


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
