"""The kind of run that takes heads out and tests the damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from headroles.options.causal.ablate import AblateOptions
from headroles.options.values import stored_record
from headroles.records.causal.ablation import VERDICTS, Ablation
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.ablate.judging import judge_again, judge_run
from headroles.runs.reported import ReportedRun
from headroles.storage.causal.ablation import ablation_files, read_ablation
from headroles.storage.folder import ABLATION_FILES

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from headroles.inputs.corpora import Corpus
    from headroles.reports.report import Report
    from headroles.runs.scored import ScoredRun
    from headroles.shards.work import Facts, ShardWork


class AblateRun(ReportedRun):
    """Heads are taken out one by one, and the damage is tested."""

    name: ClassVar[str] = "ablate"
    part: ClassVar[str] = "ablated"
    files: ClassVar[tuple[str, ...]] = ABLATION_FILES
    outcomes: ClassVar[tuple[str, ...]] = VERDICTS
    absence: ClassVar[bool] = False
    not_recomputed: ClassVar[tuple[str, str] | None] = (
        ", ".join(ABLATION_FILES), "they hold tests of equivalence, of units of roles and of random sets"
    )  # fmt: skip

    def check(self, options: AblateOptions) -> None:
        """Refuse a folder that holds no label run, and data that cannot be read."""
        from headroles.inputs.passages import check_data
        from headroles.runs.held.labels import check_label_run

        check_label_run(options)
        check_data(options)

    def read_corpus(self, options: AblateOptions) -> Corpus:
        """Return the inputs: those of a task or file."""
        from headroles.runs.held.labels import annotation_of
        from headroles.runs.sources import corpus_of

        return corpus_of(options, annotation_of(options))

    def start_work(self, options: AblateOptions, corpus: Corpus) -> ShardWork:
        """Load the model, compute mean outputs, and lay out the arms."""
        from headroles.runs.ablate.work import AblateWork

        return AblateWork(options, corpus)

    def rules(self, options: AblateOptions, facts: Facts) -> tuple[Rule, ...]:
        """Return the rules of the columns that the workers measure."""
        from headroles.runs.ablate.columns import column_rules

        return column_rules(facts.columns)

    def judge(self, options: AblateOptions, scored: ScoredRun, corpus: Corpus) -> Labelling:
        """Test every head in all three directions, and the roles of the label run."""
        return judge_run(options, scored)

    def record(
        self, options: AblateOptions, scored: ScoredRun, judged: Labelling, corpus: Corpus
    ) -> dict[str, Any]:
        """Return everything needed to reproduce a run."""
        from headroles.runs.ablate.manifest import manifest_of

        return manifest_of(options, scored)

    def notes(
        self, options: AblateOptions, scored: ScoredRun, judged: Labelling, corpus: Corpus
    ) -> list[str]:
        """Return what was cut, was not applicable or has too few units, one sentence each."""
        from headroles.runs.ablate.manifest import omission_notes

        return omission_notes(options, scored, judged)

    def options(self, settings: Mapping[str, Any]) -> AblateOptions:
        """Return the options of a stored run."""
        return stored_record(AblateOptions, settings)

    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: AblateOptions
    ) -> Labelling:
        """Test the stored damages again, with the roles that were stored."""
        return judge_again(before, decision, options)

    def confirmed(self, run: Labelling) -> np.ndarray | None:
        """Return the heads that are needed, and all others of columns that are no arm."""
        from headroles.stats.causal.damage import needed_heads

        assert run.ablated is not None
        return needed_heads(run.findings, run.ablated.damage)

    def write(self, part: Ablation, scores: Scores) -> dict[str, str | bytes]:
        """Return the tables of verdicts and tests."""
        return ablation_files(part)

    def read(self, folder: Path, scores: Scores) -> Ablation:
        """Read the tables of verdicts and tests."""
        return read_ablation(folder, scores)

    def decided(self, labelling: Labelling) -> np.ndarray:
        """Return the verdicts of arms; findings say only whether heads are needed."""
        ablated, findings = labelling.ablated, labelling.findings
        assert ablated is not None, "a run of this kind has them"
        decided = findings.decision.copy()
        for arm, verdict in zip(ablated.damage.arms, ablated.damage.verdict, strict=True):
            decided[findings.of(arm)] = verdict
        return decided

    def downloads(self, labelling: Labelling) -> dict[str, str]:
        """Return all tables of verdicts and tests."""
        files = ablation_files(labelling.ablated) if labelling.ablated is not None else {}
        return {name: text for name, text in files.items() if isinstance(text, str)}

    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""
        from headroles.reports.kinds.ablate import FAMILIES

        return FAMILIES

    def report(self, labelling: Labelling) -> Report:
        """Return the report of damage."""
        from headroles.reports.kinds.ablate_report import report

        return report(labelling)

    def head_sentence(self, labelling: Labelling, layer: int, head: int) -> str:
        """Return what taking one head out does."""
        from headroles.reports.kinds.ablate import Measured, head_sentence

        return head_sentence(Measured(labelling), layer, head)


KIND = AblateRun()
