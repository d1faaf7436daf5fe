"""Batches, blocks of rows, and sums of attention that is never formed score as plain arrays in float64 do."""

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import (
    Band,
    Contrast,
    Example,
    Keys,
    MaskSieve,
    Pairs,
    Same,
    score,
)
from headroles.arrays import selection_of
from headroles.errors import BadInput, BadSieve
from headroles.extraction import (
    BatchPlans,
    BatchScores,
    Compared,
    FusedAttention,
    FusedSums,
    LongSums,
    Partners,
    Tokenised,
    Units,
    batch_plan,
    find_partners,
    to_visible_mask,
)
from headroles.records import Passage
from headroles.testing import made_example
from tests.support.annotated import EVERY, MASKS, annotated, attention, visible
from tests.support.largest import Largest
from tests.support.read_models import module_of
from tests.support.reference import draws, rounding_bound

CPU = torch.device("cpu")
HEADS = 3
APART = 3
"""Least distance of the boundaries of partners, in tokens."""


def _strange(example: Example) -> np.ndarray:
    """Cells that follow no rule."""
    cells: np.ndarray = np.random.default_rng(example.size).random((example.size, example.size)) < 0.3
    return cells


def _words(example: Example) -> int:
    return int(example.word.max(initial=-1)) + 1


def _strange_words(example: Example) -> np.ndarray:
    count = _words(example)
    cells: np.ndarray = np.random.default_rng(count).random((count, count)) < 0.3
    return cells


def _most(example: Example) -> np.ndarray:
    cells: np.ndarray = _strange(example).T | _strange(example)
    return cells


def _every_word(example: Example) -> Keys:
    return Keys(np.ones(_words(example), dtype=np.bool_))


def _next_words(example: Example) -> Pairs:
    place = np.arange(max(_words(example) - 1, 0))
    return Pairs(place, place + 1, _words(example))


def _texts(example: Example) -> Same:
    return Same(np.where(example.segment >= 0, 0, -1))


def _half(example: Example) -> np.ndarray:
    """Two groups of tokens; every third token is in none."""
    place = np.arange(example.size)
    return np.where(place % 3 == 2, -1, place % 2)


def _some_words_ask_nothing(example: Example) -> np.ndarray:
    return np.where(np.arange(_words(example)) % 3 == 0, -1, 0)


def _fifth(example: Example) -> np.ndarray:
    place = np.arange(example.size)
    cells: np.ndarray = (place[:, None] * place[None, :]) % 5 == 1
    return cells


def _fourth(example: Example) -> np.ndarray:
    keys: np.ndarray = np.arange(example.size) % 4 == 1
    return keys


STRANGERS = (
    MaskSieve("dense", _strange, contrast=Contrast(0.05, cells=_strange, scope=_most)),
    MaskSieve(
        "scoped", _strange, scope=_most,
        contrast=Contrast(0.05, cells=_strange_words, scope=_every_word, words=True),
    ),
    MaskSieve("earlier", lambda each: Band(-each.size, -1, each.size), specials=True),
    MaskSieve("keys", _fourth, contrast=Contrast(0.05, cells=_fourth, scope=_most)),
    MaskSieve(
        "grouped", _fifth, scope=_texts, groups=_half, contrast=Contrast(0.1, _fourth, _texts, groups=_half)
    ),
    MaskSieve(
        "over words", lambda each: Same(each.word), needs=frozenset({"words"}),
        contrast=Contrast(0.1, _next_words, _every_word, words=True, groups=_some_words_ask_nothing),
    ),
)  # fmt: skip
"""Sieves of third parties, with all that public names can state: scopes, groups, contrasts between words."""
ALL = (*EVERY, *STRANGERS)


