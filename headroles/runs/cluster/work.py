"""Score shards by sieves, and sum the divergences between heads of the same attention in one pass."""

import numpy as np

from headroles.extraction.jobs.both import JointJob
from headroles.extraction.jobs.divergence import BlockLayout, DivergenceJob, DivergenceSums, max_batch_size
from headroles.inputs.corpora import Corpus
from headroles.options.cluster import ClusterOptions
from headroles.progress import Advance
from headroles.runs.label.work import SieveWork
from headroles.runs.sources import longest_input
from headroles.shards.work import ShardResult, Task
from headroles.shards.worker import result_of

SUMS = "npz"
"""Ending of a shard's file of sums."""


class ClusterWork(SieveWork):
    """Scores shards, and sums the divergences between heads over their inputs."""

    def __init__(self, options: ClusterOptions, corpus: Corpus) -> None:
        """Load model, sieves and annotation."""
        super().__init__(options, corpus)
        self.clustering = options.clustering
        source = self.source
        longest = longest_input(source, options.max_length)
        self.batch_size = max_batch_size(source.layers, source.heads, longest, options.batch_size)

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Score the inputs of a shard, and sum their divergences by block of units."""
        source, how = self.source, self.clustering
        layout = BlockLayout.of(task.units_of_run, source.layers, source.heads)
        sums = DivergenceSums(
            layout.block(np.array(task.places)),
            np.array(task.members),
            source.layers,
            source.heads,
            smoothing=how.smoothing,
            way=how.way,
        )
        job = JointJob(self.job(task), DivergenceJob(source, sums))
        shard, content = self.stream(self.tokenise(task.passages), job, advance)
        return result_of(shard, task, self.rules, files={SUMS: content}, counts=shard.counts)
