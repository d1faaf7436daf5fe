"""Options of commands on finished runs: judge, verify, report, table, compare, replicate; and of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from headroles.addresses import check_place
from headroles.errors import BadInput
from headroles.options.described import INFINITY, Option, check_values
from headroles.options.shared import (
    ALPHA,
    AS_IN_A,
    BAYES,
    CORRECTION,
    FAMILY,
    INTERVAL,
    MARGIN,
    OUT,
    OVERWRITE,
    RESAMPLE_SEED,
    RESAMPLES,
    TEST,
)
from headroles.records.example import Decision
from headroles.stats.decision import FEWEST, MOST

DECISION_NAMES = {"resample_seed": "seed"}
"""Names of options in a decision, where they differ."""
AS_BEFORE = "as before"
"""Default of everything that ``judge`` decides again."""
FOLDER = Option("Folder of a run, or its address.", "Inputs", path=True, argument=True)
DIR_A = FOLDER.but(detail="Run A, such as that of a pretrained model.")
DIR_B = FOLDER.but(detail="Run B, such as that of a fine-tuned one.")
FIGURE_FORMS = ("svg", "pdf", "png")
TABLE_FORMS = ("markdown", "latex", "csv")
NARROWEST, WIDEST = 60.0, 500.0
"""Limits of the width of a figure in millimetres."""


def decision_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings that are fields of a decision, by their names there.

    Example:
        >>> decision_fields({"alpha": 0.01, "resample_seed": 3, "bound": 0.05})
        {'alpha': 0.01, 'seed': 3}
    """
    renamed = {DECISION_NAMES.get(name, name): value for name, value in given.items()}
    return {field.name: renamed[field.name] for field in fields(Decision) if field.name in renamed}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedOptions:
    """Options of a command on finished runs.

    Raises:
        UnknownName: For a name that is no choice.
        BadInput: For numbers out of range, and paths that no system takes.
    """

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        for name in ("folder", "dir_a", "dir_b", "out"):
            if getattr(self, name, None) is not None:
                check_place(getattr(self, name))

    def given(self) -> dict[str, Any]:
        """Return the options that have a value other than None, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(FinishedOptions):
    """Options of judging a run again; None leaves a setting unchanged."""

    folder: Annotated[str, FOLDER]
    margin: Annotated[float | None, MARGIN.but(default=AS_BEFORE)] = None
    alpha: Annotated[float | None, ALPHA.but(default=AS_BEFORE)] = None
    test: Annotated[str | None, TEST.but(default=AS_BEFORE)] = None
    correction: Annotated[str | None, CORRECTION.but(default=AS_BEFORE)] = None
    family: Annotated[str | None, FAMILY.but(default=AS_BEFORE)] = None
    resamples: Annotated[int | None, RESAMPLES.but(default=AS_BEFORE)] = None
    resample_seed: Annotated[int | None, RESAMPLE_SEED.but(default=AS_BEFORE)] = None
    interval: Annotated[str | None, INTERVAL.but(default=AS_BEFORE)] = None
    bayes: Annotated[bool | None, BAYES.but(default=AS_BEFORE)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(FinishedOptions):
    """Options of verifying a run."""

    folder: Annotated[str, FOLDER]
    oracles: Annotated[
        bool,
        Option("Recompute p, q, effects and intervals with scipy, statsmodels and pingouin.", "Questions"),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(FinishedOptions):
    """Options of showing a finished run or comparison in the terminal."""

    folder: Annotated[str, FOLDER]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(FinishedOptions):
    """Options of writing a report, or all its figures."""

    folder: Annotated[str, FOLDER]
    figures: Annotated[
        str | None, Option("Write only the figures, in this format.", "Output", choices=FIGURE_FORMS)
    ] = None
    width: Annotated[
        float | None,
        Option(
            "Width of figures in millimetres; 89 for one column.",
            "Output",
            least=NARROWEST,
            most=WIDEST,
            default="183",
        ),
    ] = None
    out: Annotated[
        str | None,
        OUT.but(
            detail="A file; with --figures a folder.", default="report.html, or the folder figures, in FOLDER"
        ),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for files that headroles did not write.")] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        if self.figures is None and self.width is not None:
            raise BadInput("--width is for figures, so it needs --figures; leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(FinishedOptions):
    """Options of a table, or of the methods, for a paper."""

    folder: Annotated[str, FOLDER]
    name: Annotated[
        str | None,
        Option(
            "Which table: roles, heads or findings; where they exist best, statistics, clusters, changes or "
            "differences.",
            "Questions",
            default="the main table",
        ),
    ] = None
    format: Annotated[
        str,
        Option(
            "Markdown; LaTeX for booktabs, with caption and label; or CSV with all digits.",
            "Output",
            choices=TABLE_FORMS,
        ),
    ] = "markdown"
    methods: Annotated[
        bool, Option("The methods as a paragraph with references, in place of a table.", "Questions")
    ] = False
    out: Annotated[str | None, OUT.but(detail="A file.", default="the terminal; none in Python")] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a file that headroles did not write.")] = (
        False
    )

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        if self.methods and self.name is not None:
            raise BadInput(f"--methods is no table, but got --name {self.name}; leave one of them out")
        if self.methods and self.format == "csv":
            raise BadInput("--methods is text, but got --format csv; give markdown or latex")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(FinishedOptions):
    """Options of comparing two runs."""

    dir_a: Annotated[str, DIR_A]
    dir_b: Annotated[str, DIR_B]
    bound: Annotated[
        float,
        Option(
            "Largest difference that counts as none, on the scale of the scores.",
            "Decision",
            above=0,
            below=INFINITY,
        ),
    ] = 0.05
    swaps: Annotated[
        int,
        Option("Number of random swaps of A and B; 0 for none.", "Decision"),
    ] = 1000
    alpha: Annotated[float | None, ALPHA.but(default=AS_IN_A)] = None
    test: Annotated[
        str,
        TEST.but(detail="Of every mean difference; labels are tested as in DIR_A."),
    ] = "t"
    correction: Annotated[str | None, CORRECTION.but(default=AS_IN_A)] = None
    family: Annotated[str | None, FAMILY.but(default=AS_IN_A)] = None
    resamples: Annotated[int | None, RESAMPLES.but(default=AS_IN_A)] = None
    resample_seed: Annotated[int | None, RESAMPLE_SEED.but(default=AS_IN_A)] = None
    interval: Annotated[str | None, INTERVAL.but(default=AS_IN_A)] = None
    out: Annotated[
        str | None,
        OUT.but(
            detail="A folder, or an address.",
            default="compare/A-B, by the names of the folders; none in Python",
        ),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a comparison with other settings.")] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        if self.swaps != 0 and not FEWEST <= self.swaps <= MOST:
            raise BadInput(
                f"swaps must be a whole number of at least {FEWEST} and at most "
                f"{MOST:,}, or 0 for none, but got {self.swaps}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicateOptions(FinishedOptions):
    """Options of replicating the roles of a run on the inputs of another."""

    dir_a: Annotated[str, FOLDER.but(detail="Run A, whose roles are tested.")]
    dir_b: Annotated[str, FOLDER.but(detail="Run B, on whose inputs they are tested.")]
    correction: Annotated[str | None, CORRECTION.but(default=AS_IN_A)] = None
    out: Annotated[str | None, OUT.but(detail="A CSV file, one row per role of A.", default="none")] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a file that headroles did not write.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(FinishedOptions):
    """Options of planning a study before it is run."""

    effect: Annotated[
        float,
        Option(
            "Effect of the head to find: (mean − threshold) / standard deviation.",
            "Questions",
            above=0,
            below=INFINITY,
        ),
    ]
    head_count: Annotated[int, Option("Heads of the model over all layers.", "Questions", least=1)]
    sieves: Annotated[int, Option("Number of roles to test.", "Questions", least=1)] = 1
    power: Annotated[float, Option("Probability of finding the head.", "Decision", above=0, below=1)] = 0.8
    alpha: Annotated[float, ALPHA] = 0.05
    correction: Annotated[str, CORRECTION] = "fdr_bh"
    family: Annotated[str, FAMILY] = "sieve"
    share: Annotated[
        float | None,
        Option(
            "Expected share of heads that hold the role; for false discovery rates.",
            "Decision",
            default="this head alone",
        ),
    ] = None
    layer_count: Annotated[
        int | None, Option("Layers of the model; for --family layer.", "Questions", least=1)
    ] = None
