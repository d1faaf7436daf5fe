"""Kinds of run: what a kind states, and the table of all kinds.

A kind is one folder of ``headroles/runs`` whose module ``kind`` holds its record, ``KIND``. Whoever needs
something of a run looks its kind up here: ``judge``, ``verify``, ``load``, reports, the terminal, and the
workers. The modules of a kind are imported when they are needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from headroles.inputs.corpora import Corpus
    from headroles.options.run import JudgedOptions
    from headroles.progress import Progress
    from headroles.records.atlas.atlas import Atlas
    from headroles.records.comparison import Comparison
    from headroles.records.example import Scores
    from headroles.records.findings import Labelling
    from headroles.records.replication import Replication
    from headroles.records.rules.rule import Decision, Rule
    from headroles.records.stops.look import Watch
    from headroles.reports.answer import Answer
    from headroles.reports.report import Report
    from headroles.runs.scored import ScoredRun
    from headroles.shards.receipts import Receipts
    from headroles.shards.survey import Survey
    from headroles.shards.work import Engine, Facts, ShardWork
    from headroles.storage.places import Place
    from headroles.viewing.viewed import Viewed

KINDS = ("label", "cluster", "surface", "probe", "ablate", "why")
"""All kinds of run; each is the folder of that name in ``headroles/runs``."""
REPORTS = {
    "Comparison": "compare_report",
    "Replication": "replicate",
    "Atlas": "atlas_report",
}
"""Module of the report of what is made of finished runs, by the class of the result."""


class RunKind(ABC):
    """A kind of run: its options, inputs, work on shards, judging, files, report and lines of the terminal.

    Attributes:
        name: As in ``KINDS``.
        part: Field of ``Labelling`` that only runs of this kind fill; "" for runs of sieves alone.
        files: Files of a run folder that hold this part; each is there when it is not empty.
        outcomes: The decisions in words, as notebooks show them; four where no column has a contrast.
        not_recomputed: Tables that other libraries do not recompute, and why; None where there are none.
        baselines: Whether heads are tested against baselines; intervals of findings are then those of the
            difference, laid around the mean.
        intervals_of_scores: Whether intervals of findings are those of mean scores, not of the tests.
        absence: Whether heads are tested for a mean near chance ("absent").
    """

    name: ClassVar[str]
    part: ClassVar[str] = ""
    files: ClassVar[tuple[str, ...]] = ()
    outcomes: ClassVar[tuple[str, ...]] = ("role", "not", "undetermined", "untestable", "explained")
    not_recomputed: ClassVar[tuple[str, str] | None] = None
    baselines: ClassVar[bool] = False
    intervals_of_scores: ClassVar[bool] = False
    absence: ClassVar[bool] = True

    # a new run

    @abstractmethod
    def check(self, options: Any) -> None:
        """Refuse options that cannot work, before inputs or model are opened; imports nothing heavy.

        Raises:
            HeadrolesError: When something that the options name does not exist.
        """

    @abstractmethod
    def read_corpus(self, options: Any) -> Corpus:
        """Return the inputs of a run.

        Raises:
            HeadrolesError: When the inputs cannot be used.
        """

    def in_order(self, options: Any, corpus: Corpus) -> Corpus:
        """Return the inputs in the order in which shards hold them: their own, where nothing else is said."""
        return corpus

    def tally(
        self, options: Any, rules: tuple[Rule, ...], facts: Facts, survey: Survey, place: Place, watch: Watch
    ) -> Receipts | None:
        """Return an empty count of the finished shards of a run that may stop; None for all other runs.

        Args:
            options: Of the run.
            rules: One per column.
            facts: Facts of the workers.
            survey: Of all inputs.
            place: Where the shards are.
            watch: Called with every look.
        """
        return None

    @abstractmethod
    def start_work(self, options: Any, corpus: Any) -> ShardWork:
        """Load model and annotation for work on shards.

        Raises:
            HeadrolesError: When model, parser, vectors or stored maps cannot be used.
        """

    @abstractmethod
    def rules(self, options: Any, facts: Facts) -> tuple[Rule, ...]:
        """Return the rule of each column that the workers score."""

    def settle(self, rules: tuple[Rule, ...], counts: Mapping[str, int]) -> tuple[Rule, ...]:
        """Return the rules that decide, once all shards have counted their inputs."""
        return rules

    @abstractmethod
    def judge(self, options: Any, scored: ScoredRun, corpus: Any) -> Labelling:
        """Judge the scores of all inputs, and fill the part of this kind."""

    @abstractmethod
    def record(self, options: Any, scored: ScoredRun, judged: Labelling, corpus: Any) -> dict[str, Any]:
        """Return everything needed to reproduce a run, in JSON types."""

    @abstractmethod
    def notes(self, options: Any, scored: ScoredRun, judged: Labelling, corpus: Any) -> list[str]:
        """Return what was cut, was not applicable or has too few units, one sentence each."""

    def complete(
        self, options: Any, judged: Labelling, corpus: Any, engine: Engine, progress: Progress
    ) -> tuple[Labelling, list[str]]:
        """Return the labelling with what later passes over some inputs add, and notes about them."""
        return judged, []

    def later(self, options: Any) -> str:
        """Return the phase of these later passes, one of ``headroles.progress.PHASES``; "" without any."""
        return ""

    def passes(self, options: Any) -> int:
        """Return how many times a shard reads its inputs, for the progress bar."""
        return 1

    # a stored run

    @abstractmethod
    def options(self, settings: Mapping[str, Any]) -> JudgedOptions:
        """Return the options of a run from its settings in a manifest."""

    @abstractmethod
    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: Any
    ) -> Labelling:
        """Judge the scores of a stored run again by other rules, without its model."""

    def find_again(self, run: Labelling, options: Any) -> Labelling:
        """Compute the findings of a stored run again by its own rules."""
        return self.judge_again(run, run.findings.rules, run.decision, options)

    def confirmed(self, run: Labelling) -> np.ndarray | None:
        """Return the findings that further tests of this kind let be roles; None where there are none."""
        return None

    def write(self, part: Any, scores: Scores) -> dict[str, str | bytes]:
        """Return the contents of the files of this kind's part by name."""
        return {}

    def read(self, folder: Path, scores: Scores) -> Any:
        """Read the part of this kind from a run folder.

        Raises:
            KeyError: When a column is missing.
            OSError: When a file is missing that every run of the kind has.
            ValueError: When a file is damaged, or of other examples, columns or heads.
            BadInput: When arrays do not fit together.
        """
        return None

    # showing a run

    @abstractmethod
    def page(self, labelling: Labelling) -> str:
        """Return the report: one HTML file that requests nothing."""

    @abstractmethod
    def notebook(self, labelling: Labelling) -> str:
        """Return the run as HTML for notebooks."""

    @abstractmethod
    def head_sentence(self, labelling: Labelling, layer: int, head: int) -> str:
        """Return what one head does, in one sentence."""

    @abstractmethod
    def report_path(self, labelling: Labelling) -> Path | None:
        """Return the file of the report; None where the run has none on this machine."""

    @abstractmethod
    def view(self, labelling: Labelling, text: str | None, text_b: str | None, **options: Any) -> Viewed:
        """Return the attention of the run's model over a text, with the roles of its heads."""

    @abstractmethod
    def figures(self, labelling: Labelling, width: float) -> Mapping[str, Any]:
        """Return the figures of the report by name."""

    @abstractmethod
    def tables(self, labelling: Labelling) -> Mapping[str, Callable[[], Any]]:
        """Return functions that make the tables for papers, by name; the first is the main one."""

    @abstractmethod
    def answer(self, labelling: Labelling) -> Answer:
        """Return what the run found in a few plain sentences."""

    @abstractmethod
    def show(self, console: Any, labelling: Labelling, folder: str, detail: Any) -> None:
        """Print the findings on a terminal, as ``detail`` says, and the place of the report last."""

    @abstractmethod
    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""

    def decided(self, labelling: Labelling) -> np.ndarray:
        """Return the place in ``outcomes`` of every column, layer and head, int8; −1 where none is."""
        return labelling.findings.decision

    def downloads(self, labelling: Labelling) -> dict[str, str]:
        """Return tables of this kind's part that the report embeds for readers to download."""
        return {}


