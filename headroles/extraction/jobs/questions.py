"""Ask probes of every head while a model runs, and collect the answers in a table by shard.

Windows of a batch are asked together: their words and choices lie on the device as one group.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.scoring.distance_profile import (
    ComparedPairs,
    DeviceChoices,
    choices_to_device,
    compare_pairs,
    contrast,
    head_profiles,
    right_answers,
)
from headroles.extraction.scoring.scratch import Scratch
from headroles.extraction.scoring.word_space import even_words, from_words, to_words, word_rows, word_space
from headroles.extraction.source import AttentionSource
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.documents import Choices, Window
from headroles.records.probes import CONTRAST_PART, ChoiceProbe, DecodingProbe

LARGEST_NEEDED_SHARE = 0.7
"""Largest share of words that probes ask about, at which all other words are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeInput:
    """One window that is ready for the model: the word of each token, and the questions of each probe.

    Rows are those of all probes in turn, as in ``Answers``. ``choices`` has None for probes that decode.
    """

    place: int
    tokenised: Tokenised
    window: Window
    words: Int[np.ndarray, " tokens"]
    choices: tuple[Choices | None, ...]
    items: Int[np.ndarray, " rows"]
    hits: Int[np.ndarray, "rows baselines"]


class ProbeBatch:
    """Windows that are asked together.

    Attributes:
        members: The windows.
        space: Their words, on the device.
        choices: Choices of each probe, on the device; None for probes that decode.
        items: Numbers of items by row and window; NaN where there are none.
    """

    def __init__(
        self,
        probes: Sequence[ChoiceProbe | DecodingProbe],
        members: Sequence[ProbeInput],
        device: torch.device,
    ) -> None:
        """Take the probes, the windows and the device of their attention."""
        self.members, self.device = members, device
        contrasts = any(isinstance(probe, ChoiceProbe) and probe.contrast for probe in probes)
        needed = [_NeededWords(contrasts, member) for member in members]
        counts = [words.count for words in needed]
        pick = any(words.count < member.window.size for words, member in zip(needed, members, strict=True))
        self.space = word_space([words.words for words in needed], counts, self.device, pick=pick)
        self.choices: list[DeviceChoices | None] = []
        for number, probe in enumerate(probes):
            own = [choices for words in needed if (choices := words.choices[number]) is not None]
            on_device = (
                choices_to_device(own, max(counts), self.device) if isinstance(probe, ChoiceProbe) else None
            )
            self.choices.append(on_device)
        items = np.stack([member.items for member in members], axis=1).astype(np.float32)
        self.items = np.where(items > 0, items, np.float32(np.nan))
        self._compared: dict[tuple[int, ...], ComparedPairs] = {}

    def compared(self, visible: Sequence[VisibleArray]) -> ComparedPairs:
        """Return even attention on pairs of words of a sentence, computed once for each set of masks."""
        key = tuple(id(mask) for mask in visible)
        if key not in self._compared:
            sizes = [member.tokenised.size for member in self.members]
            even = even_words(visible, sizes, self.space)
            self._compared[key] = compare_pairs(even * self._same_sentence())
        return self._compared[key]

    def _same_sentence(self) -> torch.Tensor:
        """Return 1 on pairs of different words of one sentence, else 0 (examples, words, words)."""
        width = self.space.words
        same = np.zeros((len(self.members), width, width), dtype=np.float32)
        for row, member in enumerate(self.members):
            window = member.window
            words = np.arange(window.start, window.stop)
            sentence = np.searchsorted(window.document.sentences, words, side="right")
            own = sentence[:, None] == sentence[None, :]
            same[row, : window.size, : window.size] = own & ~np.eye(window.size, dtype=np.bool_)
        return torch.from_numpy(same).to(self.device)

    def decoded(
        self, probe: DecodingProbe, attention: torch.Tensor
    ) -> Float[np.ndarray, "columns examples heads"]:
        """Return the right items of a probe that decodes structures, for each example."""
        array = attention.contiguous().cpu().numpy()
        rights = []
        for row, member in enumerate(self.members):
            own = array[row, :, : member.window.size, : member.window.size]
            rights.append(probe.decode(own, member.window).reshape(-1, own.shape[0]))
        return np.stack(rights, axis=1).astype(np.float64)


