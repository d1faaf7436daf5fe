"""The kind of run that labels heads, and clusters them by the divergences between their attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from headroles.judging.scores import judge_scores
from headroles.options.cluster import ClusterOptions
from headroles.options.values import stored_record
from headroles.records.clusters import ClusterResults
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.label.kind import LabelRun
from headroles.storage.clusters import cluster_files, read_clusters
from headroles.storage.folder import CLUSTER_FILES

if TYPE_CHECKING:
    from pathlib import Path

    from headroles.inputs.corpora import Corpus
    from headroles.reports.report import Report
    from headroles.runs.scored import ScoredRun
    from headroles.shards.work import Facts, ShardWork


class ClusterRun(LabelRun):
    """A run of sieves that also clusters heads by the divergences between their attention."""

    name: ClassVar[str] = "cluster"
    part: ClassVar[str] = "clustered"
    files: ClassVar[tuple[str, ...]] = CLUSTER_FILES
    not_recomputed: ClassVar[tuple[str, str] | None] = (
        "claims.csv, clusters.csv", "they resample units and permute heads"
    )  # fmt: skip

    def start_work(self, options: Any, corpus: Corpus) -> ShardWork:
        """Load model, sieves and annotation."""
        from headroles.runs.cluster.work import ClusterWork

        return ClusterWork(options, corpus)

    def rules(self, options: Any, facts: Facts) -> tuple[Rule, ...]:
        """Return the rules of the columns, after checking that there are heads enough for the clusters."""
        from headroles.stats.clusters.clusters import candidate_numbers

        how = options.clustering
        candidate_numbers(facts.layers * facts.heads, how.method, how.clusters)
        return super().rules(options, facts)

    def judge(self, options: Any, scored: ScoredRun, corpus: Corpus) -> Labelling:
        """Judge the scores, and cluster the heads by the divergences of all shards."""
        from headroles.extraction.jobs.divergence import BlockLayout, merge_divergences
        from headroles.runs.cluster.judging import add_clusters
        from headroles.runs.cluster.work import SUMS

        how, facts = options.clustering, scored.facts
        layout = BlockLayout.of(len(set(scored.scores.units)), facts.layers, facts.heads)
        divergence = merge_divergences(
            scored.shard_files(SUMS), layout, facts.layers, facts.heads, smoothing=how.smoothing, way=how.way
        )
        return add_clusters(super().judge(options, scored, corpus), divergence, how)

    def options(self, settings: Mapping[str, Any]) -> ClusterOptions:
        """Return the options of a stored run; folders from before maps were stored have none."""
        return stored_record(ClusterOptions, settings, maps=0)

    def judge_again(
        self, before: Labelling, rules: Sequence[Rule], decision: Decision, options: Any
    ) -> Labelling:
        """Judge the stored scores; heads are clustered again only for another seed."""
        from headroles.runs.cluster.judging import add_clusters, update_role_claims

        after = super().judge_again(before, rules, decision, options)
        clustered = before.clustered
        assert clustered is not None
        if decision.seed != before.decision.seed:
            return add_clusters(after, clustered.divergence, options.clustering)
        return update_role_claims(after, clustered, options.clustering)

    def find_again(self, run: Labelling, options: Any) -> Labelling:
        """Compute the findings again; the clusters stay."""
        after = judge_scores(run.scores, run.findings.rules, options, run.decision, run.moments)
        return replace(after, clustered=run.clustered)

    def write(self, part: ClusterResults, scores: Scores) -> dict[str, str | bytes]:
        """Return the files of divergences and clusters."""
        return cluster_files(part)

    def read(self, folder: Path, scores: Scores) -> ClusterResults:
        """Read divergences and clusters."""
        return read_clusters(folder, scores)

    def report(self, labelling: Labelling) -> Report:
        """Return the report of clusters."""
        from headroles.reports.kinds.clusters_report import report

        return report(labelling)


KIND = ClusterRun()
