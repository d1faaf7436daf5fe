"""Label heads with their roles: ``label()``."""

from headroles.options.keywords import keywords_of
from headroles.options.label import LabelOptions
from headroles.progress import Phases, Progress
from headroles.records.findings import Labelling


@keywords_of(LabelOptions, "task")
def label(options: LabelOptions, *, progress: Progress | Phases | None = None) -> Labelling:
    """Label the heads of a model with the roles that survive their tests.

    Args:
        progress: Called with the inputs done and their total; inputs that are run again for head cards
            are not counted twice.
        {options}

    Returns:
        Scores, findings and everything needed to reproduce them.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence. No file is left half-written. Before the
            first shard is done, nothing is left; later, finished shards stay, and the same call goes on.
    """
    from headroles.runs.run import run

    return run(options, progress)