def _reference(sieves: Any, example: Example, seen: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    """Scores of mask sieves and contrasts (columns, heads) of plain arrays in float64; NaN for none."""
    shown = np.ones((example.size,) * 2, dtype=np.bool_) if seen is None else seen
    found = score(
        weights[None].astype(np.float64),
        example,
        sieves.sieves,
        visible=shown,
        statistic=sieves.statistic,
        sinks=True,
    )
    none = np.full(len(weights), np.nan)
    return np.stack([found[name][0] if name in found else none for name in sieves.columns])


def _same(got: np.ndarray, wanted: np.ndarray, close: float = 4e-6) -> None:
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    limit = close * np.maximum(1, np.nan_to_num(np.abs(wanted)))
    apart = np.nan_to_num(np.abs(got - wanted))
    assert (apart <= limit).all(), apart.max(axis=1)


def _blocks(plan: Any, weights: np.ndarray, seen: np.ndarray | None, step: int) -> np.ndarray:
    """Two layers in blocks of rows, without keys that no query of a block sees; the scores of the second."""
    sums, size = LongSums(plan, len(weights), CPU), weights.shape[1]
    rows = torch.from_numpy(weights.astype(np.float32))
    for _ in range(2):
        for start in range(0, size, step):
            stop = min(start + step, size)
            keys = np.flatnonzero(weights[:, start:stop].any((0, 1)))
            first, last = (keys[0], keys[-1] + 1) if len(keys) else (0, 1)
            sums.add(start, rows[:, start:stop, first:last], int(first))
        found: np.ndarray = sums.finish()
    return found


def _agree(sieves: Any, examples: Sequence[Example], seen: Sequence[np.ndarray | None], seed: int) -> int:
    """Compare both engines with the reference, scores and bounds; return how many columns have values."""
    rng = np.random.default_rng(seed)
    width = max(each.size for each in examples) + 3
    padded = rng.random((len(examples), HEADS, width, width), dtype=np.float32) * 100  # rubbish around each
    wanted = []
    for row, (example, own) in enumerate(zip(examples, seen, strict=True)):
        shown = np.ones((example.size,) * 2, dtype=np.bool_) if own is None else own
        weights = attention(rng, HEADS, shown)
        padded[row, :, : example.size, : example.size] = weights
        wanted.append(_reference(sieves, example, own, weights))
    plan = batch_plan(sieves.layout, sieves.masks_of(examples), examples, seen, width, CPU)
    batch = plan.scores(torch.from_numpy(padded)).numpy()
    for row, (example, own) in enumerate(zip(examples, seen, strict=True)):
        long = sieves.long_plan(example, to_visible_mask(own))
        whole = sieves.plan(example, own, np.float64)
        weights = padded[row, :, : example.size, : example.size].astype(np.float64)
        found = _blocks(long, weights, own, int(rng.integers(3, 9)))
        exact = wanted[row][: len(found)]  # columns of scorers come last, and are not of a plan
        _same(batch[row], exact, 1e-5)
        _same(found, exact)
        for name in ("cells", "low", "high"):
            bound = getattr(whole, name)
            np.testing.assert_allclose(getattr(plan, name)[row], bound, rtol=1e-12)
            np.testing.assert_allclose(getattr(long, name), bound, rtol=1e-9)
    return int(np.isfinite(np.stack(wanted)).any(axis=(0, 2)).sum())


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("mask", [*MASKS, "mixed"])
def test_every_sieve_scores_batches_and_blocks_as_plain_arrays(mask: str, statistic: str) -> None:
    rng, sieves = np.random.default_rng(3), selection_of(ALL, statistic=statistic)
    lengths = ([14, 17], [23], [9, 4], [31])
    made = [annotated(rng, own, specials=number != 1, gaps=number > 1) for number, own in enumerate(lengths)]
    kinds = [mask if mask != "mixed" else ("causal", "dense")[number % 2] for number in range(len(made))]
    seen = [
        None if kind == "dense" else visible(rng, each.size, kind)
        for each, kind in zip(made, kinds, strict=True)
    ]
    assert _agree(sieves, made, seen, seed=5) >= 20


@settings(max_examples=draws(40))
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(MASKS), st.lists(st.integers(2, 30), min_size=1, max_size=2),
    st.booleans(), st.booleans(), st.sampled_from([1, 64]),
)  # fmt: skip
def test_generated_examples_score_batches_and_blocks_as_plain_arrays(
    seed: int, mask: str, lengths: list[int], specials: bool, gaps: bool, run: int
) -> None:
    rng = np.random.default_rng(seed)
    names: list[str | MaskSieve]
    names = ["block", "syntactic", "duplicate", "coreference", "identical", "local", *STRANGERS]
    made = annotated(rng, lengths, specials=specials, gaps=gaps)
    seen = None if mask == "dense" else visible(rng, made.size, mask)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module_of("OffsetKeys"), "RUN", run)
        _agree(selection_of(names), [made], [seen], seed)


