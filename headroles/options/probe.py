"""Options of a run of probes, with the names of the command line and of ``probe()``."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from headroles.errors import BadInput, UnknownName
from headroles.options.run import CommonOptions, typed_options
from headroles.records.example import Decision
from headroles.records.objects import DataObject
from headroles.records.probes import CLASSIFIERS
from headroles.sieves.language.relations import SCHEMES
from headroles.sieves.probes.trees import ROOTS

PROBES = ("dependency", "trees", "coreference")
WINDOW = 256
"""Default length of the longest window in tokens, special tokens included."""
EPOCHS = 100
"""Default of the most passes over the training sentences."""
LEAST_ARCS = 50
"""Fewest arcs for a relation to get its own row, where no relations are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions(CommonOptions):
    """Options of a run of probes; ``headroles.probe`` documents each.

    Raises:
        UnknownName: For a probe, scheme, classifier, preset, device or precision that does not exist.
        BadInput: For numbers out of range, or options that exclude each other.
    """

    probes: tuple[str, ...] = ()
    data: tuple[str | DataObject, ...] = ()
    layout: str | None = None
    relations: tuple[str, ...] = ()
    scheme: str = "ud"
    root: str = "found"
    window: int | None = None
    stride: int | None = None
    classifier: tuple[str, ...] = ()
    train: str | None = None
    vectors: str | None = None
    epochs: int = EPOCHS
    minutes: float | None = None

    KIND: ClassVar[str] = "probe"
    COMMAND: ClassVar[str] = "headroles probe"
    OF_MODELS: ClassVar[tuple[str, ...]] = (
        "data", "layout", *CommonOptions.OF_MODELS, "window", "stride", "classifier"
    )  # fmt: skip
    ARGUMENTS: ClassVar[tuple[str, ...]] = ("probes",)
    LEAST: ClassVar[dict[str, int]] = CommonOptions.LEAST | {"window": 8, "stride": 1, "epochs": 1}

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        CommonOptions.__post_init__(self)
        for kind, values, known in (
            ("probe", self.probes, PROBES),
            ("scheme", (self.scheme,), SCHEMES),
            ("root", (self.root,), ROOTS),
            ("classifier", self.classifier, CLASSIFIERS),
        ):
            for value in values:
                if value not in known:
                    raise UnknownName(kind, value, known)
        if not self.probes:
            raise BadInput(f"a run of probes names at least one of {', '.join(PROBES)}, but got none")
        if not self.data and self.attention is None:
            raise BadInput(
                "probes need gold annotation: name a file of it with --data, or with --attention stored maps "
                "whose list has it"
            )
        self._check_training()
        if self.stride is not None and self.stride > (self.window or WINDOW):
            raise BadInput(
                f"the stride is at most the window, so that no word is skipped, but got a stride of "
                f"{self.stride} with a window of {self.window or WINDOW}"
            )
        self._check_used()

    def _check_used(self) -> None:
        """Refuse options that no probe of the run uses."""
        defaults = {field.name: field.default for field in fields(ProbeOptions)}
        for name, probe in (
            ("relations", "dependency"),
            ("scheme", "dependency"),
            ("root", "trees"),
            ("stride", "coreference"),
        ):
            if getattr(self, name) != defaults[name] and probe not in self.probes:
                raise BadInput(f"--{name} is for the probe {probe}, which was not named; leave it out")

    def _check_training(self) -> None:
        """Refuse options of trained probes that do not fit together."""
        if self.minutes is not None and not self.minutes > 0:
            raise BadInput(f"minutes must be a number above 0, but got {self.minutes}")
        if self.classifier and "dependency" not in self.probes:
            raise BadInput("classifiers are trained to find head words, so the probe must be dependency")
        if self.classifier and self.train is None:
            raise BadInput(
                "a classifier learns on other sentences than it is tested on: name their file with --train"
            )
        if any("words" in classifier for classifier in self.classifier) and self.vectors is None:
            raise BadInput(
                "classifiers with words need word vectors: name a text file such as GloVe's with --vectors"
            )
        for name, default in (("train", None), ("vectors", None), ("minutes", None), ("epochs", EPOCHS)):
            if getattr(self, name) != default and not self.classifier:
                raise BadInput(f"--{name} is for trained probes, but no --classifier was given")

    @property
    def usual(self) -> Decision:
        """Default decision of probes; the published code has no test.

        The test is Student's t without correction for skewness, because documents of unequal size make
        the estimate of skewness uncertain.
        """
        return Decision(test="t")

    @property
    def name(self) -> str:
        """Name of the inputs: the first file's."""
        first = self.attention or self.data[0]
        return "data" if isinstance(first, DataObject) else Path(first).name.split(".")[0]

    @property
    def asked_relations(self) -> tuple[str, ...]:
        """The requested relations, one by one; one argument may have several, joined by commas."""
        names = [name.strip() for argument in self.relations for name in argument.split(",")]
        return tuple(name for name in names if name)

    @property
    def windowed(self) -> bool:
        """Whether a model reads windows of whole documents rather than sentences."""
        return "coreference" in self.probes


def probe_options_of(**given: Any) -> ProbeOptions:
    """Return options from given values, converting paths and numpy numbers.

    Raises:
        UnknownName: For an option, or a name in one, that does not exist.
        BadInput: For values of another type or out of range, or options that exclude each other.

    Example:
        >>> probe_options_of(probes="dependency", data="dev.conllu").command()
        'headroles probe dependency --data dev.conllu'
    """
    return typed_options(ProbeOptions, given)
