"""The probes' formulas: the fast ones equal the written ones, and padding changes nothing."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import UnknownName
from headroles.extraction.jobs.word_attention import SPECIAL_UNITS, WordMaps
from headroles.extraction.parsing.vectors import Vectors
from headroles.records.rules.names import CLASSIFIERS
from headroles.runs.probe.trained.models import AttentionProbe, AttentionWordsProbe, distances, probe_of
from headroles.runs.probe.trained.sentences import Batch, Sentence, Source, batches_by_length
from tests.support.reference import rounding_bound

MAPS, SIZE = 5, 3
WORDS = ("a", "b", "c", "d", "unknown")


def _vectors() -> Vectors:
    table = np.random.default_rng(2).normal(size=(4, SIZE)).astype(np.float32)
    return Vectors({word: row for row, word in enumerate(WORDS[:4])}, table)


def _made(lengths: list[int], seed: int = 0, special: bool = True) -> tuple[list[Sentence], WordMaps]:
    rng = np.random.default_rng(seed)
    sentences, blocks = [], []
    for number, words in enumerate(lengths):
        attention = rng.dirichlet(
            np.ones(words + SPECIAL_UNITS), size=(words + SPECIAL_UNITS, MAPS)
        ).transpose(0, 2, 1)
        if not special:
            attention[:SPECIAL_UNITS] = attention[:, :SPECIAL_UNITS] = 0
        blocks.append(attention.astype(np.float16).ravel())
        heads = np.array([int(rng.choice([-1, *(k for k in range(words) if k != j)])) for j in range(words)])
        chosen = tuple(rng.choice(WORDS, size=words).tolist())
        sentences.append(Sentence(chosen, heads, np.ones(words, dtype=np.bool_), "document", number))
    starts = np.cumsum([0, *(len(block) for block in blocks)])[:-1]
    units = np.array(lengths) + SPECIAL_UNITS
    kept = np.ones(len(lengths), dtype=np.bool_)
    return sentences, WordMaps(units, kept, special, MAPS, np.concatenate(blocks), starts)


def _shaken(name: str, maps: WordMaps) -> torch.nn.Module:
    """A probe whose weights are far from their start."""
    probe = probe_of(name, _vectors(), maps, 0)
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in probe.parameters():
            if weight.requires_grad:
                weight.copy_(torch.randn(weight.shape, generator=draw))
    return probe


def _written(probe: AttentionProbe | AttentionWordsProbe, batch: Batch, row: int) -> torch.Tensor:
    """The published formula, cell by cell: with words by W_k (v_i ⊕ v_j), ROOT from the special tokens."""
    assert batch.attention is not None
    attention, words = batch.attention[row], int(batch.lengths[row])
    rows = []
    for j in range(words):
        cells = []
        for i in range(-1, words):
            if i == j:
                cells.append(torch.tensor(-torch.inf))
                continue
            dependent, head = j + SPECIAL_UNITS, i + SPECIAL_UNITS
            if isinstance(probe, AttentionProbe):
                own, other = probe.weight[:, 0], probe.weight[:, 1]
            else:
                vectors = probe.vectors(batch, SPECIAL_UNITS)[row]
                both = torch.cat([vectors[head if i >= 0 else 0], vectors[dependent]])
                to_head, to_dependent, of_dependent, of_head = probe.weight.chunk(4, dim=1)
                own = both @ torch.cat([to_head, of_dependent]) + probe.level[:, 0]
                other = both @ torch.cat([of_head, to_dependent]) + probe.level[:, 1]
            if i >= 0:
                cells.append(own @ attention[dependent, head] + other @ attention[head, dependent])
            else:
                to_root = probe.special @ attention[dependent, :SPECIAL_UNITS]
                from_root = probe.special @ attention[:SPECIAL_UNITS, dependent]
                cells.append(own @ to_root + other @ from_root + probe.bias)
        rows.append(torch.stack(cells))
    return torch.stack(rows)


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", ["attention", "attention+words"])
def test_logits_and_gradients_of_attention_probes_are_those_of_the_published_formula(
    name: str, special: bool
) -> None:
    sentences, maps = _made([4, 1, 6], special=special)
    probe = _shaken(name, maps)
    assert isinstance(probe, AttentionProbe | AttentionWordsProbe)
    learned = [weight for weight in probe.parameters() if weight.requires_grad]
    batch = Source(_vectors(), maps).batch(sentences)
    fast = probe(batch)
    for row, sentence in enumerate(sentences):
        words = len(sentence.words)
        own, wanted = fast[row, :words, : words + 1], _written(probe, batch, row)
        torch.testing.assert_close(
            own, wanted, rtol=1e-4, atol=rounding_bound(64, magnitude=float(wanted.detach().abs().max()) + 1)
        )
        target = batch.target[row, :words]
        losses = [torch.nn.functional.cross_entropy(each, target) for each in (own, wanted)]
        gradients = [torch.autograd.grad(loss, learned, retain_graph=True) for loss in losses]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(
                one, other, rtol=1e-3, atol=rounding_bound(64, magnitude=float(other.abs().max()))
            )


@pytest.mark.parametrize("name", CLASSIFIERS)
@settings(max_examples=10)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_logits_do_not_depend_on_the_batch(name: str, lengths: list[int]) -> None:
    sentences, maps = _made(lengths)
    probe, source = _shaken(name, maps), Source(_vectors(), maps)
    with torch.no_grad():
        together = probe(source.batch(sentences))
        for row, sentence in enumerate(sentences):
            words = len(sentence.words)
            alone = probe(source.batch([sentence]))[0]
            torch.testing.assert_close(
                together[row, :words, : words + 1],
                alone,
                rtol=0,
                atol=rounding_bound(64, magnitude=float(alone.abs().max())),
            )
            assert (together[row, :words, words + 1 :] == -torch.inf).all()
            chosen = together[row, :words].argmax(dim=1).tolist()
            assert all(head <= words and head != word + 1 for word, head in enumerate(chosen))


def test_distance_features_are_shares_ahead_and_behind_indicators_and_root() -> None:
    sentences, maps = _made([4, 2])
    features = distances(Source(None, maps).batch(sentences))
    assert features[0, 1].tolist() == [
        [0, 0, 0, 0, 0, 0, 0, 1],
        [0, 0.25, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0],
        [0.25, 0, 0, 0, 0, 1, 0, 0],
        [0.5, 0, 0, 0, 0, 0, 1, 0],
    ]
    assert features[1, 0, 2].tolist() == [0.5, 0, 0, 0, 0, 1, 0, 0]


def test_unknown_words_share_a_learned_vector_and_known_ones_stay_fixed() -> None:
    sentences, maps = _made([3])
    sentences = [replace(sentences[0], words=("D", "unknown", "a"))]
    probe, source = _shaken("attention+words", maps), Source(_vectors(), maps)
    assert isinstance(probe, AttentionWordsProbe)
    found = probe.vectors(source.batch(sentences), SPECIAL_UNITS)[0]
    table = _vectors().table
    wanted = [torch.tensor(table[3]), probe.vectors.learned[0], torch.tensor(table[0])]
    torch.testing.assert_close(found[SPECIAL_UNITS:], torch.stack(wanted))
    torch.testing.assert_close(found[:SPECIAL_UNITS], probe.vectors.learned[1].expand(SPECIAL_UNITS, -1))
    assert "table" not in dict(probe.vectors.named_parameters())


def test_a_probe_takes_only_its_own_kind_of_root() -> None:
    _, with_special = _made([2])
    _, without = _made([2], special=False)
    for maps, learned in ((with_special, {"special", "weight"}), (without, {"bias", "weight"})):
        named = probe_of("attention", None, maps, 0).named_parameters()
        assert {name for name, weight in named if weight.requires_grad} == learned


def test_an_unknown_classifier_is_refused() -> None:
    with pytest.raises(UnknownName, match="no classifier is called 'atention'; did you mean 'attention'"):
        probe_of("atention", _vectors(), None, 0)


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(1, 300), min_size=1, max_size=200), seed=st.integers(0, 9))
def test_batches_hold_each_sentence_once_and_long_ones_in_small_company(
    lengths: list[int], seed: int
) -> None:
    batches = list(batches_by_length(lengths, 4, np.random.default_rng(seed)))
    assert sorted(place for batch in batches for place in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        own = [lengths[place] for place in batch]
        assert len(batch) <= 4
        assert all(first >= second for first, second in pairwise(own))
        assert len(batch) == 1 or len(batch) * (own[0] + SPECIAL_UNITS) ** 2 <= 64 * 30**2
