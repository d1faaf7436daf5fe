"""Choices of words read off attention on the device: the batched twin of ``headroles.sieves.choosing``."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headroles.annotation import Choices


@dataclass(frozen=True, slots=True, eq=False)
class DeviceChoices:
    """The items of a batch, padded: items that are none count for no row.

    Attributes:
        rows: 1 where an item counts for a row (examples, rows, items).
        query: Asking word (examples, items).
        candidates: Words it chooses among (examples, items, words).
        right: The right ones (examples, items, words).
        answer: The first right one (examples, items).
    """

    rows: torch.Tensor
    query: torch.Tensor
    candidates: torch.Tensor
    right: torch.Tensor
    answer: torch.Tensor


def to_device(choices: Sequence[Choices], words: int, device: torch.device) -> DeviceChoices:
    """The items of some examples on a device, padded to the most items and to ``words``."""
    count, most = len(choices), max(1, *(len(each.query) for each in choices))
    rows = np.zeros((count, choices[0].rows.shape[0], most), dtype=np.float32)
    query = np.zeros((count, most), dtype=np.int64)
    candidates = np.zeros((count, most, words), dtype=np.bool_)
    right = np.zeros((count, most, words), dtype=np.bool_)
    for place, each in enumerate(choices):
        items, own = each.candidates.shape
        rows[place, :, :items] = each.rows
        query[place, :items] = each.query
        candidates[place, :items, :own] = each.candidates
        right[place, :items, :own] = each.right
    answer = right.argmax(axis=2)
    return DeviceChoices(
        *(torch.from_numpy(array).to(device) for array in (rows, query, candidates, right, answer))
    )


def right_answers(attention: torch.Tensor, choices: DeviceChoices, reverse: bool) -> torch.Tensor:
    """Right choices per row (examples, heads, rows).

    Args:
        attention: Between words (examples, heads, words, words), rows attend.
        choices: What is asked.
        reverse: Whether the candidate that attends most to the asking word is chosen, instead of
            the one it attends most to. Ties go to the first candidate; where no candidate gets any
            attention (a causal model hides them all), there is no choice, and it is not right.
    """
    heads, words = attention.shape[1], attention.shape[3]
    looked = attention.transpose(2, 3) if reverse else attention
    asked = choices.query[:, None, :, None].expand(-1, heads, -1, words)
    most, chosen = looked.gather(2, asked).masked_fill_(~choices.candidates[:, None], -1.0).max(dim=3)
    hit = choices.right[:, None].expand(-1, heads, -1, -1).gather(3, chosen[..., None])[..., 0]
    return (hit & (most > 0)).float() @ choices.rows.mT


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A head's own attention by distance, ready to say what it would put on any pair of words.

    With A between words, R the compared pairs and U what even attention puts on them:
    ``f(d) = Σ A / Σ U`` over the pairs of R at signed offset d; ``rate_i = Σ_k A_ik / Σ_k f(k−i) U_ik``.

    Attributes:
        attention: A (examples, heads, words, words).
        even: U on R (examples, words, words).
        curve: f by offset d + words − 1 (examples, heads, offsets).
        rate: Per attending word (examples, heads, words).
    """

    attention: torch.Tensor
    even: torch.Tensor
    curve: torch.Tensor
    rate: torch.Tensor


def profile(attention: torch.Tensor, even: torch.Tensor) -> Profile:
    """Distance profiles of all heads.

    Args:
        attention: Between words (examples, heads, words, words).
        even: What even attention puts on each pair, 0 outside the compared pairs (examples, words, words).
    """
    compared = attention * (even > 0)[:, None]
    by_offset = _shifted(even[:, None])[:, 0]
    level = by_offset.sum(1)
    inverse = torch.where(level > 0, 1 / level, 0.0)
    curve = _shifted(compared).sum(2) * inverse[:, None]
    expected = curve @ by_offset.mT
    mass = compared.sum(3)
    return Profile(attention, even, curve, torch.where(expected > 0, mass / expected, 0.0))


def _shifted(pairs: torch.Tensor) -> torch.Tensor:
    """Rows moved so that one column is one signed offset: (…, words, 2 × words − 1)."""
    examples, heads, words, _ = pairs.shape
    wide = pairs.new_zeros((examples, heads, words, 2 * words - 1))
    steps = (wide.stride(0), wide.stride(1), 2 * words - 2, 1)
    wide.as_strided(pairs.shape, steps, words - 1).copy_(pairs)
    return wide


def contrast(heads: Profile, choices: DeviceChoices, reverse: bool) -> torch.Tensor:
    """Attention on the right word beyond what distance gives, summed per row (examples, heads, rows).

    Per item A_ij − rate_i f(j−i) U_ij, with i the asking word and j the right one; the other way
    round where ``reverse``.
    """
    attending, attended = (choices.answer, choices.query) if reverse else (choices.query, choices.answer)
    count, words = heads.attention.shape[1], heads.attention.shape[3]
    cell = (attending * words + attended)[:, None].expand(-1, count, -1)
    seen = heads.attention.flatten(2).gather(2, cell)
    level = heads.even.flatten(1)[:, None].expand(-1, count, -1).gather(2, cell)
    offset = (attended - attending + words - 1)[:, None].expand(-1, count, -1)
    rate = heads.rate.gather(2, attending[:, None].expand(-1, count, -1))
    beyond = seen - rate * heads.curve.gather(2, offset) * level
    return beyond @ choices.rows.mT
