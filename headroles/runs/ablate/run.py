"""Take heads out of a model and test the damage: ``ablate()``."""

from headroles.options.causal.ablate import AblateOptions
from headroles.options.keywords import keywords_of
from headroles.progress import Phases, Progress
from headroles.records.findings import Labelling


@keywords_of(AblateOptions, "task")
def ablate(options: AblateOptions, *, progress: Progress | Phases | None = None) -> Labelling:
    """Test for every head whether the model needs it, by taking it out.

    With ``roles``, the folder of a label run, the run also tests whether a role says where a head matters,
    and which heads matter. It then has the inputs of that run, unless others are given.

    Args:
        progress: Called with the inputs done and their total.
        {options}

    Returns:
        Damage per input and head, findings ("role" means "needed"), and ``ablated``: the verdicts
        "needed", "negligible" and "interfering", and the tests of roles.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    from headroles.runs.run import run

    return run(options, progress)
