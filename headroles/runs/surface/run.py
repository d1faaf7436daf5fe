"""Describe which tokens attention goes to: ``surface()``."""

from headroles.options.keywords import keywords_of
from headroles.options.surface import SurfaceOptions
from headroles.progress import Phases, Progress
from headroles.records.findings import Labelling


@keywords_of(SurfaceOptions, "task")
def surface(options: SurfaceOptions, *, progress: Progress | Phases | None = None) -> Labelling:
    """Describe for every head which tokens it attends to, and test this against even attention.

    Mean attention to the first or class token, to separators (from all tokens, from separators, from
    the others), to punctuation, to the previous, the next and the same token; the entropy of all rows
    and of the first token's row; with ``gradients`` how much a loss depends on attention to each kind
    of token. Source: Clark et al. 2019, sections 3.1 to 3.3; definitions of the released code.

    Each column is tested in both directions against even attention over the visible keys of the same
    inputs. In the findings, "role" means "above even attention" and "not" means "below" it.
    Entropies cannot lie above even attention. Importances are described and not tested.

    Args:
        progress: Called with the inputs done and their total; with gradients both passes count.
        {options}

    Returns:
        Mean attention (0 to 1), entropies (nats) and importances per input and head, findings, and
        ``surface``: means of layers, and tests of attention that does not matter.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    from headroles.runs.run import run

    return run(options, progress)
