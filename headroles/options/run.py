"""Options that all kinds of run share."""

import shlex
import sys
from dataclasses import Field, dataclass, fields
from typing import Annotated, Any, ClassVar, Protocol

from headroles.addresses import check_place
from headroles.errors import BadInput
from headroles.options.described import check_values, described
from headroles.options.shared import (
    ADDRESS,
    ALPHA,
    ATTENTION,
    BATCH_SIZE,
    BAYES,
    CORRECTION,
    DEVICE,
    DEVICE_MAP,
    DTYPE,
    ENGINE,
    FAMILY,
    FIRST,
    GPUS,
    INTERVAL,
    LIMIT,
    MARGIN,
    MODEL,
    OUT,
    OVERWRITE,
    PRESET,
    RESAMPLE_SEED,
    RESAMPLES,
    REVISION,
    SEED,
    SHARD_SIZE,
    TEST,
    THREADS,
    WORKERS,
    check_devices,
    check_subset,
)
from headroles.presets import preset_of
from headroles.records.objects import DataObject, ModelObject
from headroles.records.rules.rule import Decision


class JudgedOptions(Protocol):
    """Options of a run as far as judging its scores needs them."""

    @property
    def assessed(self) -> dict[str, Any]:
        """Settings of the assessment."""

    def settings(self) -> dict[str, Any]:
        """Return the options that decide the numbers, in JSON types."""

    def command(self) -> str:
        """Return the command line that repeats the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Model, decision, shards and folder of a run; each kind of run adds its own options.

    Raises:
        UnknownName: For a preset, device, precision or engine that does not exist.
        BadInput: For numbers out of range, or options of a model together with stored maps.
    """

    attention: Annotated[str | None, ATTENTION] = None
    model: Annotated[str | ModelObject | None, MODEL] = None
    revision: Annotated[str | None, REVISION] = None
    limit: Annotated[int | None, LIMIT] = None
    first: Annotated[int | None, FIRST] = None
    seed: Annotated[int, SEED] = 0
    preset: Annotated[str, PRESET] = "calibrated"
    margin: Annotated[float | None, MARGIN] = None
    alpha: Annotated[float | None, ALPHA] = None
    test: Annotated[str | None, TEST] = None
    correction: Annotated[str | None, CORRECTION] = None
    family: Annotated[str | None, FAMILY] = None
    resamples: Annotated[int | None, RESAMPLES] = None
    resample_seed: Annotated[int | None, RESAMPLE_SEED] = None
    interval: Annotated[str | None, INTERVAL] = None
    bayes: Annotated[bool | None, BAYES] = None
    device: Annotated[str, DEVICE] = "auto"
    device_map: Annotated[str | None, DEVICE_MAP] = None
    dtype: Annotated[str, DTYPE] = "float32"
    batch_size: Annotated[int, BATCH_SIZE] = 32
    shard_size: Annotated[int, SHARD_SIZE] = 256
    workers: Annotated[int, WORKERS] = 1
    threads: Annotated[int | None, THREADS] = None
    engine: Annotated[str, ENGINE] = "local"
    address: Annotated[str | None, ADDRESS] = None
    gpus: Annotated[float, GPUS] = 0.0
    out: Annotated[
        str | None,
        OUT.but(
            detail="A run folder, or an address such as s3://bucket/run.",
            default="runs/INPUTS-MODEL, with options that differ from their defaults; none in Python",
        ),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a run with other settings.")] = False

    KIND: ClassVar[str] = ""
    """Name of this kind of run in ``headroles.kinds``."""
    COMMAND: ClassVar[str] = ""
    """First words of the command line of this kind of run."""
    OF_MODELS: ClassVar[tuple[str, ...]] = (
        "limit", "first", "model", "revision", "device", "device_map", "dtype"
    )  # fmt: skip
    """Options of runs of a model, which runs on stored maps do not accept."""
    PLACES: ClassVar[tuple[str, ...]] = (
        "out", "overwrite", "workers", "threads", "engine", "address", "gpus"
    )  # fmt: skip
    """Options about where a run is computed and written, which do not change its numbers."""
    NOT_STORED: ClassVar[tuple[str, ...]] = ()
    """Options that the command line repeats, but that no reader of the run may use."""

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        check_devices(self.device, self.device_map)
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        check_subset(self.limit, self.first, self.streamed)
        if self.out is not None:
            check_place(self.out)
        self._check_engine()
        if self.attention is not None:
            self._check_stored()

    def _check_engine(self) -> None:
        """Refuse options of another engine."""
        if self.engine != "ray":
            for name, default in (("address", None), ("gpus", 0.0)):
                if getattr(self, name) != default:
                    raise BadInput(f"--{name} needs the engine 'ray', but the engine is {self.engine!r}")

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
    def units_per_shard(self) -> int | None:
        """Units of a shard, where shards hold whole units; None for ``shard_size`` examples."""
        return None

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
        """Settings of the assessment: whether there are Bayes factors."""
        return {"bayes": bool(self.bayes)}

    def settings(self) -> dict[str, Any]:
        """Return options that decide the numbers, in JSON types, without ``PLACES`` and ``NOT_STORED``."""
        settings = {
            field.name: getattr(self, field.name)
            for field in self._deciding_fields()
            if field.name not in self.NOT_STORED
        }
        for name, value in settings.items():
            if isinstance(value, tuple):
                settings[name] = [item if isinstance(item, str) else item.name for item in value]
            elif isinstance(value, ModelObject | DataObject):
                settings[name] = value.name
        return settings

    def command(self) -> str:
        """Return the command line that repeats this run."""
        arguments = [option.name for option in described(type(self)) if option.option.argument]
        given = [getattr(self, name) for name in arguments]
        words = self.COMMAND.split()
        words += [word for value in given for word in ((value,) if isinstance(value, str) else value)]
        for field in self._deciding_fields():
            value = getattr(self, field.name)
            if value == field.default or field.name in arguments:
                continue
            flag = "--" + field.name.replace("_", "-")
            if value is True:
                words.append(flag)
                continue
            for item in value if isinstance(value, tuple) else (value,):
                words += [flag, item if isinstance(item, str) else str(getattr(item, "name", item))]
        return shlex.join(words)

    def _deciding_fields(self) -> list["Field[Any]"]:
        """Return fields that decide the numbers: those of this kind of run, then those that all share."""
        shared = {field.name for field in fields(CommonOptions)}
        ordered = sorted(fields(self), key=lambda field: field.name in shared)
        return [field for field in ordered if field.name not in self.PLACES]
