"""Batches, blocks of rows, and sums of attention that is never formed score as plain arrays in float64 do."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from headroles import Band, Contrast, Example, Keys, MaskSieve, Pairs, Same, extraction, score
from headroles.arrays import selection_of
from headroles.records import Passage
from tests.support.annotated import EVERY, MASKS, annotated, attention, visible
from tests.support.read_models import module_of, sizes_made

HEADS = 3
APART = 3
"""Least distance of the boundaries of partners, in tokens."""


def _cells(count: int) -> np.ndarray:
    """Cells that follow no rule."""
    cells: np.ndarray = np.random.default_rng(count).random((count, count)) < 0.3
    return cells


def _strange(example: Example) -> np.ndarray:
    return _cells(example.size)


def _most(example: Example) -> np.ndarray:
    cells: np.ndarray = _strange(example).T | _strange(example)
    return cells


def _words(example: Example) -> int:
    return int(example.word.max(initial=-1)) + 1


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


def _fourth(example: Example) -> np.ndarray:
    keys: np.ndarray = np.arange(example.size) % 4 == 1
    return keys


STRANGERS = (
    MaskSieve("dense", _strange, contrast=Contrast(0.05, cells=_strange, scope=_most)),
    MaskSieve(
        "scoped", _strange, scope=_most,
        contrast=Contrast(0.05, cells=lambda each: _cells(_words(each)), scope=_every_word, words=True),
    ),
    MaskSieve("earlier", lambda each: Band(-each.size, -1, each.size), specials=True),
    MaskSieve("keys", _fourth, contrast=Contrast(0.05, cells=_fourth, scope=_most)),
    MaskSieve(
        "grouped", lambda each: np.outer(np.arange(each.size), np.arange(each.size)) % 5 == 1, scope=_texts,
        groups=_half, contrast=Contrast(0.1, _fourth, _texts, groups=_half),
    ),
    MaskSieve(
        "over words", lambda each: Same(each.word), needs=frozenset({"words"}),
        contrast=Contrast(
            0.1, _next_words, _every_word, words=True,
            groups=lambda each: np.where(np.arange(_words(each)) % 3 == 0, -1, 0),
        ),
    ),
)  # fmt: skip
"""Sieves of third parties, with all that public names can state: scopes, groups, contrasts between words."""
ALL = (*EVERY, *STRANGERS)


def _reference(sieves: Any, example: Example, seen: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    """Scores of mask sieves and contrasts (columns, heads) of plain arrays in float64; NaN for none."""
    shown = np.ones((example.size,) * 2, dtype=np.bool_) if seen is None else seen
    how: dict[str, Any] = {"visible": shown, "statistic": sieves.statistic, "sinks": True}
    found = score(weights[None].astype(np.float64), example, sieves.sieves, **how)
    none = np.full(len(weights), np.nan)
    plan = sieves.plan(example, seen, np.float64)
    for column, sums in zip(plan.swaps, plan.exchanged, strict=True):
        found[sieves.columns[column]] = (weights.reshape(len(weights), -1) @ sums)[None]
    return np.stack([found[name][0] if name in found else none for name in sieves.columns])


def _same(got: np.ndarray, wanted: np.ndarray, close: float = 4e-6) -> None:
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    limit = close * np.maximum(1, np.nan_to_num(np.abs(wanted)))
    apart = np.nan_to_num(np.abs(got - wanted))
    assert (apart <= limit).all(), apart.max(axis=1)


def _blocks(plan: Any, weights: np.ndarray, step: int) -> np.ndarray:
    """Two layers in blocks of rows, without keys that no query of a block sees; the scores of the second."""
    import torch

    sums, size = extraction.LongSums(plan, len(weights), torch.device("cpu")), weights.shape[1]
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
    import torch

    rng, cpu = np.random.default_rng(seed), torch.device("cpu")
    width = max(each.size for each in examples) + 3
    padded = np.full((len(examples), HEADS, width, width), np.nan, dtype=np.float32)
    wanted = []
    for row, (example, own) in enumerate(zip(examples, seen, strict=True)):
        shown = np.ones((example.size,) * 2, dtype=np.bool_) if own is None else own
        weights = attention(rng, HEADS, shown)
        padded[row, :, : example.size, : example.size] = weights
        wanted.append(_reference(sieves, example, own, weights))
    plan = extraction.batch_plan(sieves.layout, sieves.masks_of(examples), examples, seen, width, cpu)
    scores = extraction.BatchScores(extraction.BatchPlans(sieves, examples, HEADS, cpu), 1, cpu)
    scores.add(torch.from_numpy(padded), seen)
    batch = scores.values()[:, :, 0].swapaxes(0, 1)
    for row, (example, own) in enumerate(zip(examples, seen, strict=True)):
        long = sieves.long_plan(example, extraction.to_visible_mask(own))
        whole = sieves.plan(example, own, np.float64)
        weights = padded[row, :, : example.size, : example.size].astype(np.float64)
        found = _blocks(long, weights, int(rng.integers(3, 9)))
        exact = wanted[row][: len(found)]  # columns of scorers come last, and are not of a plan
        _same(batch[row], exact, 1e-5)
        _same(found, exact)
        for name in ("cells", "low", "high"):
            bound = getattr(whole, name)
            np.testing.assert_allclose(getattr(plan, name)[row], bound, rtol=1e-6)
            np.testing.assert_allclose(getattr(long, name), bound, rtol=1e-9)
    return int(np.isfinite(np.stack(wanted)).any(axis=(0, 2)).sum())


@pytest.mark.parametrize("mask", [*MASKS, "mixed"])
def test_every_sieve_scores_batches_and_blocks_as_plain_arrays(
    mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    lengths = ([14, 17], [23], [9, 4], [31], [2])
    made = [annotated(rng, own, specials=number != 1, gaps=number > 1) for number, own in enumerate(lengths)]
    made[0] = replace(made[0], partner=annotated(rng, [20, 11]))
    kinds = [mask if mask != "mixed" else ("causal", "dense")[number % 2] for number in range(len(made))]
    seen = [
        None if kind == "dense" else visible(rng, each.size, kind)
        for each, kind in zip(made, kinds, strict=True)
    ]
    for statistic, run, chunk in (("selectivity", 64, 2**30), ("bias", 1, 1)):
        monkeypatch.setattr(module_of("OffsetKeys"), "RUN", run)
        monkeypatch.setattr(module_of("batch_plan"), "CHUNK", chunk)  # the batch at once, and in parts
        sieves = replace(selection_of(ALL, statistic=statistic), paired=True)
        assert _agree(sieves, made, seen, seed=5) >= 20


@pytest.mark.parametrize("mask", ["dense", "chunks"])
def test_cells_that_are_too_many_to_list_are_asked_for_by_rows(
    mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of("row_blocks"), "BLOCK", 3000)
    rng, sieves = np.random.default_rng(6), selection_of(STRANGERS)
    example = annotated(rng, [160, 165], gaps=True)
    seen = None if mask == "dense" else visible(rng, example.size, mask)
    plan = sieves.long_plan(example, extraction.to_visible_mask(seen))
    if mask == "dense":
        assert len(plan.rowwise) >= 2
        assert any(profile.rowwise for profile in plan.profiles)
    _agree(sieves, [example], [seen], seed=1)


# Attention that is never formed.


def _pair(n: int, key_heads: int, seen: np.ndarray) -> tuple[Any, Any]:
    """The same attention of four heads unformed, and formed in float64."""
    import torch

    rng = torch.Generator().manual_seed(n)
    query, key = (torch.randn((heads, n, 8), generator=rng) for heads in (4, key_heads))
    logits = (query.double() @ key.double().repeat_interleave(4 // key_heads, 0).transpose(1, 2)) * 0.6
    weights = logits.masked_fill(~torch.from_numpy(seen), -torch.inf).softmax(-1)
    shown = None if seen.all() else extraction.to_visible_mask(seen)
    return extraction.FusedAttention(query, key, 0.6, shown, torch.device("cpu")), weights


@pytest.mark.parametrize(
    ("mask", "key_heads"),
    [
        ("causal", 2),
        *(pytest.param(*own, marks=pytest.mark.ci) for own in (("dense", 4), ("window", 1), ("random", 2))),
    ],
)
def test_scores_of_unformed_attention_are_those_of_plain_arrays(mask: str, key_heads: int) -> None:
    import torch

    rng, sieves = np.random.default_rng(3), selection_of([name for name in ALL if name != "patterns"])
    example = annotated(rng, [40, 45])
    seen = visible(rng, example.size, mask) | np.eye(example.size, dtype=np.bool_)
    unformed, weights = _pair(example.size, key_heads, seen)
    plan = sieves.long_plan(example, extraction.to_visible_mask(seen))
    wanted = _reference(sieves, example, seen, weights.numpy())[: plan.columns]
    _same(extraction.FusedSums(plan, 4, torch.device("cpu")).scores(unformed), wanted, 2e-5)


def test_no_tensor_outside_of_the_library_has_a_cell_for_each_pair_of_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    def unwatched(function: Any) -> Any:
        """Call without a watch inside: on a processor, torch itself forms logits there."""

        def call(*given: Any, **options: Any) -> Any:
            with _disable_current_modes():
                return function(*given, **options)

        return call

    n = 401
    unformed, _ = _pair(n, 2, np.tri(n, dtype=np.bool_))
    place, library = torch.arange(n), module_of("FusedAttention")._function("cpu")
    monkeypatch.setattr(module_of("FusedAttention"), "_function", lambda device: unwatched(library))
    monkeypatch.setattr(torch.autograd, "grad", unwatched(torch.autograd.grad))
    with sizes_made() as sizes:
        unformed.sums(torch.ones((n, 12)))
        unformed.cells(np.arange(n), np.arange(n))
        unformed.spread(torch.ones((n, 2)), place % 2)
        every = extraction.Compared(place, place >= 0, apart=True, scope=None, units=n)
        unformed.offsets(every, torch.ones(n))
    assert 4 * n < max(sizes) < 4 * n * n


# Partners: pairs of inputs that exchange their layouts.


def _segment(boundary: int, size: int) -> np.ndarray:
    """A class token, ``boundary − 2`` tokens, a separator, the second text from ``boundary``, a separator."""
    segment = np.full(size, -1)
    segment[1 : boundary - 1], segment[boundary : size - 1] = 0, 1
    return segment


def _tokenised(layouts: Sequence[tuple[int, int]]) -> list[Any]:
    return [
        extraction.Tokenised(
            Passage(f"made/{number}", ("a", "b")), {}, tuple(f"w{place}" for place in range(size)),
            _segment(boundary, size), np.zeros((size, 2), dtype=np.int64), np.arange(size) == 0, False,
        )
        for number, (boundary, size) in enumerate(layouts)
    ]  # fmt: skip


def _pairs(partners: Any) -> set[tuple[int, int]]:
    return set(zip(partners.first.tolist(), partners.second.tolist(), strict=True))


def test_partners_have_one_length_and_far_boundaries_and_are_as_many_as_can_be() -> None:
    from networkx import Graph, max_weight_matching

    for seed in range(4):
        rng = np.random.default_rng(seed)
        layouts = [(int(rng.integers(4, 12)), int(rng.choice([16, 17]))) for _ in range(12)]
        allowed = {
            (one, other)
            for one, other in combinations(range(12), 2)
            if layouts[one][1] == layouts[other][1] and abs(layouts[one][0] - layouts[other][0]) >= APART
        }
        partners = extraction.find_partners(_tokenised(layouts), [str(number) for number in range(12)])
        assert _pairs(partners) <= allowed
        assert len(partners.first) == len(max_weight_matching(Graph(allowed), maxcardinality=True))
        used = [*partners.first.tolist(), *partners.second.tolist()]
        assert len(set(used)) == len(used) == 12 - partners.alone
        assert all((partners.of(one), partners.of(other)) == (other, one) for one, other in _pairs(partners))


def test_a_unit_of_several_inputs_pairs_within_itself_alone_and_single_texts_have_no_partner() -> None:
    find_partners = extraction.find_partners
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
    merged = extraction.Partners(np.array([0]), np.array([2]), np.ones(4, dtype=np.bool_)).merge(values)
    assert merged[0, 0].tolist() == [[2.0, 3.0]]
    assert np.isnan(merged[0, 1:]).all()
