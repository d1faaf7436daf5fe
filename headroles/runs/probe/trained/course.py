"""Train one probe after another on the same sentences and their word attention, within a time limit."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.jobs.word_attention import WordMaps, read_word_maps
from headroles.extraction.model.load import Model
from headroles.extraction.parsing.vectors import Vectors
from headroles.extraction.texts.windows import window_passage
from headroles.inputs.identity import Identity
from headroles.inputs.units import unit_names
from headroles.progress import progress_counter
from headroles.records.documents import Window
from headroles.records.passage import Passage
from headroles.runs.probe.trained.accuracy import RANDOM_SUFFIX, ProbeAnswers, right_heads
from headroles.runs.probe.trained.models import probe_of
from headroles.runs.probe.trained.sentences import Sentence, Source
from headroles.runs.probe.trained.training import Fit, Settings, predict, train
from headroles.sieves.language.relations import canonical

Progress = Callable[[str, int, int], None]
"""Called with the name of the stage, how much of it is done, and the total."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadSettings:
    """Settings for reading attention.

    Attributes:
        model: The loaded model.
        batch_size: Largest batch of sentences.
        max_length: Longest sentence in tokens; longer ones are left out.
    """

    model: Model
    batch_size: int = 32
    max_length: int = 256


class FittedProbe(NamedTuple):
    """A trained probe and its answers."""

    answered: ProbeAnswers
    fit: Fit


def sentences_of(windows: Sequence[Window], identity: Identity) -> list[Sentence]:
    """Return windows of one sentence each as sentences with trees, numbered from 0.

    Documents of one group, and documents that the model reads alike, are one unit.
    """
    documents = list({id(window.document): window.document for window in windows}.values())
    names = unit_names(
        [document.group or None for document in documents],
        [identity.unit_marks(Passage(document.key, (document.text,))) for document in documents],
        [document.key for document in documents],
    )
    unit = {id(document): name for document, name in zip(documents, names, strict=True)}
    sentences = []
    for number, window in enumerate(windows):
        (tree,) = window_passage(window).words or ()
        judged = np.array([canonical(relation) != "punct" for relation in tree.relations], dtype=np.bool_)
        assert window.document.heads is not None
        judged &= window.document.askable(np.arange(window.start, window.stop))
        judged &= window.document.askable(window.document.heads[window.start : window.stop])
        words = window.document.words[window.start : window.stop]
        sentences.append(
            Sentence(words, tree.heads.astype(np.int64), judged, unit[id(window.document)], number)
        )
    return sentences


@dataclass(slots=True)
class Course:
    """All training of one call: its sentences, time limit and notes."""

    sentences: list[Sentence]
    first_tested: int
    settings: Settings
    progress: Progress
    notes: list[str]
    vectors: Vectors | None = None
    fits: int = 1
    reserved: float = 0.0
    started: float = field(default_factory=time.monotonic)
    learned: list[Sentence] = field(init=False)
    tested: list[Sentence] = field(init=False)

    def __post_init__(self) -> None:
        """Start with all sentences."""
        self._split(self.sentences)

    def _split(self, kept: Sequence[Sentence]) -> None:
        """Divide sentences into training and test sentences."""
        self.learned = [sentence for sentence in kept if sentence.number < self.first_tested]
        self.tested = [sentence for sentence in kept if sentence.number >= self.first_tested]

    def keep(self, maps: WordMaps) -> None:
        """Keep only the sentences that were read whole.

        Raises:
            BadInput: When no test sentence was.
        """
        whole = [sentence for sentence in self.sentences if maps.kept[sentence.number]]
        before = len(self.learned), len(self.tested)
        self._split(whole)
        lost = before[0] - len(self.learned), before[1] - len(self.tested)
        if not self.tested:
            raise BadInput(
                f"probes are tested on sentences that a model reads whole, but all {before[1]} are too "
                f"long; give a larger --max-length"
            )
        if any(lost):
            self.notes.append(
                f"{lost[0]} of {before[0]} training and {lost[1]} of {before[1]} test sentences are longer "
                f"than the model was given, and left out of training and testing."
            )

    @contextmanager
    def reading(
        self, read: ReadSettings, windows: Sequence[Window], stage: str, later: bool = False
    ) -> Iterator[WordMaps]:
        """Read the word attention of all sentences; with ``later``, reserve as much time to read again."""
        start = time.monotonic()
        advance = progress_counter(partial(self.progress, stage), len(windows))
        passages = [window_passage(window) for window in windows]
        sizes = {"batch_size": read.batch_size, "max_length": read.max_length}
        with read_word_maps(read.model, passages, **sizes, advance=advance) as maps:
            self.reserved = (time.monotonic() - start) * later
            yield maps

    def fit(self, name: str, weights: str, maps: WordMaps | None) -> FittedProbe:
        """Train a probe, and predict heads of the test sentences."""
        settings, label = self.settings, name + RANDOM_SUFFIX * (weights == "random")
        probe = probe_of(name, self.vectors, maps, settings.seed)
        source = Source(self.vectors if "words" in name else None, maps)
        fitted = train(
            probe,
            source,
            self.learned,
            settings,
            deadline=self.deadline(),
            progress=lambda epoch: self.progress(f"training {label}", epoch, settings.epochs),
        )
        self.fits -= 1
        right = right_heads(predict(probe, source, self.tested), self.tested)
        answered = ProbeAnswers(name, weights, right, fitted.trained_on, fitted.epochs)
        if fitted.stopped != "held-out loss":
            limit = "its time" if fitted.stopped == "minutes" else f"{settings.epochs} passes"
            self.notes.append(
                f"{answered.name} was stopped after {len(fitted.losses)} passes, at the end of {limit}; its "
                f"held-out loss was lowest after pass {fitted.epochs}."
            )
        return FittedProbe(answered, fitted)

    def deadline(self) -> float:
        """Return the time at which the next training has used its share of the time that is left."""
        if self.settings.minutes is None:
            return float("inf")
        now = time.monotonic()
        left = self.started + 60 * self.settings.minutes - now - self.reserved
        return now + max(left, 0.0) / max(self.fits, 1)
