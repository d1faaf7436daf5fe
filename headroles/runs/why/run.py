"""Ask what makes heads attend where they do: ``why()``."""

from headroles.options.causal.why import WhyOptions
from headroles.options.keywords import keywords_of
from headroles.progress import Phases, Progress
from headroles.records.findings import Labelling


@keywords_of(WhyOptions, "folder")
def why(options: WhyOptions, *, progress: Progress | Phases | None = None) -> Labelling:
    """Test what in queries and keys makes heads hold the roles of a label run.

    The run has the inputs and the model of that run, unless others are given. Some units decide
    the roles, others give products of queries and keys, and the rest give scores after removals.

    Args:
        progress: Called with the inputs done and their total.
        {options}

    Returns:
        Contrasts per input and head, findings ("role" means "vertical"), and ``origins``: the part that all
        queries share, the dimensions, the directions, and the scores after their removal.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    from headroles.runs.run import run

    return run(options, progress)