@cache
def kind_named(name: str) -> RunKind:
    """Return the kind of a name.

    Raises:
        KeyError: When there is no such kind.
    """
    if name not in KINDS:
        raise KeyError(name)
    kind: RunKind = import_module(f"headroles.runs.{name}.kind").KIND
    return kind


def kinds() -> Iterator[RunKind]:
    """Yield all kinds in the order of ``KINDS``."""
    return map(kind_named, KINDS)


def kind_of(labelling: Any) -> RunKind:
    """Return the kind of a run: the one whose part it has, or else "label"."""
    parts = (kind for kind in kinds() if kind.part and getattr(labelling, kind.part) is not None)
    return next(parts, kind_named("label"))


def report_of(result: Labelling | Comparison | Replication | Atlas) -> Report:
    """Return the report of a run of any kind, or of what is made of finished runs."""
    module = REPORTS.get(type(result).__name__)
    make: Any = kind_of(result) if module is None else import_module(f"headroles.reports.kinds.{module}")
    report: Report = make.report(result)
    return report


def notebook_of(result: Comparison | Replication) -> str:
    """Return what is made of finished runs as HTML for notebooks, as ``RunKind.notebook`` does for a run."""
    report = report_of(result)
    html: str = import_module("headroles.reports.cell").notebook_html(report.answer, report.cell(), None)
    return html