@pytest.mark.parametrize("mask", ["dense", "chunks"])
def test_cells_that_are_too_many_to_list_are_asked_for_by_rows(
    mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of("row_blocks"), "BLOCK", 3000)
    rng, sieves = np.random.default_rng(6), selection_of(STRANGERS)
    example = annotated(rng, [160, 165], gaps=True)
    seen = None if mask == "dense" else visible(rng, example.size, mask)
    plan = sieves.long_plan(example, to_visible_mask(seen))
    if mask == "dense":
        assert len(plan.rowwise) >= 2
        assert any(profile.rowwise for profile in plan.profiles)
    _agree(sieves, [example], [seen], seed=1)


def test_even_attention_scores_0_and_a_fixed_offset_has_no_contrast() -> None:
    rng, sieves = np.random.default_rng(0), selection_of(ALL)
    example = annotated(rng, [20, 25])
    fixed = np.stack([np.eye(example.size, k=offset) for offset in (-1, 1, 2)])
    plan = sieves.long_plan(example, None)
    found = _blocks(plan, fixed, None, 5)
    for column in ("block:matched", "identical:matched"):
        assert np.abs(found[sieves.columns.index(column)]).max() < 1e-5
    even = np.full((HEADS, example.size, example.size), 1 / example.size)
    np.testing.assert_allclose(
        np.nan_to_num(_blocks(plan, even, None, 5)), 0, atol=rounding_bound(example.size)
    )
    together = batch_plan(sieves.layout, sieves.masks_of([example]), [example], [None], example.size, CPU)
    flat = together.scores(torch.from_numpy(even[None]).float()).numpy()
    np.testing.assert_allclose(np.nan_to_num(flat), 0, atol=rounding_bound(example.size))


def test_padding_and_what_no_query_sees_may_hold_anything_and_the_rest_may_not() -> None:
    rng = np.random.default_rng(2)
    sieves = selection_of(["local", "block"])
    made = [replace(annotated(rng, [8, 9 + number]), key=f"made/{number}") for number in range(3)]
    width = max(each.size for each in made) + 2
    weights = torch.full((3, 2, width, width), torch.nan)
    for row, each in enumerate(made):
        weights[row, :, : each.size, : each.size] = 1 / each.size
    hidden = np.ones((made[1].size,) * 2, dtype=np.bool_)
    hidden[:, 2] = False
    scores = BatchScores(BatchPlans(sieves, made, 2, CPU), 2, CPU)
    spoilt = weights.clone()
    spoilt[1, :, :, 2] = torch.nan
    for _ in range(2):
        scores.add(spoilt, [None, hidden, None])
    assert scores.done
    assert np.isfinite(scores.values()).all()
    again = BatchScores(BatchPlans(sieves, made, 2, CPU), 2, CPU)
    again.add(weights, [None] * 3)
    spoilt = weights.clone()
    spoilt[2, 1, 3, 0] = torch.nan
    again.add(spoilt, [None] * 3)
    with pytest.raises(BadInput, match="layer 1 gives some that are not for the input 'made/2'"):
        again.values()
    single = replace(annotated(rng, [12]), key="single")
    plan = batch_plan(sieves.layout, sieves.masks_of([single]), [single], [None], single.size, CPU)
    found = plan.scores(torch.full((1, 2, single.size, single.size), torch.nan))[0].numpy()
    assert np.isinf(found[sieves.columns.index("local")]).all()
    assert np.isnan(found[sieves.columns.index("block")]).all()  # there is nothing to say


def test_parts_of_a_batch_stay_in_the_cache_and_give_the_scores_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, sieves = np.random.default_rng(1), selection_of(None)
    made = [annotated(rng, [5 + 3 * number, 9]) for number in range(6)]
    width = max(each.size for each in made)
    weights = torch.zeros((6, HEADS, width, width))
    for row, each in enumerate(made):
        own = attention(rng, HEADS, np.ones((each.size,) * 2, dtype=np.bool_))
        weights[row, :, : each.size, : each.size] = torch.from_numpy(own)
    wanted, parts = None, []
    for chunk in (2**30, 4 * HEADS * width**2 * 2, 1):
        monkeypatch.setattr(module_of("batch_plan"), "CHUNK", chunk)
        scores = BatchScores(BatchPlans(sieves, made, HEADS, CPU), 1, CPU)
        parts.append(len(scores.add(weights, [None] * 6)[0]))
        wanted = scores.values() if wanted is None else wanted
        np.testing.assert_allclose(scores.values(), wanted, rtol=0, atol=rounding_bound(width))
    assert parts == [1, 3, 6]


def test_a_mask_of_the_wrong_shape_is_named_in_a_batch() -> None:
    short = MaskSieve("short", lambda example: np.ones(example.size - 1, dtype=np.bool_))
    with pytest.raises(BadSieve, match="'short' made a mask of shape"):
        BatchPlans(selection_of([short]), [made_example(np.random.default_rng(0))], HEADS, CPU)


