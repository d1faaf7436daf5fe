"""Label heads with their roles: ``label()``."""

from headroles.errors import BadInput
from headroles.options.keywords import keywords_of
from headroles.options.label import LabelOptions
from headroles.progress import Phases, Progress, phases_of
from headroles.records.findings import Labelling
from headroles.records.stops.look import Watch


@keywords_of(LabelOptions, "task")
def label(
    options: LabelOptions, *, progress: Progress | Phases | None = None, watch: Watch | None = None
) -> Labelling:
    """Label the heads of a model with the roles that survive their tests.

    Args:
        progress: Called with the inputs done and their total; inputs that are run again for head cards
            are not counted twice.
        watch: Called with a ``Look`` after every few units of a run with ``until``: which heads are decided.
        {options}

    Returns:
        Scores, findings and everything needed to reproduce them.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence. No file is left half-written. Before the
            first shard is done, nothing is left; later, finished shards stay, and the same call goes on.
    """
    from headroles.runs.run import run

    if watch is None:
        return run(options, progress)
    if options.until is None:
        raise BadInput(
            "only a run that may stop has looks to watch; give until='decided', or leave watch out"
        )
    phases = phases_of(progress)
    phases.on_look = watch
    return run(options, phases)
