"""surface(): texts and a checkpoint in, what attention falls on out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headroles import run
from headroles.extraction.model.checkpoint import find
from headroles.inputs import gather
from headroles.options.surface import surface_options_of
from headroles.records.findings import Labelling
from headroles.reports.pages import page_of
from headroles.stats.resolution import check_decision
from headroles.storage import run as store
from headroles.storage.folder import asked_for
from headroles.surface_judging import judged_surface


def surface(
    task: str | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Say of every head what its attention falls on, and test it against even attention.

    Mean attention to the first or class token, to separators (from all tokens, from separators, from
    the others), to punctuation, to the previous, the next and the same token; the entropy of all rows
    and of the first token's row; with ``gradients`` how much a loss depends on attention to each kind
    of token. Source: Clark et al. 2019, sections 3.1 to 3.3; definitions of the released code.

    Each column is tested against what even attention over the visible keys of the same inputs gives,
    in both directions: of the findings "role" reads "above even attention", "not" reads "below".
    Entropies cannot lie above it, and importances are described and not tested.

    Args:
        task: As for ``headroles.label``.
        progress: Called with the inputs done and their total; with gradients both passes count.
        **options: The options of ``headroles surface``, by the same names, checked by
            ``headroles.options.surface``: ``gradients`` (whether to take them, which needs a model with
            a loss and keeps all layers' weights alive), ``label`` (column of ``data`` with the class,
            for losses of classifiers; None: the model's own prediction), ``mask`` (share of tokens
            masked for losses of masked words), ``marks`` (characters that count as punctuation),
            ``preset`` ("published": entropies smoothed as released); and of ``headroles.label``
            ``model``, ``revision``, ``source``, ``data``, ``text_a``, ``text_b``, ``group``, ``limit``,
            ``seed``, ``alpha``, ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``,
            ``interval``, ``splits``, ``bayes``, ``device``, ``dtype``, ``batch_size``, ``max_length``,
            ``out`` and ``overwrite``.

    Returns:
        Mean attention (0 to 1), entropies (nats) and importances per input and head, findings, and
        ``surface``: means of layers, and tests of attention that does not matter.

    Raises:
        HeadrolesError: One of its kinds, in one sentence, with nothing left half-written.
    """
    chosen = surface_options_of(task=task, **options)
    check_decision(chosen.decision)
    checkpoint = find(chosen.model, chosen.revision)
    folder = asked_for(chosen.out, chosen.settings(), chosen.overwrite)
    passages, source = gather(chosen, frozenset(), checkpoint)
    with run.staged_or_none(folder) as place:
        from headroles.surface_manifest import left_out, manifest_of
        from headroles.surface_scoring import score_surface

        measured = score_surface(chosen, checkpoint, passages, place, progress or (lambda done, total: None))
        labelling = replace(
            judged_surface(measured.scores, measured.rules, chosen, chosen.decision),
            manifest=manifest_of(chosen, source, measured),
            skipped=tuple(left_out(chosen, measured)),
        )
        if place is not None:
            store.write_examples(place, labelling.scores)
            store.write_results(place, labelling, page_of(labelling))
    return labelling
