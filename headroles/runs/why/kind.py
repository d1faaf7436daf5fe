"""The kind of run that asks what makes heads attend where they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from headroles.options.causal.why import WhyOptions
from headroles.options.values import stored_record
from headroles.progress import KNOCK
from headroles.records.causal.origins import BY_QUERY, UNDETERMINED, UNTESTABLE, VERTICAL, Origins
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.reported import ReportedRun
from headroles.runs.why.judging import decided_by, judge_again, judge_columns, judge_run
from headroles.storage.causal.origins import origin_files, origin_texts, read_origins
from headroles.storage.folder import ORIGIN_FILES

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from headroles.inputs.corpora import Corpus
    from headroles.progress import Progress
    from headroles.reports.report import Report
    from headroles.runs.scored import ScoredRun
    from headroles.shards.work import Engine, Facts, ShardWork


class WhyRun(ReportedRun):
    """Runs that decompose contrasts of roles into queries, keys and their dimensions."""

    name: ClassVar[str] = "why"
    part: ClassVar[str] = "origins"
    files: ClassVar[tuple[str, ...]] = ORIGIN_FILES
    outcomes: ClassVar[tuple[str, ...]] = (VERTICAL, BY_QUERY, UNDETERMINED, UNTESTABLE)
    absence: ClassVar[bool] = False
    not_recomputed: ClassVar[tuple[str, str] | None] = (
        ", ".join(ORIGIN_FILES), "they hold tests of parts, of rotations and of scores after removals"
    )  # fmt: skip

    def check(self, options: WhyOptions) -> None:
        """Refuse a folder that holds no usable label run, and data that cannot be read."""
        from headroles.inputs.passages import check_data
        from headroles.runs.held.labels import check_label_run
        from headroles.runs.why.groups import check_kept

        check_label_run(options)
        check_kept(options)
        check_data(options)

    def read_corpus(self, options: WhyOptions) -> Corpus:
        """Return the inputs: those of the label run, or of a task or file."""
        from headroles.runs.held.labels import annotation_of
        from headroles.runs.sources import corpus_of

        return corpus_of(options, annotation_of(options))

    def start_work(self, options: WhyOptions, corpus: Corpus) -> ShardWork:
        """Read the roles, load the model, and compute mean queries."""
        from headroles.runs.why.work import WhyWork

        return WhyWork(options, corpus)

    def rules(self, options: WhyOptions, facts: Facts) -> tuple[Rule, ...]:
        """Return the rules of the columns that the workers measure."""
        from headroles.runs.why.columns import column_rules

        return column_rules(facts.columns)

    def judge(self, options: WhyOptions, scored: ScoredRun, corpus: Corpus) -> Labelling:
        """Test the parts of all contrasts."""
        return judge_run(options, scored)

    def complete(
        self, options: WhyOptions, judged: Labelling, corpus: Corpus, engine: Engine, progress: Progress
    ) -> tuple[Labelling, list[str]]:
        """Remove found directions from queries, and score heads again on units that measured nothing else."""
        from headroles.runs.why.knock import knock_out

        return knock_out(options, judged, corpus, engine, progress)

    def later(self, options: WhyOptions) -> str:
        """Return the phase that scores again after removals."""
        return KNOCK

    def record(
        self, options: WhyOptions, scored: ScoredRun, judged: Labelling, corpus: Corpus
    ) -> dict[str, Any]:
        """Return everything needed to reproduce a run."""
        from headroles.runs.why.manifest import manifest_of

        return manifest_of(options, scored)

    def notes(self, options: WhyOptions, scored: ScoredRun, judged: Labelling, corpus: Corpus) -> list[str]:
        """Return what was cut, was not applicable or has too few units, one sentence each."""
        from headroles.runs.why.manifest import omission_notes

        return omission_notes(options, scored, judged)

    def options(self, settings: Mapping[str, Any]) -> WhyOptions:
        """Return the options of a stored run."""
        return stored_record(WhyOptions, settings)

    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: WhyOptions
    ) -> Labelling:
        """Test the stored products again, and the stored scores after removals."""
        return judge_again(before, rules, decision, options)

    def find_again(self, run: Labelling, options: WhyOptions) -> Labelling:
        """Compute the findings again; the tests of parts stay."""
        after = judge_columns(run.scores, run.findings.rules, run.decision, options)
        return replace(after, origins=run.origins)

    def write(self, part: Origins, scores: Scores) -> dict[str, str | bytes]:
        """Return the tables of tests, and the products."""
        return origin_files(part)

    def read(self, folder: Path, scores: Scores) -> Origins:
        """Read the tables of tests, and the products."""
        return read_origins(folder, scores)

    def decided(self, labelling: Labelling) -> np.ndarray:
        """Return the verdicts of all families; findings test the columns alone."""
        return decided_by(labelling, self.outcomes)

    def downloads(self, labelling: Labelling) -> dict[str, str]:
        """Return all tables of tests."""
        return {} if labelling.origins is None else origin_texts(labelling.origins)

    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""
        from headroles.reports.kinds.why import FAMILIES

        return FAMILIES

    def report(self, labelling: Labelling) -> Report:
        """Return the report of origins."""
        from headroles.reports.kinds.why_report import report

        return report(labelling)

    def head_sentence(self, labelling: Labelling, layer: int, head: int) -> str:
        """Return what makes one head attend."""
        from headroles.reports.kinds.why import Asked, head_sentence

        return head_sentence(Asked(labelling), layer, head)


KIND = WhyRun()