class _NeededWords:
    """The questions to a window, with words numbered among those that ask or are candidates.

    These are all words where a contrast or a structure needs all, or where most are asked about anyway.
    """

    def __init__(self, all_words: bool, member: ProbeInput) -> None:
        self.count, self.words, self.choices = member.window.size, member.words, member.choices
        if all_words or None in member.choices:
            return
        needed = np.zeros(self.count, dtype=np.bool_)
        for choices in member.choices:
            assert choices is not None
            needed[choices.query] = True
            needed |= choices.candidates.any(axis=0)
        if needed.sum() > LARGEST_NEEDED_SHARE * self.count:
            return
        number = np.where(needed, np.cumsum(needed) - 1, -1)
        self.count = max(1, int(needed.sum()))
        self.words = np.where(member.words < 0, -1, number[member.words])
        self.choices = tuple(
            Choices(
                choices.rows,
                number[choices.query],
                choices.candidates[:, needed],
                choices.right[:, needed],
            )
            for choices in member.choices
            if choices is not None
        )


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One column of scores: its probe, row and direction, and whether it is their contrast."""

    probe: int
    row: int
    direction: int
    matched: bool
    name: str


def answer_columns(probes: Sequence[ChoiceProbe | DecodingProbe]) -> tuple[AnswerColumn, ...]:
    """Return the columns of probes; each contrast follows the column it belongs to."""
    columns = []
    for number, probe in enumerate(probes):
        kinds = (False, True) if isinstance(probe, ChoiceProbe) and probe.contrast else (False,)
        for row, label in enumerate(probe.rows):
            for direction_number, direction in enumerate(probe.directions):
                for matched in kinds:
                    parts = (probe.name, label, direction, CONTRAST_PART if matched else "")
                    name = ":".join(part for part in parts if part)
                    columns.append(AnswerColumn(number, row, direction_number, matched, name))
    return tuple(columns)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of a shard of windows.

    Attributes:
        examples: Keys of the windows.
        tokens: Numbers of tokens.
        values: Share of right answers (or mean contrast) by column, example, layer and head; NaN
            without items.
        items: Numbers of items by row (the rows of all probes in turn) and example.
        hits: Numbers of right answers of each baseline; −1 beyond the baselines of the probe.
    """

    examples: tuple[str, ...]
    tokens: Int[np.ndarray, " examples"]
    values: Float32[np.ndarray, "columns examples layers heads"]
    items: Int[np.ndarray, "rows examples"]
    hits: Int[np.ndarray, "rows examples baselines"]


