"""Write word attention of sentences, of all layers and heads, to disk for training probes on it."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float16, Int

from headroles.errors import BadInput
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.model.load import Model
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.passage import Passage

SPECIAL_UNITS = 2
"""Units before the words: the class token, which opens the input, and the other special tokens together."""


@dataclass(frozen=True, slots=True, eq=False)
class WordMaps:
    """Attention between units of sentences: the class token, the other special tokens, and the words.

    Attention to a unit is the sum over its pieces, attention from one the mean over its pieces (Clark
    et al. 2019, section 4.1); a unit without a piece (a model without special tokens, a word that
    shares a piece with the word before it) gets and gives none.

    Attributes:
        units: Number of units of each sentence: its words and 2.
        kept: Whether the sentence was read whole; False where it was truncated to the longest length.
        special: Whether the model's inputs have special tokens.
        maps: Number of maps, layers times heads.
        cells: Attention of all sentences in one array, on disk.
        starts: Start of each sentence in it.
    """

    units: Int[np.ndarray, " sentences"]
    kept: Bool[np.ndarray, " sentences"]
    special: bool
    maps: int
    cells: Float16[np.ndarray, " cells"]
    starts: Int[np.ndarray, " sentences"]

    def __call__(self, number: int) -> Float16[np.ndarray, "units units maps"]:
        """Return the attention of a sentence by query, key, and map, which is layer × heads + head."""
        units, start = int(self.units[number]), int(self.starts[number])
        return self.cells[start : start + units * units * self.maps].reshape(units, units, self.maps)


@contextmanager
def read_word_maps(
    model: Model,
    passages: Sequence[Passage],
    *,
    batch_size: int,
    max_length: int,
    advance: Callable[[int], None],
) -> Iterator[WordMaps]:
    """Read the word attention of sentences into a temporary file, which is deleted when the block ends.

    Float16 halves its size: 0.9 GB for 12,544 sentences of 16 words and 72 heads.

    Args:
        model: The model to read.
        passages: Sentences with their words.
        batch_size: Largest batch.
        max_length: Longest input, in tokens.
        advance: Called with the number of sentences done since the last call.

    Raises:
        BadInput: When the disk is too full.
    """
    units = np.array(
        [SPECIAL_UNITS + sum(len(text.heads) for text in passage.words or ()) for passage in passages]
    )
    count = model.layers * model.heads
    sizes = units * units * count
    with _reserve_cells(int(sizes.sum())) as cells:
        maps = WordMaps(
            units=units,
            kept=np.zeros(len(passages), dtype=np.bool_),
            special=bool(model.tokenizer.num_special_tokens_to_add()),
            maps=count,
            cells=cells,
            starts=np.cumsum(sizes) - sizes,
        )
        for _ in stream(
            model,
            passages,
            _WordMapsJob(model, maps),
            batch_size=batch_size,
            max_length=max_length,
            advance=advance,
        ):
            pass
        yield maps


@contextmanager
def _reserve_cells(cells: int) -> Iterator[Float16[np.ndarray, " cells"]]:
    """Reserve float16 zeros on disk at the start, because a full disk would end the process later."""
    with tempfile.TemporaryFile(prefix="headroles-") as file:
        size = max(2 * cells, 2)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise BadInput(
                f"the attention that probes are trained on takes {size / 1e9:.1f} GB on disk in "
                f"'{tempfile.gettempdir()}', but there is no room ({error.strerror}); give fewer sentences, "
                f"or point the environment variable TMPDIR to a larger disk"
            ) from error
        yield np.memmap(
            file, dtype=np.float16, mode="r+" if file.seek(0, 2) else "w+", shape=(max(cells, 1),)
        )


@dataclass(slots=True)
class _Sentence:
    """One sentence that is ready for the model, with the unit of each token."""

    place: int
    tokenised: Tokenised
    units: Int[np.ndarray, " tokens"]


@dataclass(frozen=True, slots=True)
class _Shard:
    """The place of a shard's first sentence among all."""

    start: int


class _WordMapsJob:
    """The job of writing word attention to disk."""

    def __init__(self, model: Model, maps: WordMaps) -> None:
        self.model = model
        self.maps = maps
        self.started = 0

    def table(self, tokenised: Sequence[Tokenised]) -> _Shard:
        """Return the place of the shard, and count its sentences."""
        shard = _Shard(self.started)
        self.started += len(tokenised)
        return shard

    def prepare(self, tokenised: Sequence[Tokenised], places: np.ndarray) -> list[_Sentence]:
        """Find the unit of each token."""
        batch = []
        for place in places.tolist():
            example = example_of(tokenised[place], tokenised[place].passage.words, arcs=False)
            special = np.where(example.first, 0, 1)
            units = np.where(example.word >= 0, example.word + SPECIAL_UNITS, special)
            batch.append(_Sentence(place, tokenised[place], units))
        return batch

    def reader(self, batch: list[_Sentence], table: _Shard) -> "_Writer":
        """Return the reader of a batch's attention."""
        return _Writer(self.model, self.maps, batch, table.start)

    def result(self, table: _Shard) -> None:
        """Return nothing: all results are on disk."""


@dataclass(slots=True)
class _Writer:
    """Writes one batch's word attention while the model runs."""

    model: Model
    maps: WordMaps
    batch: list[_Sentence]
    start: int
    members: dict[int, torch.Tensor] = field(default_factory=dict)
    sums: dict[int, torch.Tensor] = field(default_factory=dict)

    def read(self, layer: int, example: int, start: int, rows: torch.Tensor, visible: VisibleArray) -> None:
        """Add a block of query rows; after the last one, write the layer."""
        sentence = self.batch[example]
        if sentence.tokenised.truncated:
            return
        number, stop = self.start + sentence.place, start + rows.shape[1]
        member = self._member(example, int(self.maps.units[number]))
        share = member / member.sum(0).clamp(min=1)
        own = share[start:stop].T @ (rows @ member)
        before = self.sums.pop(example, None)
        total = own if before is None else own + before
        if stop < sentence.tokenised.size:
            self.sums[example] = total
            return
        heads = slice(layer * self.model.heads, (layer + 1) * self.model.heads)
        self.maps(number)[:, :, heads] = total.permute(1, 2, 0).cpu().numpy()
        self.maps.kept[number] = True

    def _member(self, example: int, units: int) -> torch.Tensor:
        """Return 1 where a token (row) is part of a unit (column), else 0."""
        if example not in self.members:
            places = torch.from_numpy(self.batch[example].units).long()
            member = torch.nn.functional.one_hot(places, units).float()
            self.members[example] = member.to(self.model.device)
        return self.members[example]
