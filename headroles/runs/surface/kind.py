"""The kind of run that describes attention by kind of token, offset and entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from headroles.options.surface import SurfaceOptions
from headroles.options.values import stored_record
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.records.surface import SurfaceResults
from headroles.runs.reported import ReportedRun
from headroles.runs.surface.judging import judge_surface
from headroles.storage.folder import SURFACE_FILES
from headroles.storage.surface import read_surface, surface_texts

if TYPE_CHECKING:
    from pathlib import Path

    from headroles.inputs.corpora import Corpus
    from headroles.reports.report import Report
    from headroles.runs.scored import ScoredRun
    from headroles.shards.work import Facts, ShardWork


class SurfaceRun(ReportedRun):
    """Statistics of attention are tested against even attention, without roles."""

    name: ClassVar[str] = "surface"
    part: ClassVar[str] = "surface"
    files: ClassVar[tuple[str, ...]] = SURFACE_FILES
    outcomes: ClassVar[tuple[str, ...]] = ("above", "below", "undetermined", "untestable")
    not_recomputed: ClassVar[tuple[str, str] | None] = (
        "layers.csv, noop.csv", "they are of means over the heads of a layer"
    )  # fmt: skip
    intervals_of_scores: ClassVar[bool] = True
    absence: ClassVar[bool] = False

    def check(self, options: SurfaceOptions) -> None:
        """Refuse marks that are no punctuation, and data that cannot be read."""
        from headroles.inputs.passages import check_data
        from headroles.sieves.settings import check_marks

        check_marks(options.marks)
        check_data(options)

    def read_corpus(self, options: SurfaceOptions) -> Corpus:
        """Return the inputs: those of a task or file, or of stored maps."""
        from headroles.runs.sources import corpus_of

        return corpus_of(options, frozenset())

    def start_work(self, options: SurfaceOptions, corpus: Corpus) -> ShardWork:
        """Load the model, with its loss where gradients are computed."""
        from headroles.runs.surface.work import SurfaceWork

        return SurfaceWork(options, corpus)

    def passes(self, options: SurfaceOptions) -> int:
        """Return 2 with gradients, which need a pass of their own."""
        return 2 if options.gradients else 1

    def rules(self, options: SurfaceOptions, facts: Facts) -> tuple[Rule, ...]:
        """Return the rules of all statistics."""
        from headroles.runs.surface.work import column_rules

        return column_rules(options, facts.known.noted["longest"])

    def judge(self, options: SurfaceOptions, scored: ScoredRun, corpus: Corpus) -> Labelling:
        """Test every head against even attention, in both directions."""
        return judge_surface(scored.scores, scored.rules, options, options.decision)

    def record(
        self, options: SurfaceOptions, scored: ScoredRun, judged: Labelling, corpus: Corpus
    ) -> dict[str, Any]:
        """Return everything needed to reproduce a run."""
        from headroles.runs.surface.manifest import manifest_of

        return manifest_of(options, scored)

    def notes(
        self, options: SurfaceOptions, scored: ScoredRun, judged: Labelling, corpus: Corpus
    ) -> list[str]:
        """Return what was cut, was not applicable or has too few units, one sentence each."""
        from headroles.runs.surface.manifest import omission_notes

        return omission_notes(options, scored)

    def options(self, settings: Mapping[str, Any]) -> SurfaceOptions:
        """Return the options of a stored run."""
        return stored_record(SurfaceOptions, settings)

    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: SurfaceOptions
    ) -> Labelling:
        """Test the stored statistics again."""
        return judge_surface(before.scores, rules, options, decision)

    def write(self, part: SurfaceResults, scores: Scores) -> dict[str, str | bytes]:
        """Return the tables of layers and of attention without effect."""
        return dict(surface_texts(part))

    def read(self, folder: Path, scores: Scores) -> SurfaceResults:
        """Read the tables of layers and of attention without effect."""
        return read_surface(folder, scores)

    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""
        from headroles.reports.kinds.surface import FAMILIES

        return FAMILIES

    def report(self, labelling: Labelling) -> Report:
        """Return the report of surface statistics."""
        from headroles.reports.kinds.surface_report import report

        return report(labelling)

    def notebook(self, labelling: Labelling) -> str:
        """Return the answer, and the statistics as tables."""
        from headroles.reports.cell import notebook_html
        from headroles.reports.notebook import tables_html

        return notebook_html(self.answer(labelling), [tables_html(labelling)], self.report_path(labelling))

    def head_sentence(self, labelling: Labelling, layer: int, head: int) -> str:
        """Return where one head looks more than even attention does."""
        from headroles.reports.kinds.surface import Measured, head_sentence

        return head_sentence(Measured(labelling), layer, head)


KIND = SurfaceRun()
