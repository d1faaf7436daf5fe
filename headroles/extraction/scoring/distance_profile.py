"""Distance profiles of heads, and the words that heads choose, for whole batches on the device.

The reference in numpy is ``headroles.sieves.probes.choices``. Attention between words lies in memory as
``word_space.from_words`` leaves it: example, attending word, head, attended word. Results are laid out in the
same way, heads last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headroles.extraction.scoring.scratch import Scratch
from headroles.records.documents import Choices


@dataclass(frozen=True, slots=True, eq=False)
class DeviceChoices:
    """The items of a batch; padding counts for no row.

    Attributes:
        rows: 1 where an item counts for a row (examples, rows, items).
        query: Asking word (examples, items).
        candidates: 1 on the words to choose among (examples, items, words).
        right: The right ones (examples, items, words).
        answer: The first right one (examples, items).
        table: The candidates by asking word (examples, words, words), where each word asks at most
            once and at least a share ``MOST`` of them do; else None.
    """

    rows: torch.Tensor
    query: torch.Tensor
    candidates: torch.Tensor
    right: torch.Tensor
    answer: torch.Tensor
    table: torch.Tensor | None


MOST = 0.5
"""Share of asking words from which on all words are read at once, instead of the asking ones alone."""


def choices_to_device(choices: Sequence[Choices], words: int, device: torch.device) -> DeviceChoices:
    """Copy the items of some examples to a device, padded to the most items and to ``words``."""
    count, most = len(choices), max(1, *(len(own.query) for own in choices))
    rows = np.zeros((count, choices[0].rows.shape[0], most), dtype=np.float32)
    query = np.zeros((count, most), dtype=np.int64)
    candidates = np.zeros((count, most, words), dtype=np.float32)
    right = np.zeros((count, most, words), dtype=np.bool_)
    for place, own in enumerate(choices):
        items, width = own.candidates.shape
        rows[place, :, :items] = own.rows
        query[place, :items] = own.query
        candidates[place, :items, :width] = own.candidates
        right[place, :items, :width] = own.right
    answer = right.argmax(axis=2)
    table = None
    once = all(len(np.unique(own.query)) == len(own.query) for own in choices)
    if once and most >= MOST * words:
        by_word = np.zeros((count, words, words), dtype=np.float32)
        for place, own in enumerate(choices):
            by_word[place, own.query] = candidates[place, : len(own.query)]
        table = torch.from_numpy(by_word).to(device)
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
    """Return the number of right choices per row (examples, rows, heads).

    Args:
        attention: Between words (examples, heads, words, words), rows attend.
        choices: The items.
        reverse: Whether the candidate that attends most to the asking word is chosen, instead of
            the one it attends most to. Ties go to the first candidate; where no candidate gets any
            attention (a causal model hides them all), there is no choice, and it is not right.
        scratch: Memory for intermediate results.
    """
    heads = attention.shape[1]
    # Attention off the candidates becomes 0, which is never a choice.
    if choices.table is not None:
        most, choice = _choices_of_all_words(attention, choices.table, reverse, scratch)
        query = choices.query[:, :, None].expand(-1, -1, heads)
        most, choice = most.gather(1, query), choice.gather(1, query)
    else:
        by_asking = attention.permute(0, 3, 1, 2) if reverse else attention.transpose(1, 2)
        query = choices.query[:, :, None, None].expand(-1, -1, heads, by_asking.shape[3])
        rows = torch.gather(by_asking, 1, query, out=scratch.take("looked", tuple(query.shape)))
        most, choice = rows.mul_(choices.candidates[:, :, None]).max(dim=3)
    hit = choices.right.gather(2, choice)
    return choices.rows @ (hit & (most > 0)).float()


def _choices_of_all_words(
    attention: torch.Tensor, table: torch.Tensor, reverse: bool, scratch: Scratch
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the most attended candidate's attention and place for each word (examples, words, heads)."""
    by_asking = attention.transpose(1, 2)
    allowed = table.mT if reverse else table
    kept = torch.mul(by_asking, allowed[:, :, None], out=scratch.take("looked", tuple(by_asking.shape)))
    most, choice = kept.max(dim=1 if reverse else 3)
    return (most.mT, choice.mT) if reverse else (most, choice)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPairs:
    """Even attention U on the compared pairs R, which distance profiles of heads are relative to.

    Attributes:
        even: U of each pair, 0 outside R (examples, words, words).
        inside: 1 on R (examples, words, words).
        by_offset: U by signed offset d + words − 1 (examples, words, offsets).
        inverse: 1 / Σ U over the pairs of an offset, 0 where there are none (examples, offsets).
    """

    even: torch.Tensor
    inside: torch.Tensor
    by_offset: torch.Tensor
    inverse: torch.Tensor


def compare_pairs(even: torch.Tensor) -> ComparedPairs:
    """Prepare even attention for the profiles of all layers.

    Args:
        even: Even attention on each pair, 0 outside the compared pairs (examples, words, words).
    """
    examples, words, _ = even.shape
    by_offset = even.new_zeros((examples, words, 1, 2 * words - 1))
    _band(by_offset).copy_(even[:, :, None])
    level = by_offset[:, :, 0].sum(1)
    inverse = torch.where(level > 0, 1 / level, 0.0)
    return ComparedPairs(even, (even > 0).float(), by_offset[:, :, 0], inverse)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Attention of heads by distance, which gives the expected attention on any pair of words.

    With A the attention between words, R the compared pairs and U even attention on them:
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


def head_profiles(attention: torch.Tensor, pairs: ComparedPairs, scratch: Scratch) -> Profile:
    """Compute the distance profiles of all heads.

    Args:
        attention: Between words (examples, heads, words, words).
        pairs: Even attention on the compared pairs.
        scratch: Memory for intermediate results.
    """
    examples, heads, words, _ = attention.shape
    wide = scratch.take_zero("wide", (examples, words, heads, 2 * words - 1))
    band = torch.mul(attention.transpose(1, 2), pairs.inside[:, :, None], out=_band(wide))
    curve = (wide.sum(1) * pairs.inverse[:, None]).mT
    expected = pairs.by_offset @ curve
    rate = torch.where(expected > 0, band.sum(3) / expected, 0.0)
    return Profile(attention, pairs.even, curve, rate)


def _band(wide: torch.Tensor) -> torch.Tensor:
    """Return the view (examples, words, heads, words) that puts each signed offset into one column."""
    examples, words, heads, _ = wide.shape
    steps = (wide.stride(0), wide.stride(1) - 1, wide.stride(2), 1)
    return wide.as_strided((examples, words, heads, words), steps, wide.storage_offset() + words - 1)


def contrast(heads: Profile, choices: DeviceChoices, reverse: bool) -> torch.Tensor:
    """Return attention on the right word beyond distance, summed per row (examples, rows, heads).

    Per item A_ij − rate_i f(j−i) U_ij, with i the asking word and j the right one; the other way
    round where ``reverse``.
    """
    attending, attended = (choices.answer, choices.query) if reverse else (choices.query, choices.answer)
    example = torch.arange(len(attending), device=attending.device)[:, None]
    observed = heads.attention[example, :, attending, attended]
    level = heads.even[example, attending, attended][:, :, None]
    offset = attended - attending + heads.attention.shape[3] - 1
    expected = heads.rate[example, attending] * heads.curve[example, offset] * level
    return choices.rows @ (observed - expected)