class ProbeJob:
    """The job of asking probes of every head."""

    def __init__(
        self,
        model: AttentionSource,
        probes: Sequence[ChoiceProbe | DecodingProbe],
        windows: dict[str, Window],
    ) -> None:
        """Take a model, the probes, and the window of each passage by its key."""
        self.model, self.probes, self.windows = model, tuple(probes), windows
        self.columns = answer_columns(probes)
        self.starts = np.cumsum([0, *(len(probe.rows) for probe in probes)])
        self.rows = np.array([self.starts[column.probe] + column.row for column in self.columns])
        self.baselines = max(len(probe.baselines) for probe in probes)
        self.contrasts = any(isinstance(probe, ChoiceProbe) and probe.contrast for probe in probes)
        self.scratch = Scratch(model.device)

    def table(self, tokenised: Sequence[Tokenised]) -> Answers:
        """Return empty answers of a shard."""
        count, rows = len(tokenised), int(self.starts[-1])
        shape = (len(self.columns), count, self.model.layers, self.model.heads)
        return Answers(
            examples=tuple(passage.passage.key for passage in tokenised),
            tokens=np.array([passage.size for passage in tokenised], dtype=np.int64),
            values=np.full(shape, np.nan, dtype=np.float32),
            items=np.zeros((rows, count), dtype=np.int64),
            hits=np.full((rows, count, self.baselines), -1),
        )

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[ProbeInput]:
        """Compute the questions to each window."""
        return [self._questions(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list[ProbeInput], table: Answers) -> "ProbeReader":
        """Return the reader of a batch's attention; items and baseline hits need none and are stored now."""
        for member in batch:
            table.items[:, member.place] = member.items
            table.hits[:, member.place] = member.hits
        return ProbeReader(self, batch, table)

    def result(self, table: Answers) -> Answers:
        """Return the finished answers."""
        return table

    def answer_cells(self, tokenised: Tokenised, name: str) -> Bool[np.ndarray, "queries keys"] | None:
        """Return the pairs of tokens whose attention is a right answer to a column.

        Args:
            tokenised: A window.
            name: Of the column. Read in reverse ("←"), queries are the right words.

        Returns:
            All tokens of the asking word and of a right word, item by item; None where the probe decodes a
            structure.
        """
        column = next(column for column in self.columns if column.name == name)
        probe = self.probes[column.probe]
        if not isinstance(probe, ChoiceProbe):
            return None
        window = self.windows[tokenised.passage.key]
        choices, _ = probe.choices(window)
        items = choices.rows[column.row]
        pairs = np.zeros((window.size, window.size), dtype=np.bool_)
        np.logical_or.at(pairs, choices.query[items], choices.right[items])
        if column.direction == 1:
            pairs = pairs.T
        words = example_of(tokenised, tokenised.passage.words, False).word
        known = words >= 0
        cells: np.ndarray = pairs[np.ix_(words, words)] & known[:, None] & known[None, :]
        return cells

    def _questions(self, place: int, tokenised: Tokenised) -> ProbeInput:
        window = self.windows[tokenised.passage.key]
        rows = int(self.starts[-1])
        items = np.zeros(rows, dtype=np.int64)
        hits = np.full((rows, self.baselines), -1)
        choices: list[Choices | None] = []
        for number, probe in enumerate(self.probes):
            own = slice(self.starts[number], self.starts[number + 1])
            probe_choices = None
            if isinstance(probe, ChoiceProbe):
                probe_choices, _ = probe.choices(window)
                items[own] = probe_choices.rows.sum(axis=1)
            else:
                items[own] = probe.items(window)
            choices.append(probe_choices)
            hits[own, : len(probe.baselines)] = probe.baseline_hits(window)
        words = example_of(tokenised, tokenised.passage.words, False).word
        return ProbeInput(place, tokenised, window, words, tuple(choices), items, hits)


class ProbeReader:
    """Asks one batch, layer by layer."""

    def __init__(self, job: ProbeJob, batch: list[ProbeInput], table: Answers) -> None:
        self.job, self.batch, self.table = job, batch, table
        self.blocks: dict[int, list[torch.Tensor]] = {}
        self.groups: dict[tuple[int, ...], ProbeBatch] = {}

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Take a block of query rows of one example; after the last one, ask its heads."""
        group = self._group((example,))
        size = self.batch[example].tokenised.size
        if rows.shape[1] == size:
            self.read_batch(layer, rows[None], [visible], group)
            return
        blocks = self.blocks.setdefault(example, [])
        blocks.append(to_words(rows[None], group.space))
        if start + rows.shape[1] == size:
            keys = torch.cat(self.blocks.pop(example), dim=2)
            self._ask(layer, group, word_rows(keys, group.space), [visible])

    def read_batch(
        self,
        layer: int,
        weights: torch.Tensor,
        visible: Sequence[VisibleArray],
        group: ProbeBatch | None = None,
    ) -> None:
        """Take a layer's weights (examples, heads, tokens, tokens) of the whole batch, padded."""
        group = group or self._group(tuple(range(len(self.batch))))
        rows = word_rows(weights, group.space, self.job.scratch)
        self._ask(layer, group, to_words(rows, group.space, self.job.scratch), visible)

    def _group(self, members: tuple[int, ...]) -> ProbeBatch:
        if members not in self.groups:
            self.groups[members] = ProbeBatch(
                self.job.probes, [self.batch[member] for member in members], self.job.model.device
            )
        return self.groups[members]

    def _ask(
        self, layer: int, group: ProbeBatch, keys: torch.Tensor, visible: Sequence[VisibleArray]
    ) -> None:
        scratch = self.job.scratch
        attention = from_words(keys, group.space, scratch)
        places = [member.place for member in group.members]
        shared = head_profiles(attention, group.compared(visible), scratch) if self.job.contrasts else None
        position = 0
        for number, probe in enumerate(self.job.probes):
            if isinstance(probe, ChoiceProbe):
                choices = group.choices[number]
                assert choices is not None
                sums = []
                for direction in range(len(probe.directions)):
                    sums.append(right_answers(attention, choices, direction == 1, scratch))
                    if probe.contrast and shared is not None:
                        sums.append(contrast(shared, choices, direction == 1))
                rights = torch.stack(sums, dim=2).permute(1, 2, 0, 3).flatten(0, 1).cpu().numpy()
            else:
                rights = group.decoded(probe, attention)
            stop = position + len(rights)
            shares = rights / group.items[self.job.rows[position:stop], :, None]
            self.table.values[position:stop, places, layer] = shares
            position = stop
