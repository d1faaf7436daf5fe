"""Partners have one length, different boundaries and whole units; all engines give their swaps alike."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.capture.readers import to_visible_mask
from headroles.extraction.scoring.batches.reading import batch_plan
from headroles.extraction.scoring.blocks.sums import LongSums
from headroles.extraction.scoring.pairing import APART, Partners, find_partners
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.sieves.weights.reference import apply
from tests.support.reference import rounding_bound

HEADS = 3


def _segment(boundary: int, size: int) -> np.ndarray:
    """A class token, ``boundary − 2`` tokens, a separator, the second text from ``boundary``, a separator."""
    segment = np.full(size, -1)
    segment[1 : boundary - 1], segment[boundary : size - 1] = 0, 1
    return segment


def _tokenised(layouts: Sequence[tuple[int, int]]) -> list[Tokenised]:
    made = []
    for number, (boundary, size) in enumerate(layouts):
        made.append(
            Tokenised(
                passage=Passage(f"made/{number}", ("a", "b")),
                inputs={},
                tokens=tuple(f"w{place}" for place in range(size)),
                texts=_segment(boundary, size),
                spans=np.zeros((size, 2), dtype=np.int64),
                class_id=np.arange(size) == 0,
                truncated=False,
            )
        )
    return made


def _pairs(partners: Partners) -> set[tuple[int, int]]:
    return set(zip(partners.first.tolist(), partners.second.tolist(), strict=True))


def _most_pairs(boundaries: Sequence[int]) -> int:
    """Most pairs of boundaries far enough apart, by trying all."""
    if len(boundaries) < 2:
        return 0
    first, rest = boundaries[0], boundaries[1:]
    best = _most_pairs(rest)
    for place, other in enumerate(rest):
        if abs(other - first) >= APART:
            best = max(best, 1 + _most_pairs([*rest[:place], *rest[place + 1 :]]))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_partners_have_one_length_and_far_boundaries_and_are_as_many_as_can_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layouts = [(int(rng.integers(4, 12)), int(rng.choice([16, 17]))) for _ in range(14)]
    partners = find_partners(_tokenised(layouts), [str(number) for number in range(14)])
    used = [*partners.first.tolist(), *partners.second.tolist()]
    assert len(set(used)) == len(used)
    assert partners.alone == 14 - len(used)
    for one, other in _pairs(partners):
        assert one < other
        assert layouts[one][1] == layouts[other][1]
        assert abs(layouts[one][0] - layouts[other][0]) >= APART
        assert (partners.of(one), partners.of(other)) == (other, one)
    for size in (16, 17):
        here = [boundary for boundary, length in layouts if length == size]
        made = sum(layouts[one][1] == size for one, _ in _pairs(partners))
        assert made == _most_pairs(here)


def test_a_unit_of_several_inputs_pairs_within_itself_alone() -> None:
    tokenised = _tokenised([(4, 16), (10, 16), (4, 16), (10, 16), (5, 16), (11, 16)])
    assert _pairs(find_partners(tokenised, ["x", "x", "a", "b", "y", "c"])) == {(0, 1), (2, 3), (4, 5)}
    assert _pairs(find_partners(tokenised, ["x", "a", "x", "b", "x", "c"])) == set()
    members = [1, 1, 2, 1, 1, 1]  # the other input of its unit is in another shard
    assert _pairs(find_partners(tokenised, list("abcdef"), members)) == {(0, 3), (4, 5)}


def test_single_texts_and_joint_inputs_have_no_partner() -> None:
    single, joint, *others = _tokenised([(4, 16), (10, 16), (4, 16)])
    single = replace(single, texts=np.where(single.texts == 1, 0, single.texts))
    joint = replace(joint, stack=np.zeros(16, dtype=np.int64))
    partners = find_partners([single, joint, *others], list("abc"))
    assert (_pairs(partners), partners.alone) == (set(), 1)


def test_the_value_of_a_pair_is_the_mean_of_its_parts_at_its_first_input() -> None:
    values = np.arange(8, dtype=np.float32).reshape(1, 4, 1, 2)
    merged = Partners(np.array([0]), np.array([2]), np.ones(4, dtype=np.bool_)).merge(values)
    assert merged[0, 0].tolist() == [[2.0, 3.0]]
    assert np.isnan(merged[0, 1:]).all()


def test_a_partner_of_another_length_is_refused() -> None:
    with pytest.raises(BadInput, match="'a' has 2 tokens and 'b' has 1"):
        Example("a", ("x", "y"), partner=Example("b", ("x",)))


def _pair_of_examples(rng: np.random.Generator) -> list[Example]:
    names = np.array([*"abcdef", ".", "##,"])
    size = 30
    made = [
        Example(f"e{boundary}", tuple(rng.choice(names, size)), segment=_segment(boundary, size))
        for boundary in (9, 18)
    ]
    return [replace(made[0], partner=made[1]), replace(made[1], partner=made[0]), made[0]]


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("kind", ["all", "causal", "window"])
def test_batches_and_blocks_give_the_swap_of_the_reference(kind: str, statistic: str) -> None:
    rng = np.random.default_rng(2)
    examples = _pair_of_examples(rng)
    sieves = replace(selection_of(["local", "block", "identical"], statistic=statistic), paired=True)
    size = examples[0].size
    offset = np.arange(size)[:, None] - np.arange(size)[None, :]
    visible = {"all": None, "causal": offset >= 0, "window": (offset >= 0) & (offset < 14)}[kind]
    logits = rng.normal(0, 2, (len(examples), HEADS, size, size))
    weights = np.exp(logits) * (1 if visible is None else visible)
    weights /= weights.sum(axis=3, keepdims=True)
    masks = sieves.masks_of(examples)
    device = torch.device("cpu")
    plan = batch_plan(sieves.layout, masks, examples, [visible] * 3, size + 2, device)
    padded = np.zeros((len(examples), HEADS, size + 2, size + 2), dtype=np.float32)
    padded[:, :, :size, :size] = weights
    batch = plan.scores(torch.from_numpy(padded)).numpy()
    column = sieves.columns.index("block:swap")
    for row, example in enumerate(examples):
        single = sieves.plan(example, visible, np.float64)
        wanted = apply(single, weights[row])
        shown = to_visible_mask(visible)
        sums = LongSums(sieves.long_plan(example, shown), weights.shape[1], device)
        for start in range(0, size, 7):
            sums.add(start, torch.from_numpy(weights[row, :, start : start + 7].astype(np.float32)))
        long = sums.finish()
        for scores in (batch[row], long):
            np.testing.assert_array_equal(np.isnan(scores), np.isnan(wanted))
            np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=rounding_bound(size))
        assert np.isfinite(wanted[column]).all() == (example.partner is not None)
        for name in ("cells", "low", "high"):
            np.testing.assert_allclose(getattr(plan, name)[row], getattr(single, name), rtol=1e-12)
            np.testing.assert_allclose(getattr(sums.plan, name), getattr(single, name), rtol=1e-12)
        if example.partner is not None:
            assert (single.low[column] <= wanted[column]).all()
            assert (wanted[column] <= single.high[column]).all()


def test_the_swap_is_the_selectivity_under_one_layout_less_that_under_the_other() -> None:
    rng = np.random.default_rng(5)
    one, other, _ = _pair_of_examples(rng)
    sieves = replace(selection_of(["block"]), paired=True)
    attention = rng.dirichlet(np.ones(one.size), (HEADS, one.size))
    found = apply(sieves.plan(one, None, np.float64), attention)[sieves.columns.index("block:swap")]
    wanted = _selectivity(attention, one, one.segment) - _selectivity(attention, one, other.segment)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def _selectivity(attention: np.ndarray, example: Example, layout: np.ndarray) -> np.ndarray:
    """Youden's J within the tokens that both layouts share, by loops over queries and keys."""
    other = example.partner
    assert other is not None
    marks = {".", "##,"}
    shared = [
        place
        for place in range(example.size)
        if example.segment[place] >= 0 and other.segment[place] >= 0
        if example.tokens[place] not in marks and other.tokens[place] not in marks
    ]
    total, expected = np.zeros(len(attention)), 0.0
    for text in (0, 1):
        own = [place for place in shared if layout[place] == text]
        chance = len(own) / len(shared)
        for query in own:
            weight = 0.5 / len(own)
            total += weight * (
                attention[:, query, own].sum(axis=1) - chance * attention[:, query, shared].sum(axis=1)
            )
            expected += weight * chance
    return total / (1 - expected)
