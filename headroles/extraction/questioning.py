"""Probes asked of every head as attention passes by, and the table of their answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int

from headroles.annotation import Choices, Window
from headroles.extraction.capture import Visible
from headroles.extraction.choosing import DeviceChoices, contrast, profile, right_answers, to_device
from headroles.extraction.model import Model
from headroles.extraction.tokens import Tokenised, example_of
from headroles.extraction.word_space import even_words, from_words, to_words, word_space
from headroles.questions import ChoiceProbe, DecodingProbe

MATCHED = "matched"
"""Last part of the name of a column of contrasts."""


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One column of scores: which probe, row and direction, and whether it is the contrast of these."""

    probe: int
    row: int
    direction: int
    matched: bool
    name: str


def answer_columns(probes: Sequence[ChoiceProbe | DecodingProbe]) -> tuple[AnswerColumn, ...]:
    """The columns of probes; each contrast follows the column it belongs to."""
    made = []
    for number, probe in enumerate(probes):
        kinds = (False, True) if isinstance(probe, ChoiceProbe) and probe.contrast else (False,)
        for row, label in enumerate(probe.rows):
            for turn, direction in enumerate(probe.directions):
                for matched in kinds:
                    parts = (probe.name, label, direction, MATCHED if matched else "")
                    name = ":".join(part for part in parts if part)
                    made.append(AnswerColumn(number, row, turn, matched, name))
    return tuple(made)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of a shard of windows.

    Attributes:
        examples: Keys of the windows.
        tokens: Lengths.
        values: Share of right answers (or mean contrast) by column, example, layer and head; NaN
            without items.
        items: Items by row (the rows of all probes in turn) and example.
        lost: Items that could not be asked.
        hits: Right answers of each baseline; −1 beyond those of the probe.
    """

    examples: tuple[str, ...]
    tokens: Int[np.ndarray, " examples"]
    values: Float32[np.ndarray, "columns examples layers heads"]
    items: Int[np.ndarray, "rows examples"]
    lost: Int[np.ndarray, "rows examples"]
    hits: Int[np.ndarray, "rows examples baselines"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One window ready for the model: the word of each token, and what each probe asks.

    Rows are those of all probes in turn, as in ``Answers``; ``choices`` has None for probes that decode.
    """

    place: int
    tokenised: Tokenised
    window: Window
    words: Int[np.ndarray, " tokens"]
    choices: tuple[Choices | None, ...]
    items: Int[np.ndarray, " rows"]
    lost: Int[np.ndarray, " rows"]
    hits: Int[np.ndarray, "rows baselines"]


class Questioning:
    """The job of asking probes of every head."""

    def __init__(
        self,
        model: Model,
        probes: Sequence[ChoiceProbe | DecodingProbe],
        windows: dict[str, Window],
    ) -> None:
        """Take a model, the probes, and the window of each passage by its key."""
        self.model, self.probes, self.windows = model, tuple(probes), windows
        self.columns = answer_columns(probes)
        self.starts = np.cumsum([0, *(len(probe.rows) for probe in probes)])
        self.baselines = max(len(probe.baselines) for probe in probes)

    def table(self, tokenised: Sequence[Tokenised]) -> Answers:
        """Empty answers of a shard."""
        count, rows = len(tokenised), int(self.starts[-1])
        shape = (len(self.columns), count, self.model.layers, self.model.heads)
        return Answers(
            examples=tuple(each.passage.key for each in tokenised),
            tokens=np.array([each.size for each in tokenised], dtype=np.int64),
            values=np.full(shape, np.nan, dtype=np.float32),
            items=np.zeros((rows, count), dtype=np.int64),
            lost=np.zeros((rows, count), dtype=np.int64),
            hits=np.full((rows, count, self.baselines), -1),
        )

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[Asked]:
        """Work out what each window is asked."""
        return [self._asked(int(place), tokenised[place]) for place in places]

    def reader(self, batch: list[Asked], table: Answers) -> "Questioner":
        """What asks the batch as its attention passes by; what needs no attention is noted at once."""
        for asked in batch:
            table.items[:, asked.place] = asked.items
            table.lost[:, asked.place] = asked.lost
            table.hits[:, asked.place] = asked.hits
        return Questioner(self, batch, table)

    def result(self, table: Answers) -> Answers:
        """The finished answers."""
        return table

    def _asked(self, place: int, tokenised: Tokenised) -> Asked:
        window = self.windows[tokenised.passage.key]
        rows = int(self.starts[-1])
        items, lost = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        hits = np.full((rows, self.baselines), -1)
        choices: list[Choices | None] = []
        for number, probe in enumerate(self.probes):
            own = slice(self.starts[number], self.starts[number + 1])
            asked = None
            if isinstance(probe, ChoiceProbe):
                asked, lost[own] = probe.choices(window)
                items[own] = asked.rows.sum(axis=1)
            else:
                items[own] = probe.items(window)
            choices.append(asked)
            hits[own, : len(probe.baselines)] = probe.baseline_hits(window)
        words = example_of(tokenised, tokenised.passage.words, False).word
        return Asked(place, tokenised, window, words, tuple(choices), items, lost, hits)


