"""The kind of run that asks every head questions with right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from headroles.judging.scores import judge_scores
from headroles.options.probe import ProbeOptions
from headroles.options.values import stored_record
from headroles.progress import KEEP, TRAIN
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.probes import ProbeResults
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.notebook import NotebookRun
from headroles.runs.reported import ReportedRun
from headroles.storage.folder import PROBE_FILES
from headroles.storage.probes import probe_files, probe_texts, read_probes

if TYPE_CHECKING:
    from pathlib import Path

    from headroles.progress import Progress
    from headroles.reports.report import Report
    from headroles.runs.probe.inputs import ProbeCorpus
    from headroles.runs.scored import ScoredRun
    from headroles.shards.work import Engine, Facts, ShardWork


class ProbeRun(ReportedRun):
    """Heads answer questions about gold annotation, and are tested against baselines."""

    name: ClassVar[str] = "probe"
    part: ClassVar[str] = "probed"
    files: ClassVar[tuple[str, ...]] = PROBE_FILES
    not_recomputed: ClassVar[tuple[str, str] | None] = (
        "best.csv, baselines.csv, conditions.csv", "they rest on halves of the units and on baselines"
    )  # fmt: skip
    outcomes: ClassVar[tuple[str, ...]] = ("role", "not", "undetermined", "untestable")
    baselines: ClassVar[bool] = True

    def check(self, options: ProbeOptions) -> None:
        """Refuse a layout of gold annotation that does not exist."""
        from headroles.extraction.gold.read import check_layout

        if options.layout is not None:
            check_layout(options.layout)

    def read_corpus(self, options: ProbeOptions) -> ProbeCorpus:
        """Return the windows of the gold documents, with the probes that fit them."""
        from headroles.runs.probe.inputs import read_probe_corpus

        return read_probe_corpus(options)

    def start_work(self, options: ProbeOptions, corpus: ProbeCorpus) -> ShardWork:
        """Load the model."""
        from headroles.runs.probe.work import ProbeWork

        return ProbeWork(options, corpus)

    def rules(self, options: ProbeOptions, facts: Facts) -> tuple[Rule, ...]:
        """Return the rules of all columns; their chance values are known when all shards are done."""
        from headroles.runs.probe.judging import column_rules, margin_of

        return tuple(column_rules(facts.columns, margin_of(options)))

    def judge(self, options: ProbeOptions, scored: ScoredRun, corpus: ProbeCorpus) -> Labelling:
        """Test every head against the baseline that is best on the other half."""
        from headroles.runs.probe.judging import conditions_of, judge_probes, judge_settings, margin_of
        from headroles.runs.probe.work import COUNTS, join_counts

        counts = join_counts(list(scored.shard_files(COUNTS)), corpus)
        windows = corpus.inputs.windows
        conditions = conditions_of([windows[key].document for key in scored.scores.examples])
        return judge_probes(scored.scores, counts, judge_settings(options), margin_of(options), conditions)

    def complete(
        self,
        options: ProbeOptions,
        judged: Labelling,
        corpus: ProbeCorpus,
        engine: Engine,
        progress: Progress,
    ) -> tuple[Labelling, list[str]]:
        """Keep the attention maps that the head panel shows, and train the classifiers that are named."""
        from headroles.runs.card_maps import keep_card_maps

        maps, notes = keep_card_maps(judged, options.maps, corpus, engine.keep)
        kept = replace(judged, exhibited=maps)
        if not options.classifier:
            return kept, notes
        from headroles.runs.probe.classifiers import add_trained_probes

        trained, more = add_trained_probes(options, kept, corpus, engine.source, progress)
        return trained, [*notes, *more]

    def later(self, options: ProbeOptions) -> str:
        """Return the phase that trains, or else that keeps maps, unless neither is done."""
        return TRAIN if options.classifier else KEEP if options.maps else ""

    def record(
        self, options: ProbeOptions, scored: ScoredRun, judged: Labelling, corpus: ProbeCorpus
    ) -> dict[str, Any]:
        """Return everything needed to reproduce a run."""
        from headroles.runs.probe.manifest import manifest_of

        return manifest_of(options, scored, corpus.inputs, judged)

    def notes(
        self, options: ProbeOptions, scored: ScoredRun, judged: Labelling, corpus: ProbeCorpus
    ) -> list[str]:
        """Return what was cut or could not be asked, one sentence each."""
        from headroles.runs.probe.manifest import omission_notes

        return [*corpus.notes, *omission_notes(judged, corpus.inputs)]

    def options(self, settings: Mapping[str, Any]) -> ProbeOptions:
        """Return the options of a stored run; folders from before maps were stored have none."""
        return stored_record(ProbeOptions, settings, probes="dependency", maps=0)

    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: ProbeOptions
    ) -> Labelling:
        """Test the stored answers again; halves, chance values and trained probes stay.

        Folders of early versions lack the answers of baselines: there only the findings are made again.
        """
        from headroles.runs.probe.judging import judge_probes_again

        if before.probed is not None and before.probed.tallies is not None:
            return judge_probes_again(before, rules, decision, options)
        return replace(judge_scores(before.scores, rules, options, decision), probed=before.probed)

    def write(self, part: ProbeResults, scores: Scores) -> dict[str, str | bytes]:
        """Return the tables of probes, and right answers of baselines by example."""
        return probe_files(part, scores.examples)

    def read(self, folder: Path, scores: Scores) -> ProbeResults:
        """Read the tables of probes, and right answers of baselines."""
        return read_probes(folder, scores.examples) or ProbeResults(None)

    def downloads(self, labelling: Labelling) -> dict[str, str]:
        """Return all tables of probes."""
        return probe_texts(labelling.probed or ProbeResults(None))

    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""
        from headroles.reports.papers import families_of

        return families_of(labelling)

    def report(self, labelling: Labelling) -> Report:
        """Return the report of probes."""
        from headroles.reports.kinds.probes_report import report

        return report(labelling)

    notebook = NotebookRun.notebook


KIND = ProbeRun()
