"""Options of a run of probes."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar

from headroles.errors import BadInput
from headroles.options.described import Option
from headroles.options.run import CommonOptions
from headroles.options.shared import (
    DATA,
    KIND,
    LAYOUT,
    MAPS,
    MARGIN,
    MAX_LENGTH,
    TEST,
    VECTORS,
    WEIGHTS,
    check_norms,
)
from headroles.records.objects import DataObject
from headroles.records.rules.names import CLASSIFIERS
from headroles.records.rules.rule import Decision
from headroles.sieves.language.relations import SCHEMES
from headroles.sieves.settings import ROOTS

LAYOUTS = ("conllu", "words", "conll2012", "gap", "winobias", "jsonl")
"""Layouts of gold annotation, those of ``extraction.gold.read.LAYOUTS``."""
PROBES = ("dependency", "trees", "coreference")
SAMPLE = "UD English EWT"
"""Treebank of the shipped trees: 160 sentences of as many documents."""
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

    probes: Annotated[
        tuple[str, ...],
        Option("Probes to run.", "Questions", kind="probe", choices=PROBES, argument=True),
    ] = ()
    data: Annotated[
        tuple[str | DataObject, ...],
        DATA.but(
            detail="It has gold annotation; may be repeated (GAP, WinoBias pro and anti).",
            default="160 shipped trees of UD English EWT",
            python="Any",
            in_python="Or a list of dictionaries with the fields of JSON lines.",
        ),
    ] = ()
    layout: Annotated[str | None, LAYOUT.but(choices=LAYOUTS)] = None
    relations: Annotated[
        tuple[str, ...],
        Option(
            "A relation that gets a row, or several joined by commas; may be repeated.",
            "Questions",
            default="all frequent",
        ),
    ] = ()
    scheme: Annotated[str, Option("Scheme of relation names.", "Questions", choices=tuple(SCHEMES))] = "ud"
    root: Annotated[
        str,
        Option(
            "Root of directed trees: given by the annotation, or found as the best word.",
            "Questions",
            choices=ROOTS,
        ),
    ] = "found"
    max_length: Annotated[
        int | None,
        MAX_LENGTH.but(detail="Longer documents are cut into windows.", least=8, default=str(WINDOW)),
    ] = None
    stride: Annotated[
        int | None,
        Option(
            "Fewest tokens from the start of a window of a document to that of the next.",
            "Inputs",
            least=1,
            default="half a window",
            rare=True,
        ),
    ] = None
    classifier: Annotated[
        tuple[str, ...],
        Option("A probe to train, by what it reads; may be repeated.", "Questions", choices=CLASSIFIERS),
    ] = ()
    train: Annotated[str | None, Option("File of trees to train on.", "Questions", path=True)] = None
    vectors: Annotated[str | None, VECTORS.but(detail="Classifiers with words read them.")] = None
    epochs: Annotated[
        int, Option("Largest number of passes over the training data.", "Questions", least=1, rare=True)
    ] = EPOCHS
    minutes: Annotated[
        float | None,
        Option(
            "Time limit in minutes for all training together; each probe may then stop early.",
            "Questions",
            above=0,
            rare=True,
        ),
    ] = None

    kind: Annotated[
        str | None,
        KIND.but(
            detail="Probes read one text, so they refuse decoder and cross.",
            default="encoder; self for models with one stack",
        ),
    ] = None
    weights: Annotated[str, WEIGHTS] = "attention"
    maps: Annotated[int, MAPS] = 200
    margin: Annotated[float | None, MARGIN.but(default="0.05")] = None
    test: Annotated[str | None, TEST.but(default="t")] = None

    KIND: ClassVar[str] = "probe"
    COMMAND: ClassVar[str] = "headroles probe"
    OF_MODELS: ClassVar[tuple[str, ...]] = (
        "data", "layout", *CommonOptions.OF_MODELS, "max_length", "stride", "classifier", "kind"
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        CommonOptions.__post_init__(self)
        if not self.probes:
            raise BadInput(f"a run of probes names at least one of {', '.join(PROBES)}, but got none")
        if not (self.data or self.attention) and ("coreference" in self.probes or self.layout):
            raise BadInput(
                "without --data, probes read shipped trees, which have their own layout and no mentions; "
                "name a file of gold annotation with --data, or leave --layout and coreference out"
            )
        if self.kind in ("decoder", "cross"):
            raise BadInput(
                f"probes read one annotated text, but --kind {self.kind!r} needs two; leave it out"
            )
        check_norms(self.weights, self.attention is not None, self.preset)
        self._check_training()
        if self.stride is not None and self.stride > (self.max_length or WINDOW):
            raise BadInput(
                f"the stride is at most the window, so that no word is skipped, but got a --stride of "
                f"{self.stride} with a --max-length of {self.max_length or WINDOW}"
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
        if self.classifier and self.weights == "norm":
            raise BadInput(
                "trained probes learn on attention itself, but --weights is 'norm'; leave --weights or "
                "--classifier out"
            )
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
        """Name of the inputs: the first file's, or that of the shipped trees."""
        first = self.attention or next(iter(self.data), "EWT")
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
