"""Ask every head questions with right answers from gold annotation: ``probe()``."""

from headroles.options.keywords import keywords_of
from headroles.options.probe import ProbeOptions
from headroles.progress import Phases, Progress
from headroles.records.findings import Labelling


@keywords_of(ProbeOptions, "probes")
def probe(options: ProbeOptions, *, progress: Progress | Phases | None = None) -> Labelling:
    """Ask every head questions with right answers: head words, trees, antecedents.

    Several probes share one pass over the data.

    Args:
        progress: Called with the inputs done and their total.
        {options}

    Returns:
        Scores (shares of right answers per window), findings against the cross-fitted baseline, and
        ``probed``: the best head of each row, baselines, gaps, trained probes.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    from headroles.runs.run import run

    return run(options, progress)
