"""Options of commands on finished runs, from judge to compare; and of a plan.

A table of scores is judged like the scores of a finished run, so its options stand here, too.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar

from headroles.addresses import check_place, is_address
from headroles.errors import BadInput
from headroles.options.described import INFINITY, Option, check_values
from headroles.options.shared import (
    ALPHA,
    AS_IN_A,
    BAYES,
    BOUND,
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
from headroles.records.objects import DataObject
from headroles.records.rules.rule import Decision
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
TABLES = (
    "Runs have roles, heads, several, p-values and findings. Some folders also have values, best, "
    "statistics, clusters, changes, differences, runs, agreement, in-runs, consensus or trends."
)
"""Names of tables, in words."""
TABLE_FORMAT = Option(
    "Markdown; LaTeX for booktabs, with caption and label; or CSV with all digits.",
    "Output",
    choices=TABLE_FORMS,
)
NAME_ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
"""User or organisation, and name, of a data set."""
FEWEST_RUNS = 2
"""Runs that an atlas shows at least."""
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
        for name in ("folder", "dir_a", "dir_b", "page", "out"):
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
    out: Annotated[
        str | None,
        OUT.but(detail="A new run folder, or an address; FOLDER then stays as it is.", default="FOLDER"),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a run with other settings.")] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        check_new_folder(self.folder, self.out)


def check_new_folder(folder: str, out: str | None) -> None:
    """Refuse to write a run that is judged again into a folder of the run itself.

    Raises:
        BadInput: When ``out`` is the folder of the run, or lies in it.
    """
    if out is None or is_address(out) or is_address(folder):
        return
    if Path(out).resolve().is_relative_to(Path(folder).resolve()):
        raise BadInput(
            f"--out names a folder of its own, but '{out}' is the folder of the run, or lies in it; name "
            "another folder, or leave --out out"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoresOptions(FinishedOptions):
    """Options of judging a table of scores; ``headroles.judge_scores`` documents each.

    Raises:
        UnknownName: For a name that is no choice.
        BadInput: For numbers out of range, and bounds in the wrong order.
    """

    scores: Annotated[
        str | DataObject | None,
        Option(
            "A table of scores (.parquet, .csv, .tsv) with the columns unit, layer, head and score.",
            "Inputs",
            path=True,
            python="str | Path | Any",
            in_python="Or a DataFrame, or a list of dictionaries.",
        ),
    ] = None
    model_name: Annotated[
        str | None, Option("Name of the model, for reports.", "Model", default="that of the table")
    ] = None
    null: Annotated[
        float | None,
        Option(
            "Score that chance gives, where the table has no column null.",
            "Decision",
            default="0",
        ),
    ] = None
    low: Annotated[
        float | None,
        Option("Lowest possible score, where the table has no column low.", "Decision", default="unknown"),
    ] = None
    high: Annotated[
        float | None,
        Option("Highest possible score, where the table has no column high.", "Decision", default="unknown"),
    ] = None
    margin: Annotated[float | None, MARGIN.but(default="the column margin")] = None
    alpha: Annotated[float | None, ALPHA.but(default="0.05")] = None
    test: Annotated[str | None, TEST.but(default="t-skew")] = None
    correction: Annotated[str | None, CORRECTION.but(default="fdr_bh")] = None
    family: Annotated[str | None, FAMILY.but(default="sieve")] = None
    resamples: Annotated[int | None, RESAMPLES] = None
    resample_seed: Annotated[int | None, RESAMPLE_SEED] = None
    interval: Annotated[str | None, INTERVAL] = None
    bayes: Annotated[bool | None, BAYES] = None
    out: Annotated[
        str | None,
        OUT.but(detail="A run folder, or an address.", default="runs/SCORES; none in Python"),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a run with other settings.")] = False

    PLACES: ClassVar[tuple[str, ...]] = ("out", "overwrite")
    """Options that do not change the numbers."""

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        for name in ("null", "low", "high"):
            if not isfinite(getattr(self, name) or 0.0):
                raise BadInput(f"{name} must be a finite number, but got {getattr(self, name)}")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise BadInput(f"low must lie below high, but got {self.low} and {self.high}")

    @property
    def decision(self) -> Decision:
        """Decision of the run: the usual one, except where options name something else."""
        return replace(Decision(), **decision_fields(self.given()))

    @property
    def assessed(self) -> dict[str, Any]:
        """Settings of the assessment: whether there are Bayes factors."""
        return {"bayes": bool(self.bayes)}

    def settings(self) -> dict[str, Any]:
        """Return the options that decide the numbers, in JSON types."""
        values = {field.name: getattr(self, field.name) for field in fields(ScoresOptions)}
        settings = {name: value for name, value in values.items() if name not in self.PLACES}
        if isinstance(self.scores, DataObject):
            settings["scores"] = self.scores.name
        return settings

    def command(self) -> str:
        """Return the command line that repeats this run."""
        words = ["headroles", "judge"]
        for name, value in self.settings().items():
            if value is not None and value is not False:
                words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return shlex.join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCommandOptions(ScoresOptions):
    """Options of ``headroles judge``, which judges a finished run again, or a table of scores.

    Raises:
        BadInput: Unless one of both is named; for options of a table beside a run.
    """

    folder: Annotated[str | None, FOLDER] = None
    out: Annotated[
        str | None,
        OUT.but(
            detail="A run folder, or an address. FOLDER then stays as it is.",
            default="FOLDER itself, or runs/SCORES",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        ScoresOptions.__post_init__(self)
        if (self.folder is None) == (self.scores is None):
            given = "neither" if self.folder is None else "both"
            raise BadInput(
                f"headroles judge takes the folder of a run, or a table with --scores, but got {given}; give "
                f"one of them"
            )
        if self.folder is not None:
            check_new_folder(self.folder, self.out)
            for name in ("model_name", "null", "low", "high"):
                value = getattr(self, name)
                if value is not None:
                    flag = f"--{name.replace('_', '-')}"
                    raise BadInput(f"{flag} is for a table of scores, so it needs --scores; leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(FinishedOptions):
    """Options of verifying a run."""

    folder: Annotated[str, FOLDER]
    oracles: Annotated[
        bool,
        Option("Recompute p, q, effects and intervals with scipy, statsmodels and pingouin.", "Questions"),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(FinishedOptions):
    """Options of a table for a paper; ``headroles.table`` documents each."""

    folder: Annotated[str, FOLDER]
    name: Annotated[
        str | None, Option("Which table.", "Questions", detail=TABLES, default="the main table")
    ] = None
    format: Annotated[str, TABLE_FORMAT] = "markdown"
    out: Annotated[str | None, OUT.but(detail="A file.", default="none")] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for a file that headroles did not write.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(FinishedOptions):
    """Options of showing a finished run: in the terminal, or as a page, figures, a table or methods.

    Raises:
        UnknownName: For a format that does not exist.
        BadInput: For options that do not go together, and for no name of a head.
    """

    folder: Annotated[str, FOLDER]
    head: Annotated[
        str | None, Option("Say what this head does, with its findings; named 2-8, 2.8 or L2H8.", "Output")
    ] = None
    page: Annotated[
        str | None,
        Option("Write the report.", "Output", path=True, alone="", default="report.html in FOLDER"),
    ] = None
    figures: Annotated[
        str | None, Option("Write the figures, in this format.", "Output", choices=FIGURE_FORMS)
    ] = None
    table: Annotated[
        str | None,
        Option(
            "Print a table for a paper.",
            "Output",
            detail=TABLES,
            alone="",
            default="the main table",
        ),
    ] = None
    methods: Annotated[bool, Option("Print the methods as a paragraph with references.", "Output")] = False
    format: Annotated[str | None, TABLE_FORMAT.but(default="markdown")] = None
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
            detail="A file; with --figures a folder.",
            default="report.html, or the folder figures, in FOLDER; the terminal for tables and methods",
        ),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for files that headroles did not write.")] = False

    MODES: ClassVar[tuple[str, ...]] = ("head", "page", "figures", "table", "methods")
    """Options that ask for something else than the whole answer; one of them at most is given."""

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        asked = [f"--{name}" for name in self.MODES if getattr(self, name) not in (None, False)]
        if len(asked) > 1:
            raise BadInput(f"a run is shown in one way at a time, but got {' and '.join(asked)}; give one")
        for name, modes in (
            ("format", ("table", "methods")),
            ("width", ("figures",)),
            ("out", self.MODES[1:]),
            ("overwrite", self.MODES[1:]),
        ):
            if getattr(self, name) not in (None, False) and self.asked not in modes:
                needed = ", ".join(f"--{mode}" for mode in modes[:-1])
                needed += f"{' or ' * bool(needed)}--{modes[-1]}"
                raise BadInput(
                    f"--{name} goes with {needed}, but got {' or '.join(asked) or 'none of them'}; leave "
                    f"--{name} out, or give one it goes with"
                )
        if self.methods and self.format == "csv":
            raise BadInput("--methods is text, but got --format csv; give markdown or latex")
        if self.page and self.out is not None:
            raise BadInput(f"--page names '{self.page}' and --out '{self.out}'; name one file")

    @property
    def asked(self) -> str:
        """Name of what is shown in place of the whole answer; "" for that answer."""
        return next((name for name in self.MODES if getattr(self, name) not in (None, False)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOptions(FinishedOptions):
    """Options of sharing a finished run."""

    folder: Annotated[str, FOLDER]
    to: Annotated[
        str | None,
        Option(
            "Upload the run as a data set of this name on the hub, such as user/name.",
            "Output",
            default="no upload",
        ),
    ] = None
    with_maps: Annotated[
        bool, Option("Upload typical inputs, too, with their pieces and attention maps.", "Output")
    ] = False
    private: Annotated[bool, Option("Make the new data set private.", "Output")] = False
    out: Annotated[
        str | None, OUT.but(detail="A file for the block.", default="the terminal; none in Python")
    ] = None
    overwrite: Annotated[
        bool, OVERWRITE.but(detail="Needed for a data set that exists, and for a file with other text.")
    ] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        if self.to is None:
            for name in ("with_maps", "private"):
                if getattr(self, name):
                    flag = name.replace("_", "-")
                    raise BadInput(f"--{flag} is for uploads, so it needs --to user/name; leave it out")
        elif not NAME_ON_HUB.fullmatch(self.to):
            raise BadInput(
                f"a data set on the hub has a name such as user/name, of letters, digits, '-', '_' and '.', "
                f"but got {self.to!r}; give --to user/name"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(FinishedOptions):
    """Options of comparing two runs."""

    dir_a: Annotated[str, DIR_A]
    dir_b: Annotated[str, DIR_B]
    bound: Annotated[
        float,
        BOUND.but(detail="On the scale of the scores."),
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
class AtlasOptions(FinishedOptions):
    """Options of showing several runs on one page."""

    runs: Annotated[
        tuple[str, ...],
        Option("Folders of two or more label runs, or their addresses.", "Inputs", path=True, argument=True),
    ]
    out: Annotated[
        str | None,
        OUT.but(
            detail="A folder, or an address.",
            default="atlas/A-B, by the names of the folders; none in Python",
        ),
    ] = None
    steps: Annotated[
        bool,
        Option(
            "The runs are checkpoints of one training, first to last, on the same inputs: roles get a "
            "trend and the step from which they hold.",
            "Questions",
        ),
    ] = False
    parts: Annotated[
        bool,
        Option(
            "The runs are parts of one corpus: their sums are added up, and the whole is judged and shown "
            "as well.",
            "Questions",
        ),
    ] = False
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for an atlas of other runs.")] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        FinishedOptions.__post_init__(self)
        for run in self.runs:
            check_place(run)
        if len(self.runs) < FEWEST_RUNS:
            raise BadInput(
                f"an atlas shows two runs or more, but got {len(self.runs)}; name the folders of two runs"
            )
        if self.steps and self.parts:
            raise BadInput(
                "an atlas shows steps of one training or parts of one corpus, but got --steps and "
                "--parts; leave one out"
            )
        twice = next((run for place, run in enumerate(self.runs) if run in self.runs[:place]), None)
        if twice is not None:
            raise BadInput(f"an atlas shows every run once, but got '{twice}' twice; name it once")


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
class CompareCommandOptions(CompareOptions):
    """Options of ``headroles compare``, which compares two runs, or replicates the roles of the first.

    Raises:
        BadInput: For options of a comparison beside ``--replicate``.
    """

    replicate: Annotated[
        bool,
        Option(
            "Test the roles of run A on the inputs of run B, in place of a comparison.",
            "Questions",
            detail="Only --correction goes with it, and --out with a CSV file, one row per role of A.",
        ),
    ] = False

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        CompareOptions.__post_init__(self)
        usual = {field.name: field.default for field in fields(CompareOptions)}
        kept = {field.name for field in fields(ReplicateOptions)}
        changed = [name for name in usual if name not in kept and getattr(self, name) != usual[name]]
        if self.replicate and changed:
            flag = f"--{changed[0].replace('_', '-')}"
            raise BadInput(
                f"--replicate tests B by the rules of A, so only --correction and --out go with it, but got "
                f"{flag}; leave one of them out"
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
    lowest: Annotated[
        float,
        Option(
            "How far the lowest possible score lies below the threshold, in standard deviations.",
            "Questions",
            above=0,
            below=INFINITY,
        ),
    ] = 5.0
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
