"""The kind of run that labels heads by sieves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from headroles.judging.scores import judge_scores
from headroles.options.finished import ScoresOptions
from headroles.options.label import LabelOptions, Options
from headroles.options.values import stored_record
from headroles.progress import KEEP
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.reported import ReportedRun

if TYPE_CHECKING:
    from headroles.inputs.corpora import Corpus
    from headroles.options.run import JudgedOptions
    from headroles.progress import Progress
    from headroles.records.findings import Labelling
    from headroles.records.stops.look import Watch
    from headroles.reports.report import Report
    from headroles.runs.scored import ScoredRun
    from headroles.shards.receipts import Receipts
    from headroles.shards.survey import Survey
    from headroles.shards.work import Engine, Facts, ShardWork
    from headroles.storage.places import Place


class LabelRun(ReportedRun):
    """Sieves score every head on every input, and heads get the roles that survive their tests."""

    name: ClassVar[str] = "label"

    def check(self, options: Options) -> None:
        """Refuse sieves and relations that do not exist."""
        from headroles.runs.label.sieves import check_sieves, check_until

        check_until(options)
        check_sieves(options)

    def read_corpus(self, options: Options) -> Corpus:
        """Return the inputs: those of a task or file, or of stored maps."""
        from headroles.runs.label.sieves import check_data_relations, selection_of_run
        from headroles.runs.sources import corpus_of

        corpus = corpus_of(options, selection_of_run(options).needs)
        with ExitStack() as stack:
            stack.callback(corpus.close)
            check_data_relations(options, corpus)
            stack.pop_all()
        return corpus

    def in_order(self, options: Options, corpus: Corpus) -> Corpus:
        """Return the inputs in the order in which shards hold them: units at random where a run may stop."""
        if options.units_per_shard is None:
            return corpus
        from headroles.inputs.order import ShuffledUnits

        return ShuffledUnits(corpus, options.seed, options.most_kept)

    def tally(
        self,
        options: Options,
        rules: tuple[Rule, ...],
        facts: Facts,
        survey: Survey,
        place: Place,
        watch: Watch,
    ) -> Receipts | None:
        """Return an empty count of the finished shards of a run that may stop, with a look after each."""
        if not isinstance(options, LabelOptions) or options.until is None:
            return None
        from headroles.runs.label.until import Looks
        from headroles.shards.prefix import PrefixReceipts

        return PrefixReceipts(Looks(options, rules, self.settle, facts, survey, place, watch))

    def start_work(self, options: Options, corpus: Corpus) -> ShardWork:
        """Load model, sieves and annotation."""
        from headroles.runs.label.held_maps import LabelWork

        return LabelWork(options, corpus)

    def rules(self, options: Options, facts: Facts) -> tuple[Rule, ...]:
        """Return the rules of the columns that the workers score; workers may leave sieves out."""
        from headroles.runs.label.sieves import selection_of_run

        rules = {rule.sieve: rule for rule in selection_of_run(options).rules(options.margin)}
        return tuple(rules[name] for name in facts.columns)

    def settle(self, rules: tuple[Rule, ...], counts: Mapping[str, int]) -> tuple[Rule, ...]:
        """Return the rules, with contrasts beyond distance where too few inputs have a partner."""
        from headroles.sieves.selection import FEWEST_PAIRS, decide_by_distance

        return rules if counts.get("pairs", 0) >= FEWEST_PAIRS else decide_by_distance(rules)

    def judge(self, options: Options, scored: ScoredRun, corpus: Corpus) -> Labelling:
        """Judge the scores, or the sums over all examples where a subsample is stored."""
        return judge_scores(scored.scores, scored.rules, options, options.decision, scored.moments)

    def complete(
        self, options: Options, judged: Labelling, corpus: Corpus, engine: Engine, progress: Progress
    ) -> tuple[Labelling, list[str]]:
        """Keep the attention maps that the head panel shows, held since scoring or read again."""
        from headroles.runs.card_maps import keep_card_maps

        maps, notes = keep_card_maps(judged, options.maps, corpus, engine.keep)
        return replace(judged, exhibited=maps), notes

    def later(self, options: Options) -> str:
        """Return the phase that keeps maps, unless none are kept."""
        return KEEP if options.maps else ""

    def record(
        self, options: Options, scored: ScoredRun, judged: Labelling, corpus: Corpus
    ) -> dict[str, Any]:
        """Return everything needed to reproduce a run."""
        from headroles.runs.manifest import manifest_of

        return manifest_of(options, scored)

    def notes(self, options: Options, scored: ScoredRun, judged: Labelling, corpus: Corpus) -> list[str]:
        """Return what was cut, was not applicable or has too few units, one sentence each."""
        from headroles.runs.manifest import omission_notes

        return omission_notes(options, scored)

    def options(self, settings: Mapping[str, Any]) -> Options | ScoresOptions:
        """Return the options of a stored run, also of one that judged a table of scores.

        Folders from before maps were stored have none.
        """
        if "scores" in settings:
            return stored_record(ScoresOptions, settings)
        return stored_record(LabelOptions, settings, maps=0)

    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: JudgedOptions
    ) -> Labelling:
        """Judge the stored scores, or the stored sums."""
        after = judge_scores(before.scores, rules, options, decision, before.moments)
        return replace(after, exhibited=before.exhibited)

    def families(self, labelling: Labelling) -> Mapping[str, str]:
        """Return the tests that a run corrects together, in words, by the name of the family."""
        from headroles.reports.papers import families_of

        return families_of(labelling)

    def report(self, labelling: Labelling) -> Report:
        """Return the report of roles."""
        from headroles.reports.kinds.label_report import report

        return report(labelling)


KIND = LabelRun()
