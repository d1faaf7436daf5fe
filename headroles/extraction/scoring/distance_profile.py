"""Choices of words read off attention on the device: the batched twin of ``headroles.sieves.probes.choices``.

Attention between words lies in memory as ``word_space.from_words`` leaves it: example, attending
word, head, attended word. What is read of it is laid out in the same way, heads last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headroles.extraction.scoring.scratch import Scratch
from headroles.records.documents import Choices


@dataclass(frozen=True, slots=True, eq=False)
class DeviceChoices:
    """The items of a batch, padded: items that are none count for no row.

    Attributes:
        rows: 1 where an item counts for a row (examples, rows, items).
        query: Asking word (examples, items).
        candidates: 1 on words it chooses among (examples, items, words).
        right: The right ones (examples, items, words).
        answer: The first right one (examples, items).
        table: The candidates by asking word (examples, words, words), where each word asks at most
            once and most of them do; else None.
    """

    rows: torch.Tensor
    query: torch.Tensor
    candidates: torch.Tensor
    right: torch.Tensor
    answer: torch.Tensor
    table: torch.Tensor | None


MOST = 0.5
"""Words that ask, of all, from which on all are read at once instead of picking those that ask."""


def to_device(choices: Sequence[Choices], words: int, device: torch.device) -> DeviceChoices:
    """The items of some examples on a device, padded to the most items and to ``words``."""
    count, most = len(choices), max(1, *(len(each.query) for each in choices))
    rows = np.zeros((count, choices[0].rows.shape[0], most), dtype=np.float32)
    query = np.zeros((count, most), dtype=np.int64)
    candidates = np.zeros((count, most, words), dtype=np.float32)
    right = np.zeros((count, most, words), dtype=np.bool_)
    for place, each in enumerate(choices):
        items, own = each.candidates.shape
        rows[place, :, :items] = each.rows
        query[place, :items] = each.query
        candidates[place, :items, :own] = each.candidates
        right[place, :items, :own] = each.right
    answer = right.argmax(axis=2)
    table = None
    once = all(len(np.unique(each.query)) == len(each.query) for each in choices)
    if once and most >= MOST * words:
        asked = np.zeros((count, words, words), dtype=np.float32)
        for place, each in enumerate(choices):
            asked[place, each.query] = candidates[place, : len(each.query)]
        table = torch.from_numpy(asked).to(device)
    return DeviceChoices(
        rows=torch.from_numpy(rows).to(device),
        query=torch.from_numpy(query).to(device),
        candidates=torch.from_numpy(candidates).to(device),
        right=torch.from_numpy(right).to(device),
        answer=torch.from_numpy(answer).to(device),
        table=table,
    )


def right_answers(
    attention: torch.Tensor, choices: DeviceChoices, reverse: bool, scratch: Scratch
) -> torch.Tensor:
    """Right choices per row (examples, rows, heads).

    Args:
        attention: Between words (examples, heads, words, words), rows attend.
        choices: What is asked.
        reverse: Whether the candidate that attends most to the asking word is chosen, instead of
            the one it attends most to. Ties go to the first candidate; where no candidate gets any
            attention (a causal model hides them all), there is no choice, and it is not right.
        scratch: Memory for what is on the way.
    """
    heads = attention.shape[1]
    # Attention off the candidates becomes 0, which is never a choice.
    if choices.table is not None:
        most, chosen = _of_all_words(attention, choices.table, reverse, scratch)
        asked = choices.query[:, :, None].expand(-1, -1, heads)
        most, chosen = most.gather(1, asked), chosen.gather(1, asked)
    else:
        looked = attention.permute(0, 3, 1, 2) if reverse else attention.transpose(1, 2)
        asked = choices.query[:, :, None, None].expand(-1, -1, heads, looked.shape[3])
        picked = torch.gather(looked, 1, asked, out=scratch.take("looked", tuple(asked.shape)))
        most, chosen = picked.mul_(choices.candidates[:, :, None]).max(dim=3)
    hit = choices.right.gather(2, chosen)
    return choices.rows @ (hit & (most > 0)).float()


def _of_all_words(
    attention: torch.Tensor, table: torch.Tensor, reverse: bool, scratch: Scratch
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a word's most attended candidate gets, and which it is (examples, words, heads)."""
    looked = attention.transpose(1, 2)
    allowed = table.mT if reverse else table
    kept = torch.mul(looked, allowed[:, :, None], out=scratch.take("looked", tuple(looked.shape)))
    most, chosen = kept.max(dim=1 if reverse else 3)
    return (most.mT, chosen.mT) if reverse else (most, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What heads' own distance profiles are held against: U on the compared pairs R.

    Attributes:
        even: What even attention puts on each pair, 0 outside R (examples, words, words).
        inside: 1 on R (examples, words, words).
        by_offset: U by signed offset d + words − 1 (examples, words, offsets).
        inverse: 1 / Σ U over the pairs of an offset, 0 where there are none (examples, offsets).
    """

    even: torch.Tensor
    inside: torch.Tensor
    by_offset: torch.Tensor
    inverse: torch.Tensor


def compared(even: torch.Tensor) -> Compared:
    """What even attention puts on each pair, ready for all layers.

    Args:
        even: 0 outside the compared pairs (examples, words, words).
    """
    examples, words, _ = even.shape
    by_offset = even.new_zeros((examples, words, 1, 2 * words - 1))
    _band(by_offset).copy_(even[:, :, None])
    level = by_offset[:, :, 0].sum(1)
    inverse = torch.where(level > 0, 1 / level, 0.0)
    return Compared(even, (even > 0).float(), by_offset[:, :, 0], inverse)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A head's own attention by distance, ready to say what it would put on any pair of words.

    With A between words, R the compared pairs and U what even attention puts on them:
    ``f(d) = Σ A / Σ U`` over the pairs of R at signed offset d; ``rate_i = Σ_k A_ik / Σ_k f(k−i) U_ik``.

    Attributes:
        attention: A (examples, heads, words, words).
        even: U on R (examples, words, words).
        curve: f by offset d + words − 1 (examples, offsets, heads).
        rate: Per attending word (examples, words, heads).
    """

    attention: torch.Tensor
    even: torch.Tensor
    curve: torch.Tensor
    rate: torch.Tensor


def profile(attention: torch.Tensor, pairs: Compared, scratch: Scratch) -> Profile:
    """Distance profiles of all heads.

    Args:
        attention: Between words (examples, heads, words, words).
        pairs: What even attention puts on the compared pairs.
        scratch: Memory for what is on the way.
    """
    examples, heads, words, _ = attention.shape
    wide = scratch.take_zero("wide", (examples, words, heads, 2 * words - 1))
    band = torch.mul(attention.transpose(1, 2), pairs.inside[:, :, None], out=_band(wide))
    curve = (wide.sum(1) * pairs.inverse[:, None]).mT
    expected = pairs.by_offset @ curve
    rate = torch.where(expected > 0, band.sum(3) / expected, 0.0)
    return Profile(attention, pairs.even, curve, rate)


def _band(wide: torch.Tensor) -> torch.Tensor:
    """The cells (examples, words, heads, words) that put each signed offset into one column."""
    examples, words, heads, _ = wide.shape
    steps = (wide.stride(0), wide.stride(1) - 1, wide.stride(2), 1)
    return wide.as_strided((examples, words, heads, words), steps, wide.storage_offset() + words - 1)


def contrast(heads: Profile, choices: DeviceChoices, reverse: bool) -> torch.Tensor:
    """Attention on the right word beyond what distance gives, summed per row (examples, rows, heads).

    Per item A_ij − rate_i f(j−i) U_ij, with i the asking word and j the right one; the other way
    round where ``reverse``.
    """
    attending, attended = (choices.answer, choices.query) if reverse else (choices.query, choices.answer)
    example = torch.arange(len(attending), device=attending.device)[:, None]
    seen = heads.attention[example, :, attending, attended]
    level = heads.even[example, attending, attended][:, :, None]
    offset = attended - attending + heads.attention.shape[3] - 1
    expected = heads.rate[example, attending] * heads.curve[example, offset] * level
    return choices.rows @ (seen - expected)
