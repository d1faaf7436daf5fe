"""Options of runs of sieves, and of ``headroles label``."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from headroles.errors import BadInput
from headroles.options.inputs import InputOptions
from headroles.options.shared import (
    CACHE,
    DECIDED,
    KEEP,
    MAPS,
    MARGIN,
    PARSER,
    PATH,
    SIEVE,
    STATISTIC,
    TEST,
    UNITS_PER_LOOK,
    UNTIL,
    VECTORS,
    WEIGHTS,
    check_norms,
)
from headroles.presets import preset_of
from headroles.records.rules.names import FUSED, ROWS
from headroles.records.rules.rule import Decision
from headroles.sieves import TITLES
from headroles.stats.decision import BETTING

if TYPE_CHECKING:
    from headroles.sieves.base import Sieve
else:
    Sieve = Any  # its module imports numpy, and options look at the names of sieves only


@dataclass(frozen=True, slots=True)
class Clustering:
    """Settings of summing distances between heads, and of clustering heads by them.

    Attributes:
        way: "mean" over rows, inputs and units, or plain "sum" as in the released code.
        smoothing: Share of even attention mixed into every row.
        method: "average", "spectral" or "dbscan".
        clusters: Number of clusters; None: chosen by silhouette and stability.
        draws: Resamples of the units.
    """

    way: str
    smoothing: float
    method: str
    clusters: int | None
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(InputOptions):
    """Options of a run of sieves; ``headroles.label`` documents each.

    Raises:
        UnknownName: For a task, source, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    sieve: Annotated[tuple[str | Sieve, ...], SIEVE] = ()
    statistic: Annotated[str, STATISTIC] = "selectivity"
    weights: Annotated[str, WEIGHTS] = "attention"
    parser: Annotated[str | None, PARSER] = None
    vectors: Annotated[str | None, VECTORS.but(detail="The sieve related:other reads them.")] = None
    maps: Annotated[int, MAPS] = 1000
    margin: Annotated[float | None, MARGIN.but(default="each sieve's own")] = None
    test: Annotated[str | None, TEST.but(default="t-skew")] = None
    cache: Annotated[str | None, CACHE] = None

    KIND: ClassVar[str] = "label"
    COMMAND: ClassVar[str] = "headroles label"
    PLACES: ClassVar[tuple[str, ...]] = (*InputOptions.PLACES, "cache")

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        InputOptions.__post_init__(self)
        names = tuple(TITLES.get(name, name) if isinstance(name, str) else name for name in self.sieve)
        object.__setattr__(self, "sieve", names)
        check_norms(self.weights, self.attention is not None, self.preset)
        if self.statistic != "selectivity" and self.preset == "published":
            raise BadInput("the preset 'published' has a statistic of its own; leave --statistic out")
        if self.kind == "cross" and self.preset == "published":
            raise BadInput(
                "the preset 'published' scores attention of a stack to itself, as the released code does, "
                "but --kind is 'cross'; leave --preset out"
            )


EXCLUDED = {
    "preset": "the preset 'published' has a test for a fixed number of inputs",
    "stream": "a stream is read in the order of its inputs, and not in random order",
    "shard_size": "a shard of a run that may stop holds --units-per-look units",
}
"""Options whose defaults a run that may stop needs, and why."""
MOST_KEPT = 100_000
"""Most examples whose scores are all kept; above it, moments and a random subsample are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions(Options):
    """Options of ``headroles label``; ``headroles.label`` documents each.

    Attributes:
        kind: Which attention of an encoder-decoder is scored; None: the encoder's, or "self" for
            models with one stack.
        stream: Whether inputs are read one by one, without storing or counting them beforehand.
        keep: Most examples whose scores are all kept; above it, moments and a random subsample are kept.
        until: "decided": units are read in random order until all heads are decided; None: all inputs.
        decided: Share of all tests that must be decided.
        units_per_look: Units of a shard, after which all heads are judged again.
        path: "rows" or "fused": how scores are taken from attention.

    Raises:
        UnknownName: For a kind of attention that does not exist, and names that ``Options``
            refuses.
        BadInput: For numbers out of range, options that ``until`` excludes or that need it, and values that
            ``Options`` refuses.
    """

    path: Annotated[str, PATH] = ROWS
    keep: Annotated[int, KEEP] = MOST_KEPT
    until: Annotated[str | None, UNTIL] = None
    decided: Annotated[float, DECIDED] = 1.0
    units_per_look: Annotated[int, UNITS_PER_LOOK] = 64
    test: Annotated[str | None, TEST.but(default=f"t-skew; {BETTING} with --until")] = None

    OF_MODELS: ClassVar[tuple[str, ...]] = (*Options.OF_MODELS, "path", "keep")

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        Options.__post_init__(self)
        if self.path == FUSED and self.weights == "norm":
            raise BadInput(
                "the fused path reads attention without norms, but got --weights norm; leave --path fused or "
                "--weights out"
            )
        usual = {field.name: field.default for field in fields(self)}
        names = ("decided", "units_per_look") if self.until is None else EXCLUDED
        changed = next((name for name in names if getattr(self, name) != usual[name]), None)
        if changed is None:
            return
        flag = f"--{changed.replace('_', '-')}"
        if self.until is None:
            raise BadInput(f"{flag} is about runs that stop early; leave it out, or give --until decided")
        raise BadInput(
            f"{EXCLUDED[changed]}, so {flag} and --until exclude each other; leave one of them out"
        )

    @property
    def most_kept(self) -> int:
        """Most examples whose scores are all kept."""
        return self.keep

    @property
    def units_per_shard(self) -> int | None:
        """Units of a shard of a run that may stop; None for other runs."""
        return None if self.until is None else self.units_per_look

    @property
    def usual(self) -> Decision:
        """Decision of the preset; with ``until`` by a test that may be looked at at any time."""
        usual = preset_of(self.preset).decision
        return usual if self.until is None else replace(usual, test=BETTING)