class Questioner:
    """Asks one batch, layer by layer."""

    def __init__(self, job: Questioning, batch: list[Asked], table: Answers) -> None:
        self.job, self.batch, self.table = job, batch, table
        self.blocks: dict[int, list[torch.Tensor]] = {}
        self.groups: dict[tuple[int, ...], _Group] = {}

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: Visible) -> None:
        """Take a block of query rows of one example; at the last one, ask its heads."""
        group = self._group((example,))
        blocks = self.blocks.setdefault(example, [])
        blocks.append(to_words(rows[None], group.space))
        if start + rows.shape[1] == self.batch[example].tokenised.size:
            keys = torch.cat(self.blocks.pop(example), dim=2)
            self._ask(layer, group, keys, [visible])

    def read_batch(self, layer: int, weights: torch.Tensor, visible: Sequence[Visible]) -> None:
        """Take a layer's weights (examples, heads, tokens, tokens) of the whole batch, padded."""
        group = self._group(tuple(range(len(self.batch))))
        self._ask(layer, group, to_words(weights, group.space), visible)

    def _group(self, members: tuple[int, ...]) -> "_Group":
        if members not in self.groups:
            self.groups[members] = _Group(self.job, [self.batch[each] for each in members])
        return self.groups[members]

    def _ask(self, layer: int, group: "_Group", keys: torch.Tensor, visible: Sequence[Visible]) -> None:
        attention = from_words(keys, group.space)
        places = [asked.place for asked in group.members]
        shared = None
        if any(isinstance(probe, ChoiceProbe) and probe.contrast for probe in self.job.probes):
            shared = profile(attention, group.even(visible))
        position = 0
        for number, probe in enumerate(self.job.probes):
            if isinstance(probe, ChoiceProbe):
                choices = group.choices[number]
                assert choices is not None
                sums = []
                for direction in range(len(probe.directions)):
                    sums.append(right_answers(attention, choices, direction == 1))
                    if probe.contrast and shared is not None:
                        sums.append(contrast(shared, choices, direction == 1))
                found = torch.stack(sums, dim=-1).permute(2, 3, 0, 1).flatten(0, 1).cpu().numpy()
            else:
                found = group.decoded(probe, attention)
            stop = position + len(found)
            rows = [self.job.starts[number] + each.row for each in self.job.columns[position:stop]]
            items = self.table.items[np.ix_(rows, places)][:, :, None]
            shares = np.divide(found, items, out=np.full(found.shape, np.nan), where=items > 0)
            self.table.values[position:stop, places, layer] = shares
            position = stop


class _Group:
    """Examples that are asked together: their word space and what they are asked, on the device."""

    def __init__(self, job: Questioning, members: list[Asked]) -> None:
        self.members, device = members, job.model.device
        self.counts = [asked.window.size for asked in members]
        self.space = word_space([asked.words for asked in members], self.counts, device)
        self.choices: list[DeviceChoices | None] = []
        for number, probe in enumerate(job.probes):
            own = [each for asked in members if (each := asked.choices[number]) is not None]
            chosen = to_device(own, self.space.words, device) if isinstance(probe, ChoiceProbe) else None
            self.choices.append(chosen)
        self._even: dict[tuple[int, ...], torch.Tensor] = {}
        self._compared = self._same_sentence(device)

    def _same_sentence(self, device: torch.device) -> torch.Tensor:
        """1 on pairs of different words of one sentence (examples, words, words)."""
        width = self.space.words
        same = np.zeros((len(self.members), width, width), dtype=np.float32)
        for row, asked in enumerate(self.members):
            window = asked.window
            words = np.arange(window.start, window.stop)
            sentence = np.searchsorted(window.document.sentences, words, side="right")
            own = sentence[:, None] == sentence[None, :]
            same[row, : window.size, : window.size] = own & ~np.eye(window.size, dtype=np.bool_)
        return torch.from_numpy(same).to(device)

    def even(self, visible: Sequence[Visible]) -> torch.Tensor:
        """What even attention puts on the compared pairs; worked out once per kind of mask."""
        key = tuple(id(seen) for seen in visible)
        if key not in self._even:
            sizes = [asked.tokenised.size for asked in self.members]
            self._even[key] = even_words(visible, sizes, self.space) * self._compared
        return self._even[key]

    def decoded(
        self, probe: DecodingProbe, attention: torch.Tensor
    ) -> Float[np.ndarray, "columns examples heads"]:
        """Right items of a probe that decodes structures, example by example."""
        array = attention.cpu().numpy()
        found = []
        for row, asked in enumerate(self.members):
            own = array[row, :, : asked.window.size, : asked.window.size]
            found.append(probe.decode(own, asked.window).reshape(-1, own.shape[0]))
        return np.stack(found, axis=1).astype(np.float64)
