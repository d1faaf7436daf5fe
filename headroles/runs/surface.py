"""Describe which tokens attention goes to: ``surface()``, the record of its run, and its notes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.inputs.passages import read_inputs
from headroles.judging.surface import judge_surface
from headroles.options.surface import SurfaceOptions, surface_options_of
from headroles.progress import ignore_progress
from headroles.records.arrays import shared_keys_note
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.runs.manifest import column_notes, common_record, counts_of, truncation_notes
from headroles.runs.surface_pass import SurfaceScores
from headroles.sieves.surface import MASSES
from headroles.stats.resolution import check_decision
from headroles.storage.folder import output_folder, stage_if_named
from headroles.storage.run import write_examples, write_results

WARNING = (
    "The preset 'published' smooths every row by 0.0001 of even attention before it takes entropies, as the "
    "code released with Clark et al. (2019) does. That code tests nothing and shows no interval; tests and "
    "intervals here are those of headroles. Its masses are the same under any preset."
)

FEW = "no head is called below even attention, because rare attention then looks absent too often"


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
            ``model``, ``revision``, ``source``, ``data``, ``text_a``, ``text_b``, ``group``, ``limit``,
            ``seed``, ``alpha``, ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``,
            ``interval``, ``splits``, ``bayes``, ``device``, ``dtype``, ``batch_size``, ``max_length``,
            ``out`` and ``overwrite``.

    Returns:
        Mean attention (0 to 1), entropies (nats) and importances per input and head, findings, and
        ``surface``: means of layers, and tests of attention that does not matter.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    chosen = surface_options_of(task=task, **options)
    check_decision(chosen.decision)
    checkpoint = find_checkpoint(chosen.model, chosen.revision)
    folder = output_folder(chosen.out, chosen.settings(), chosen.overwrite)
    passages, source = read_inputs(chosen, frozenset(), checkpoint)
    with stage_if_named(folder) as place:
        from headroles.runs.surface_pass import score_surface

        measured = score_surface(chosen, checkpoint, passages, place, progress or ignore_progress)
        labelling = replace(
            judge_surface(measured.scores, measured.rules, chosen, chosen.decision),
            manifest=manifest_of(chosen, source, measured),
            skipped=tuple(omission_notes(chosen, measured)),
        )
        if place is not None:
            write_examples(place, labelling.scores)
            write_results(place, labelling, page_of(labelling))
    return labelling


def manifest_of(options: SurfaceOptions, source: dict[str, Any], measured: SurfaceScores) -> dict[str, Any]:
    """Return everything needed to reproduce a run of surface statistics, in JSON types."""
    counts = counts_of(measured.scores) | {"truncated": measured.truncated}
    return common_record(options, source, measured.model, options.max_length, counts) | {
        "task": options.task,
        "parser": None,
        "statistic": "surface",
        "surface": {
            "marks": options.marks,
            "smoothing": options.smoothing,
            "loss": measured.loss,
        },
        "notes": [*_notes(options, measured), *shared_keys_note(measured.model)],
    }


def _notes(options: SurfaceOptions, measured: SurfaceScores) -> list[str]:
    notes = [WARNING] if options.preset == "published" else []
    if measured.unequal:
        notes.append(
            f"In {measured.unequal} of {len(measured.scores.examples)} inputs the layers of this model see "
            f"different keys, and even attention is that of the mean layer, so that tests of heads are "
            f"off by how far theirs is apart; a --max-length within the model's window avoids it."
        )
    return notes


def omission_notes(options: SurfaceOptions, measured: SurfaceScores) -> list[str]:
    """Return what was cut, was not applicable or has too few units, one sentence each."""
    notes = truncation_notes(measured.truncated, len(measured.scores.examples), options.max_length)
    for position, rule in enumerate(measured.rules):
        notes += column_notes(
            rule.sieve,
            measured.scores,
            position,
            nothing=_reason_for_no_values(rule.sieve),
            few=FEW if rule.sieve.startswith("surface:") else "",
        )
    return notes


def _reason_for_no_values(column: str) -> str:
    """Return why a column has no value for any input."""
    if column in ("surface:next", "surface:entropy-first"):
        return "queries see no later key, so that nothing is left to choose"
    return "no input has what it counts" if column in MASSES else "no input has such a token"
