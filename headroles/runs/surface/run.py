"""Describe which tokens attention goes to: ``surface()``."""

from collections.abc import Callable
from typing import Any

from headroles.options.surface import surface_options_of
from headroles.records.findings import Labelling
from headroles.runs.run import run


def surface(
    task: str | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Describe for every head which tokens it attends to, and test this against even attention.

    Mean attention to the first or class token, to separators (from all tokens, from separators, from
    the others), to punctuation, to the previous, the next and the same token; the entropy of all rows
    and of the first token's row; with ``gradients`` how much a loss depends on attention to each kind
    of token. Source: Clark et al. 2019, sections 3.1 to 3.3; definitions of the released code.

    Each column is tested in both directions against even attention over the visible keys of the same
    inputs. In the findings, "role" means "above even attention" and "not" means "below" it.
    Entropies cannot lie above even attention. Importances are described and not tested.

    Args:
        task: As for ``headroles.label``.
        progress: Called with the inputs done and their total; with gradients both passes count.
        **options: The options of ``headroles surface``, by the same names, checked by
            ``headroles.options.surface``: ``gradients`` (whether to compute them, which needs a model
            with a loss and keeps all layers' weights in memory), ``label`` (column of ``data`` with the
            class, for losses of classifiers; None: the model's own prediction), ``mask`` (share of tokens
            masked for losses of masked words), ``marks`` (characters that count as punctuation),
            ``preset`` ("published": entropies smoothed as released); and of ``headroles.label``
            ``model``, ``tokenizer``, ``revision``, ``source``, ``data``, ``text_a``, ``text_b``,
            ``group``, ``limit``,
            ``seed``, ``alpha``, ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``,
            ``interval``, ``splits``, ``bayes``, ``device``, ``dtype``, ``batch_size``, ``max_length``,
            ``attention``, ``shard_size``, ``workers``, ``threads``, ``engine``, ``address``, ``gpus``,
            ``out`` and ``overwrite``.

    Returns:
        Mean attention (0 to 1), entropies (nats) and importances per input and head, findings, and
        ``surface``: means of layers, and tests of attention that does not matter.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    return run(surface_options_of(task=task, **options), progress)