def test_threads_that_add_different_heads_do_not_share_memory_of_joined_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, sieves = np.random.default_rng(4), selection_of(["syntactic", "coreference", STRANGERS[5]])
    example = annotated(rng, [20, 20])
    weights = attention(rng, 2, np.ones((example.size,) * 2, dtype=np.bool_)).astype(np.float32)
    plan = sieves.long_plan(example, None)
    assert any(profile.scope is not None and not profile.spread.plain for profile in plan.profiles)
    wanted = _blocks(plan, weights, None, example.size)
    meeting = Barrier(2)
    honest = Units.gather

    def meet(self: Any, *given: Any) -> Any:
        joined = honest(self, *given)
        try:
            meeting.wait(0.05)  # both threads have joined rows, if nothing keeps one of them waiting
        except BrokenBarrierError:
            meeting.reset()
        return joined

    monkeypatch.setattr(Units, "gather", meet)
    sums = LongSums(plan, 2, CPU)
    threads = [
        Thread(
            target=sums.add, args=(0, torch.from_numpy(weights[head : head + 1]), 0, slice(head, head + 1))
        )
        for head in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _same(sums.finish(), wanted)


@pytest.mark.parametrize("shown", [None, Band(-500, 0, 2000)])
def test_a_plan_for_2000_tokens_takes_less_than_the_attention_of_one_head(
    shown: Band | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of("row_blocks"), "BLOCK", 2**14)
    made = made_example(np.random.default_rng(0), words=1000)
    keep = slice(0, 2000)
    tokens = tuple(f"w{each % 300}" for each in range(2000))
    example = Example(
        "long",
        tokens,
        segment=made.segment[keep],
        special=made.special[keep],
        word=made.word[keep],
        arcs=made.arcs,
    )
    sieves = selection_of([*EVERY[:10], "identical", "duplicate", "previous", "first"])
    tracemalloc.start()
    plan = sieves.long_plan(example, shown)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    unknown = [name for name, cells in zip(sieves.columns, plan.cells, strict=False) if np.isnan(cells)]
    assert unknown == [name for name in sieves.columns if name.endswith(":class")]  # of a whole shard
    assert not plan.rowwise
    assert peak < 4 * 2000**2
    assert held < 2000 * 4000


# Attention that is never formed.


def _pair(n: int, key_heads: int, seen: np.ndarray) -> tuple[FusedAttention, torch.Tensor]:
    """The same attention of four heads unformed, and formed in float64."""
    rng = torch.Generator().manual_seed(n)
    query, key = (torch.randn((heads, n, 8), generator=rng) for heads in (4, key_heads))
    logits = (query.double() @ key.double().repeat_interleave(4 // key_heads, 0).transpose(1, 2)) * 0.6
    weights = logits.masked_fill(~torch.from_numpy(seen), -torch.inf).softmax(-1)
    shown = None if seen.all() else to_visible_mask(seen)
    return FusedAttention(query, key, 0.6, shown, CPU), weights


@pytest.mark.parametrize(
    ("mask", "key_heads"),
    [
        ("causal", 2),
        *(
            pytest.param(*own, marks=pytest.mark.ci)
            for own in (("dense", 4), ("causal window", 1), ("random", 2))
        ),
    ],
)
def test_sums_over_unformed_attention_are_those_of_formed_weights(mask: str, key_heads: int) -> None:
    rng, n = np.random.default_rng(1), 37
    seen = visible(rng, n, mask) | np.eye(n, dtype=np.bool_)
    unformed, weights = _pair(n, key_heads, seen)
    columns = torch.from_numpy(rng.random((n, 21)))
    close: dict[str, Any] = {"rtol": 0, "atol": 1e-5}
    torch.testing.assert_close(unformed.sums(columns).double(), weights @ columns, **close)
    query, key = rng.integers(0, n, (2, 90))
    torch.testing.assert_close(unformed.cells(query, key).double(), weights[:, query, key], **close)
    sets = torch.from_numpy((rng.random((n, 3)) < 0.5).astype(np.float32))
    label = torch.from_numpy(rng.integers(-1, 3, n))
    masses, spread = unformed.spread(sets, label)
    torch.testing.assert_close(masses.double(), weights @ sets.double(), **close)
    inside = weights * sets.double().T[label.clamp(min=0)]
    mass = inside.sum(-1)
    wanted = torch.xlogy(mass, mass) - torch.xlogy(inside, inside).sum(-1)
    torch.testing.assert_close(spread.double(), wanted * (label >= 0), **close)
    for scoped in (False, True):
        unit, units = np.sort(rng.integers(-1, 12, n)), 12
        taken, scope = (unit >= 0) & (unit != 4), rng.random((units, units)) < 0.7
        own = Compared(
            torch.from_numpy(unit), torch.from_numpy(taken), apart=True,
            scope=torch.from_numpy(scope) if scoped else None, units=units,
        )  # fmt: skip
        share = rng.random(n)
        offsets, sums = unformed.offsets(own, torch.from_numpy(share).float())
        pairs = taken[:, None] & taken[None] & (unit[:, None] != unit[None])
        pairs &= scope[unit[:, None], unit[None]] | (not scoped)
        there = weights.numpy() * pairs * share[:, None]
        by_offset = np.zeros((4, 2 * units - 1))
        for head in range(4):
            np.add.at(by_offset[head], (unit[None] - unit[:, None] + units - 1)[pairs], there[head][pairs])
        np.testing.assert_allclose(offsets.numpy(), by_offset, rtol=0, atol=1e-5)
        np.testing.assert_allclose(sums.numpy(), there.sum(-1), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "mask", ["causal", *(pytest.param(mask, marks=pytest.mark.ci) for mask in ("dense", "random"))]
)
def test_scores_of_unformed_attention_are_those_of_plain_arrays(mask: str) -> None:
    rng, sieves = np.random.default_rng(3), selection_of([name for name in ALL if name != "patterns"])
    example = annotated(rng, [40, 45])
    seen = visible(rng, example.size, mask) | np.eye(example.size, dtype=np.bool_)
    unformed, weights = _pair(example.size, 2, seen)
    plan = sieves.long_plan(example, to_visible_mask(seen))
    wanted = _reference(sieves, example, seen, weights.numpy())[: plan.columns]
    _same(FusedSums(plan, 4, CPU).scores(unformed), wanted, 2e-5)


def test_no_tensor_outside_of_the_library_has_a_cell_for_each_pair_of_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch.utils._python_dispatch import _disable_current_modes

    n = 401
    unformed, _ = _pair(n, 2, np.tri(n, dtype=np.bool_))
    place = torch.arange(n)
    module = module_of("FusedAttention")
    flex = module._function("cpu")

    def unwatched(function: Callable[..., Any]) -> Callable[..., Any]:
        """Without its inside being watched: on a processor, torch itself forms logits there."""

        def call(*given: Any, **options: Any) -> Any:
            with _disable_current_modes():
                return function(*given, **options)

        return call

    monkeypatch.setattr(module, "_function", lambda device: unwatched(flex))
    monkeypatch.setattr(torch.autograd, "grad", unwatched(torch.autograd.grad))
    with Largest() as largest:
        unformed.sums(torch.ones((n, 12)))
        unformed.cells(np.arange(n), np.arange(n))
        unformed.spread(torch.ones((n, 2)), place % 2)
        unformed.offsets(Compared(place, place >= 0, apart=True, scope=None, units=n), torch.ones(n))
    assert n < largest.numbers < n * n


# Partners: pairs of inputs that exchange their layouts.


def _segment(boundary: int, size: int) -> np.ndarray:
    """A class token, ``boundary − 2`` tokens, a separator, the second text from ``boundary``, a separator."""
    segment = np.full(size, -1)
    segment[1 : boundary - 1], segment[boundary : size - 1] = 0, 1
    return segment


def _tokenised(layouts: Sequence[tuple[int, int]]) -> list[Tokenised]:
    return [
        Tokenised(
            Passage(f"made/{number}", ("a", "b")), {}, tuple(f"w{place}" for place in range(size)),
            _segment(boundary, size), np.zeros((size, 2), dtype=np.int64), np.arange(size) == 0, False,
        )
        for number, (boundary, size) in enumerate(layouts)
    ]  # fmt: skip


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


@pytest.mark.parametrize("seed", range(4))
def test_partners_have_one_length_and_far_boundaries_and_are_as_many_as_can_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layouts = [(int(rng.integers(4, 12)), int(rng.choice([16, 17]))) for _ in range(12)]
    partners = find_partners(_tokenised(layouts), [str(number) for number in range(12)])
    used = [*partners.first.tolist(), *partners.second.tolist()]
    assert len(set(used)) == len(used) == 12 - partners.alone
    for one, other in _pairs(partners):
        assert one < other
        assert layouts[one][1] == layouts[other][1]
        assert abs(layouts[one][0] - layouts[other][0]) >= APART
        assert (partners.of(one), partners.of(other)) == (other, one)
    for size in (16, 17):
        here = [boundary for boundary, length in layouts if length == size]
        assert sum(layouts[one][1] == size for one, _ in _pairs(partners)) == _most_pairs(here)


def test_a_unit_of_several_inputs_pairs_within_itself_alone_and_single_texts_have_no_partner() -> None:
    made = _tokenised([(4, 16), (10, 16), (4, 16), (10, 16), (5, 16), (11, 16)])
    assert _pairs(find_partners(made, ["x", "x", "a", "b", "y", "c"])) == {(0, 1), (2, 3), (4, 5)}
    assert _pairs(find_partners(made, ["x", "a", "x", "b", "x", "c"])) == set()
    members = [1, 1, 2, 1, 1, 1]  # the other input of its unit is in another shard
    assert _pairs(find_partners(made, list("abcdef"), members)) == {(0, 3), (4, 5)}
    single, joint, *_ = made
    single = replace(single, texts=np.where(single.texts == 1, 0, single.texts))
    joint = replace(joint, stack=np.zeros(16, dtype=np.int64))
    partners = find_partners([single, joint, made[2]], list("abc"))
    assert (_pairs(partners), partners.alone) == (set(), 1)
    values = np.arange(8, dtype=np.float32).reshape(1, 4, 1, 2)
    merged = Partners(np.array([0]), np.array([2]), np.ones(4, dtype=np.bool_)).merge(values)
    assert merged[0, 0].tolist() == [[2.0, 3.0]]
    assert np.isnan(merged[0, 1:]).all()


@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
@pytest.mark.parametrize("mask", ["dense", "causal", "window"])
def test_batches_and_blocks_give_the_swap_that_loops_give(mask: str, statistic: str) -> None:
    rng, size = np.random.default_rng(2), 30
    names = np.array([*"abcdef", ".", "##,"])
    one, other = (
        Example(f"e{boundary}", tuple(rng.choice(names, size)), segment=_segment(boundary, size))
        for boundary in (9, 18)
    )
    made = [replace(one, partner=other), replace(other, partner=one), one]
    sieves = replace(selection_of(["local", "block", "identical"], statistic=statistic), paired=True)
    offset = np.arange(size)[:, None] - np.arange(size)[None, :]
    seen = {"dense": None, "causal": offset >= 0, "window": (offset >= 0) & (offset < 14)}[mask]
    shown = np.ones((size, size), dtype=np.bool_) if seen is None else seen
    weights = np.stack([attention(rng, HEADS, shown) for _ in made])
    plan = batch_plan(sieves.layout, sieves.masks_of(made), made, [seen] * 3, size, CPU)
    batch = plan.scores(torch.from_numpy(weights).float()).numpy()
    column = sieves.columns.index("block:swap")
    for row, example in enumerate(made):
        long = sieves.long_plan(example, to_visible_mask(seen))
        blocks = _blocks(long, weights[row], seen, 7)
        _same(batch[row], blocks, 1e-5)
        assert np.isfinite(blocks[column]).all() == (example.partner is not None)
        if example.partner is None:
            continue
        assert (long.low[column] <= blocks[column]).all()
        assert (blocks[column] <= long.high[column]).all()
        if mask == "dense" and statistic == "selectivity":
            both = (_selectivity(weights[row], example, own.segment) for own in (example, example.partner))
            np.testing.assert_allclose(blocks[column], np.subtract(*both), atol=1e-5)


def _selectivity(weights: np.ndarray, example: Example, layout: np.ndarray) -> np.ndarray:
    """Youden's J within the tokens that both layouts share, by loops over queries and keys."""
    other, marks = example.partner, {".", "##,"}
    assert other is not None
    shared = [
        place
        for place in range(example.size)
        if example.segment[place] >= 0 and other.segment[place] >= 0
        if example.tokens[place] not in marks and other.tokens[place] not in marks
    ]
    total, expected = np.zeros(len(weights)), 0.0
    for text in (0, 1):
        own = [place for place in shared if layout[place] == text]
        chance = len(own) / len(shared)
        for query in own:
            share = 0.5 / len(own)
            mass = weights[:, query, own].sum(axis=1) - chance * weights[:, query, shared].sum(axis=1)
            total += share * mass
            expected += share * chance
    return total / (1 - expected)
