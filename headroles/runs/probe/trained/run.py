"""Train probes on documents, and test them with baselines and with probes of a random model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from headroles.errors import BadInput, UnknownName
from headroles.extraction.model.load import Model
from headroles.extraction.parsing.vectors import read_vectors
from headroles.extraction.texts.windows import sentence_windows
from headroles.inputs.identity import Identity
from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.documents import Document
from headroles.records.numbers import plural
from headroles.records.probes import PROBE_WEIGHTS
from headroles.records.rules.names import ATTENTION, ATTENTION_WORDS, CLASSIFIERS, DISTANCES_WORDS
from headroles.records.table import Table
from headroles.runs.probe.trained.accuracy import ProbeAnswers, accuracy_rows, contests, right_heads
from headroles.runs.probe.trained.course import Course, FittedProbe, Progress, ReadSettings, sentences_of
from headroles.runs.probe.trained.models import BRANCHING, AttentionProbe, branching, randomise_weights
from headroles.runs.probe.trained.sentences import Sentence
from headroles.runs.probe.trained.training import Settings

ATTENTION_CLASSIFIERS = (ATTENTION, ATTENTION_WORDS)
"""Classifiers that read attention."""
LEAST_SHARED_WORDS = 5
"""Length in words from which a sentence is too long for a common phrase that two texts share."""


class Training(NamedTuple):
    """Results of trained probes.

    Attributes:
        trained: The baselines, then each probe, then the controls.
        contests: Every pair of them.
        weights: Weights of the attention probe on the trained model, by layer, head and direction.
        notes: What was left out or cut short, one sentence each.
    """

    trained: Table
    contests: Table
    weights: Table
    notes: tuple[str, ...]


def train_probes(
    learned: Sequence[Document],
    tested: Sequence[Document],
    classifiers: Sequence[str],
    *,
    read: ReadSettings | None,
    vectors: Path | None,
    settings: Settings,
    identity: Identity,
    progress: Progress = lambda stage, done, total: None,
) -> Training:
    """Train probes to find the head of every word, and test them (Clark et al. 2019, section 5).

    UAS counts words with the right head over all words but punctuation, roots included; probes learn
    from all words. A probe's head is its most probable candidate, so its arcs need not form a tree.

    Args:
        learned: Training documents; some are held out to stop training.
        tested: Test documents.
        classifiers: Names from ``headroles.records.probes.CLASSIFIERS``.
        read: The model; None where no classifier reads attention.
        vectors: A file of word vectors, for classifiers that read words.
        settings: Settings of the training.
        identity: Tells which documents are the same.
        progress: Called from time to time.

    Raises:
        UnknownName: For a classifier that does not exist.
        BadInput: When documents have no trees or are too few, when the model or the vectors are missing,
            or when the disk is full.
    """
    _check(classifiers, read, vectors, (learned, tested))
    parts = [sentence_windows(documents) for documents in (learned, tested)]
    windows = [window for part in parts for window in part]
    sentences, first = sentences_of(windows, identity), len(parts[0])
    shared = _overlap_warning(sentences[:first], sentences[first:])
    course = Course(sentences, first, settings, progress, shared)
    if vectors is not None:
        words = {word.lower() for sentence in course.sentences for word in sentence.words}
        course.vectors = read_vectors(vectors, words)
    attending = [name for name in ATTENTION_CLASSIFIERS if name in classifiers]
    course.fits = len(set(classifiers)) + len(attending) * settings.control
    if read is None or not attending:
        return _results(course, [course.fit(DISTANCES_WORDS, "", None)])
    fits = []
    with course.reading(read, windows, "reading attention", later=settings.control) as maps:
        course.keep(maps)
        if DISTANCES_WORDS in classifiers:
            fits.append(course.fit(DISTANCES_WORDS, "", None))
        fits += [course.fit(name, "trained", maps) for name in attending]
    if settings.control:
        random_model = replace(read, model=randomise_weights(read.model, settings.seed))
        with course.reading(random_model, windows, "reading attention of random weights") as maps:
            fits += [course.fit(name, "random", maps) for name in attending]
    return _results(course, fits, read.model)


def _results(course: Course, fits: Sequence[FittedProbe], model: Model | None = None) -> Training:
    """Add the baselines, and compute accuracies, tests and weights."""
    tested = course.tested
    answered = [
        ProbeAnswers(
            name, "", right_heads([branching(name, len(sentence.words)) for sentence in tested], tested)
        )
        for name in BRANCHING
    ]
    answered += [fitted.answered for fitted in fits]
    learned = [fitted.fit.probe for fitted in fits if fitted.answered.weights == "trained"]
    weights = [
        weight
        for probe in learned
        if isinstance(probe, AttentionProbe) and model is not None
        for weight in _weights(probe, model)
    ]
    rows = accuracy_rows(answered, tested, course.settings.seed)
    units = rows[0].units
    if units < FEWEST_UNITS:
        course.notes.append(
            f"Trained probes are tested on {plural(units, 'document')}; below {FEWEST_UNITS}, their "
            "accuracies have no intervals, and their differences no tests."
        )
    return Training(rows, contests(answered, tested), PROBE_WEIGHTS.rows(weights), tuple(course.notes))


def _weights(probe: AttentionProbe, model: Model) -> Iterator[dict[str, Any]]:
    """Yield the weights of the attention probe by layer, head and direction."""
    table = probe.weight.detach().cpu().numpy().reshape(model.layers, model.heads, 2)
    for layer in range(model.layers):
        for head in range(model.heads):
            for turn, direction in enumerate(("→", "←")):
                weight = float(table[layer, head, turn])
                yield {
                    "classifier": ATTENTION,
                    "layer": layer,
                    "head": head,
                    "direction": direction,
                    "weight": weight,
                }


def _check(
    classifiers: Sequence[str],
    read: ReadSettings | None,
    vectors: Path | None,
    parts: tuple[Sequence[Document], Sequence[Document]],
) -> None:
    """Check the classifiers, and that their model, vectors and trees are there."""
    for name in classifiers:
        if name not in CLASSIFIERS:
            raise UnknownName("classifier", name, CLASSIFIERS)
    if not classifiers:
        raise BadInput(f"training needs at least one of {', '.join(CLASSIFIERS)}, but got no classifier")
    if read is None and set(ATTENTION_CLASSIFIERS) & set(classifiers):
        raise BadInput("a classifier that reads attention needs a model, but got none")
    if vectors is None and set(classifiers) - {ATTENTION}:
        raise BadInput("a classifier that reads words needs word vectors: name their file with --vectors")
    for what, documents in zip(("training", "test"), parts, strict=True):
        without = [document.key for document in documents if document.heads is None]
        if without or not documents:
            raise BadInput(
                f"trained probes need {what} documents with dependency trees, but {len(without)} of "
                f"{len(documents)} have none{f', such as {without[0]!r}' if without else ''}"
            )


def _overlap_warning(learned: Sequence[Sentence], tested: Sequence[Sentence]) -> list[str]:
    """Return a warning where longer test sentences are also training sentences."""
    training_sentences = {sentence.words for sentence in learned}
    longer = [sentence for sentence in tested if len(sentence.words) >= LEAST_SHARED_WORDS]
    count = sum(sentence.words in training_sentences for sentence in longer)
    if not count:
        return []
    return [
        f"{count} of {len(longer)} test sentences of at least {LEAST_SHARED_WORDS} words are also among "
        f"the training "
        f"sentences, which flatters the trained probes."
    ]
