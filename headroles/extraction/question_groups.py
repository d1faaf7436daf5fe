"""Windows that are asked together: what each is asked, and all of it on the device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from headroles.extraction.choosing import Compared, DeviceChoices, compared, to_device
from headroles.extraction.readers import Visible
from headroles.extraction.tokens import Tokenised
from headroles.extraction.word_space import even_words, word_space
from headroles.records.documents import Choices, Window
from headroles.records.probes import ChoiceProbe, DecodingProbe

FEW = 0.7
"""Words that are asked about, of all, up to which the others are left out of the reading."""


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
    hits: Int[np.ndarray, "rows baselines"]


class Group:
    """Windows that are asked together.

    Attributes:
        members: The windows.
        space: Their words, on the device.
        choices: What each probe asks of them, on the device; None for probes that decode.
        items: Items by row and window; NaN where there are none.
    """

    def __init__(
        self, probes: Sequence[ChoiceProbe | DecodingProbe], members: Sequence[Asked], device: torch.device
    ) -> None:
        """Take the probes, the windows and where their attention will lie."""
        self.members, self.device = members, device
        whole = any(isinstance(probe, ChoiceProbe) and probe.contrast for probe in probes)
        asked = [_Few(whole, each) for each in members]
        counts = [each.count for each in asked]
        pick = any(few.count < each.window.size for few, each in zip(asked, members, strict=True))
        self.space = word_space([each.words for each in asked], counts, self.device, pick=pick)
        self.choices: list[DeviceChoices | None] = []
        for number, probe in enumerate(probes):
            own = [each for few in asked if (each := few.choices[number]) is not None]
            chosen = to_device(own, max(counts), self.device) if isinstance(probe, ChoiceProbe) else None
            self.choices.append(chosen)
        items = np.stack([each.items for each in members], axis=1).astype(np.float32)
        self.items = np.where(items > 0, items, np.float32(np.nan))
        self._compared: dict[tuple[int, ...], Compared] = {}

    def compared(self, visible: Sequence[Visible]) -> Compared:
        """What even attention puts on pairs of words of a sentence; worked out once per kind of mask."""
        key = tuple(id(seen) for seen in visible)
        if key not in self._compared:
            sizes = [asked.tokenised.size for asked in self.members]
            even = even_words(visible, sizes, self.space)
            self._compared[key] = compared(even * self._same_sentence())
        return self._compared[key]

    def _same_sentence(self) -> torch.Tensor:
        """1 on pairs of different words of one sentence (examples, words, words)."""
        width = self.space.words
        same = np.zeros((len(self.members), width, width), dtype=np.float32)
        for row, asked in enumerate(self.members):
            window = asked.window
            words = np.arange(window.start, window.stop)
            sentence = np.searchsorted(window.document.sentences, words, side="right")
            own = sentence[:, None] == sentence[None, :]
            same[row, : window.size, : window.size] = own & ~np.eye(window.size, dtype=np.bool_)
        return torch.from_numpy(same).to(self.device)

    def decoded(
        self, probe: DecodingProbe, attention: torch.Tensor
    ) -> Float[np.ndarray, "columns examples heads"]:
        """Right items of a probe that decodes structures, example by example."""
        array = attention.contiguous().cpu().numpy()
        found = []
        for row, asked in enumerate(self.members):
            own = array[row, :, : asked.window.size, : asked.window.size]
            found.append(probe.decode(own, asked.window).reshape(-1, own.shape[0]))
        return np.stack(found, axis=1).astype(np.float64)


class _Few:
    """What a window is asked, in words counted among those that ask or are candidates.

    All words where a contrast or a structure needs all, or most are asked about anyway.
    """

    def __init__(self, whole: bool, asked: Asked) -> None:
        self.count, self.words, self.choices = asked.window.size, asked.words, asked.choices
        if whole or None in asked.choices:
            return
        needed = np.zeros(self.count, dtype=np.bool_)
        for each in asked.choices:
            assert each is not None
            needed[each.query] = True
            needed |= each.candidates.any(axis=0)
        if needed.sum() > FEW * self.count:
            return
        number = np.where(needed, np.cumsum(needed) - 1, -1)
        self.count = max(1, int(needed.sum()))
        self.words = np.where(asked.words < 0, -1, number[asked.words])
        self.choices = tuple(
            Choices(each.rows, number[each.query], each.candidates[:, needed], each.right[:, needed])
            for each in asked.choices
            if each is not None
        )
