"""Ask every head questions with right answers from gold annotation: ``probe()``."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroles.extraction.model.checkpoint import EMBEDDED, find_checkpoint
from headroles.judging.probes import MARGIN, JudgeSettings, conditions_of, judge_probes
from headroles.options.probe import WINDOW, ProbeOptions, probe_options_of
from headroles.progress import ignore_progress
from headroles.records.documents import Document
from headroles.records.findings import Labelling
from headroles.reports.page import page
from headroles.stats.resolution import check_decision
from headroles.storage.folder import output_folder, stage_folder
from headroles.storage.run import write_examples, write_results

if TYPE_CHECKING:
    from headroles.extraction.model.load import Model


def probe(
    probes: str | Iterable[str],
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Ask every head questions with right answers: head words, trees, antecedents.

    Args:
        probes: "dependency", "trees", "coreference", or several, which share one forward pass.
        progress: Called with the inputs done and their total.
        **options: The options of ``headroles probe``, by the same names, checked by
            ``headroles.options.probe``: ``data`` (a file or several), ``layout`` (None: detected from
            the file), ``relations`` (None: all with enough arcs), ``scheme`` ("ud" or "clearnlp"), ``root``
            of directed trees ("found" or "given"), ``window`` and ``stride`` in tokens, ``classifier``
            (probes to train), ``train`` (their sentences), ``vectors``, ``epochs``, ``minutes``,
            ``model``, ``revision``, ``limit`` and ``seed`` (a random subset of the documents; the seed
            also draws the halves), ``preset``, ``margin`` (beyond the best baseline), ``alpha``,
            ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``,
            ``splits``, ``bayes``, ``device``, ``dtype``, ``batch_size``, ``out`` (run folder; None:
            nothing is written) and ``overwrite``.

    Returns:
        Scores (shares of right answers per window), findings against the cross-fitted baseline, and
        ``probed``: the best head of each row, baselines, gaps, trained probes.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    chosen = probe_options_of(probes=probes, **options)
    check_decision(chosen.decision)
    checkpoint = find_checkpoint(chosen.model, chosen.revision)
    folder = output_folder(chosen.out, chosen.settings(), chosen.overwrite)
    from headroles.extraction.model.load import load
    from headroles.probing.answers import ask_heads
    from headroles.probing.inputs import (
        check_relations,
        count_items,
        make_inputs,
        parser_notes,
        read_inputs,
        select_probes,
    )
    from headroles.probing.manifest import manifest_of, omission_notes

    documents, source = read_inputs(chosen)
    asked_probes, notes = select_probes(chosen, documents)
    notes += parser_notes(source)
    due = count_items(asked_probes, documents)
    check_relations(
        chosen, documents, due, [f"{item.name}:{row}" for item in asked_probes for row in item.rows]
    )
    learned = _training_documents(chosen)
    model = load(checkpoint, device=chosen.device, dtype=chosen.dtype, max_length=chosen.window or WINDOW)
    inputs = make_inputs(chosen, documents, model, due)
    with ExitStack() as open_folders:
        place = None if folder is None else open_folders.enter_context(stage_folder(folder))
        advance = progress or ignore_progress
        scores, tallies = ask_heads(model, asked_probes, inputs, chosen.batch_size, place, advance)
        documents_of_examples = [inputs.windows[key].document for key in scores.examples]
        margin = MARGIN if chosen.margin is None else chosen.margin
        judgement = judge_probes(
            scores, tallies, judge_settings(chosen), margin, conditions_of(documents_of_examples)
        )
        if chosen.classifier:
            judgement, training_notes = _with_trained_probes(
                chosen, (learned, documents), model, inputs.size, judgement, advance
            )
            notes += training_notes
        facts = manifest_of(chosen, source, model.described, inputs, judgement)
        labelling = replace(judgement, manifest=facts, skipped=(*notes, *omission_notes(judgement, inputs)))
        if place is not None:
            write_examples(place, labelling.scores)
            write_results(place, labelling, page(labelling))
    return labelling


def _training_documents(options: ProbeOptions) -> list[Document]:
    """Read the training documents of classifiers, and check them before anything is computed.

    Raises:
        BadInput: When the documents or the word vectors do not exist, or documents have no trees.
    """
    if options.train is None:
        return []
    from headroles.extraction.gold.read import read_documents
    from headroles.extraction.texts.files import open_text
    from headroles.probing.inputs import check_annotated

    learned = read_documents(Path(options.train), "train")
    check_annotated("dependency", learned)
    if options.vectors is not None:
        with open_text(Path(options.vectors)):
            pass
    return learned


def _with_trained_probes(
    options: ProbeOptions,
    parts: tuple[Sequence[Document], Sequence[Document]],
    model: "Model",
    size: int,
    found: Labelling,
    progress: Callable[[int, int], None],
) -> tuple[Labelling, list[str]]:
    """Train classifiers on other documents, test them on these, and return the labelling and notes."""
    from headroles.probing.trained.course import ReadSettings
    from headroles.probing.trained.run import train_probes
    from headroles.probing.trained.training import Settings

    assert found.probed is not None
    training = train_probes(
        *parts,
        options.classifier,
        read=ReadSettings(model, options.batch_size, size),
        vectors=None if options.vectors is None else Path(options.vectors),
        settings=Settings(epochs=options.epochs, seed=options.seed, minutes=options.minutes),
        progress=lambda stage, done, total: progress(done, total),
    )
    probed = replace(
        found.probed, trained=training.trained, contests=training.contests, weights=training.weights
    )
    return replace(found, probed=probed), list(training.notes)


def judge_settings(options: ProbeOptions) -> JudgeSettings:
    """Return the settings for judging the answers of a run."""
    return JudgeSettings(
        decision=options.decision,
        seed=options.seed,
        honest=options.preset != "published",
        assessed=options.assessed,
    )


def default_folder(probes: Sequence[str], data: Sequence[str], model: str | None) -> str:
    """Return the run folder that the command uses by default: ``runs/<probes>-<inputs>-<model>``.

    Example:
        >>> default_folder(["dependency"], ["dev.conllu.gz"], None)
        'runs/dependency-dev-all-MiniLM-L6-v2'
    """
    inputs = Path(data[0]).name.split(".")[0] if data else "data"
    return str(Path("runs") / "-".join([*probes, inputs, Path(model or EMBEDDED).resolve().name]))
