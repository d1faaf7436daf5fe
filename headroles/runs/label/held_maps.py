"""Score the one shard of a small run, and hold the attention maps of all heads: no second pass is needed."""

from collections.abc import Mapping, Sequence
from itertools import islice

from headroles.extraction.capture.weights import WHOLE
from headroles.extraction.jobs.both import JointJob
from headroles.extraction.jobs.keep_maps import KeepMapsJob, KeptInput
from headroles.extraction.model.load import Model
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.texts.tokens import Tokenised
from headroles.inputs.corpora import Corpus
from headroles.options.label import Options
from headroles.progress import Advance, ignore_advance
from headroles.records.rules.names import SUMS
from headroles.runs.label.work import SieveWork
from headroles.shards.work import Task

MOST_HELD = 2**26
"""Most bytes of maps held, one per weight: 160 questions and answers with 72 heads take 41 MB."""


class LabelWork(SieveWork):
    """Scores shards by the sieves of a run; holds the maps of all heads where one shard holds the run.

    The second pass over the inputs of the head panel took an eighth of the time of a small run. A run that
    goes on after its shard was scored reads both again, in the same batches: its maps are the same bytes.
    """

    def __init__(self, options: Options, corpus: Corpus) -> None:
        """Load the model, and what the sieves read besides tokens."""
        super().__init__(options, corpus)
        self._corpus = corpus
        self._held: dict[str, KeptInput] | None = None

    def score(self, task: Task, tokenised: Sequence[Tokenised], advance: Advance) -> Shard:
        """Score the tokenised inputs of a shard; hold their maps where it is the only one."""
        if task.number or not (self._alone(len(tokenised)) and self._fit(tokenised)):
            return super().score(task, tokenised, advance)
        return self._hold(tokenised, self.job(task), advance)

    def held_maps(self) -> Mapping[str, KeptInput] | None:
        """Return the maps of every input of the run by its key; None where the run is too large for that.

        They are read with scores again where another process scored the shard.
        """
        if self._held is None:
            passages = tuple(islice(self._corpus, self.options.shard_size))
            if self._alone(len(passages)) and self._fit(tokenised := self.tokenise(passages)):
                self._hold(tokenised, self.sieves.sieving(self.source), ignore_advance)
        return self._held

    def _hold(self, tokenised: Sequence[Tokenised], sieving: SieveJob, advance: Advance) -> Shard:
        """Score inputs, and hold their maps."""
        heads = {layer: range(self.source.heads) for layer in range(self.source.layers)}
        job = JointJob(sieving, KeepMapsJob([heads] * len(tokenised)))
        shard, maps = self.stream(tokenised, job, advance)
        self._held = {kept.tokenised.passage.key: kept for kept in maps}
        scores: Shard = shard
        return scores

    def _alone(self, count: int) -> bool:
        """Return whether this first shard is the only one of a run that keeps maps: it is not full."""
        options = self.options
        return options.maps > 0 and options.units_per_shard is None and count < options.shard_size

    def _fit(self, tokenised: Sequence[Tokenised]) -> bool:
        """Return whether inputs are few and short enough, and a model on a CPU forms their weights.

        Short inputs of one stack are read in whole batches. Their scores are the same with maps as without.
        """
        source = self.source
        if not isinstance(source, Model) or source.device.type != "cpu" or source.way.name == SUMS:
            return False
        weights = source.layers * source.heads * sum(given.size**2 for given in tokenised)
        return weights <= MOST_HELD and all(
            given.stack is None and given.size <= WHOLE for given in tokenised
        )
