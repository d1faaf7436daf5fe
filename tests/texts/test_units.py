"""Units of inference, their random order, and sketches that find the texts two runs share."""

import base64
from collections import Counter
from hashlib import blake2b
from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from headroles.errors import BadInput
from headroles.inputs import ListCorpus, ShuffledUnits, Sketch, first_part, shared_share, unit_names
from headroles.records import Passage

GROUPS = st.one_of(st.none(), st.sampled_from(["group a", "group b", "group c"]))
TEXTS = st.lists(st.sampled_from([f"text {number}" for number in range(12)]), min_size=1, max_size=2)
INPUTS = st.lists(st.tuples(GROUPS, TEXTS), max_size=14)
Inputs = list[tuple[str | None, list[str]]]


def names_of(inputs: Inputs) -> list[str]:
    """Return the unit of each input."""
    keys = [f"key {place}" for place in range(len(inputs))]
    names: list[str] = unit_names([group for group, _ in inputs], [texts for _, texts in inputs], keys)
    return names


@given(INPUTS)
def test_units_are_what_groups_and_texts_join_named_by_the_first_input(inputs: Inputs) -> None:
    direct = np.zeros((len(inputs), len(inputs)), dtype=np.bool_)
    for (i, (group, texts)), (j, (other, others)) in product(enumerate(inputs), repeat=2):
        direct[i, j] = (group is not None and group == other) or not set(texts).isdisjoint(others)
    part = connected_components(direct)[1] if inputs else np.zeros(0)
    for name, own in zip(names_of(inputs), part, strict=True):
        first = int((part == own).argmax())
        assert name == (inputs[first][0] or f"key {first}")


def test_a_group_without_a_name_joins_nothing_and_a_text_is_never_a_group() -> None:
    assert names_of([(None, ["one"]), (None, ["two"])]) == ["key 0", "key 1"]
    assert names_of([("same", ["one"]), (None, ["same"]), (None, ["One"])]) == ["same", "key 1", "key 2"]
    chain: Inputs = [(None, [f"{place}", f"{place + 1}"]) for place in range(3000)]
    assert set(names_of(chain[::-1])) == {"key 0"}
    assert len(set(names_of(chain[::2]))) == 1500


LETTERS = st.lists(st.none() | st.sampled_from("abcdef"), min_size=1, max_size=40)


def corpus(groups: list[str | None]) -> ListCorpus:
    """Return a corpus of inputs of some groups."""
    passages = [Passage(f"x/{place}", (f"text {place}",), group) for place, group in enumerate(groups)]
    return ListCorpus(passages, {"kind": "file", "name": "x.tsv", "sha256": "of all inputs"})


@given(LETTERS, st.integers(0, 5))
def test_shuffled_units_stay_together_and_their_inputs_in_order(groups: list[str | None], seed: int) -> None:
    shuffled = ShuffledUnits(corpus(groups), seed, 100)
    keys, units = [passage.key for passage in shuffled], list(shuffled.units or ())
    assert sorted(keys) == sorted(passage.key for passage in corpus(groups))
    assert units == [passage.group or passage.key for passage in shuffled]
    runs = [name for name, _ in groupby(units)]
    assert len(runs) == len(set(runs))
    for name in runs:
        own = [int(key[2:]) for key, unit in zip(keys, units, strict=True) if unit == name]
        assert own == sorted(own)


def test_the_order_depends_on_the_seed_alone_and_every_unit_comes_first_equally_often() -> None:
    forward = [Passage(f"x/{place}", (f"text {place}",)) for place in range(50)]
    cases = ((forward, 0), (forward[::-1], 0), (forward, 1))
    same, reversed_, other = (
        [passage.key for passage in ShuffledUnits(ListCorpus(passages, {}), seed, 50)]
        for passages, seed in cases
    )
    assert same == reversed_
    assert same not in (other, [passage.key for passage in forward])
    few = ListCorpus(forward[:4], {})
    first = Counter(next(iter(ShuffledUnits(few, seed, 4))).key for seed in range(2000))
    assert len(first) == 4
    assert sum((count - 500) ** 2 / 500 for count in first.values()) < 16.27  # p = 0.001


def test_the_first_inputs_are_a_corpus_of_their_own_and_no_more_are_kept_than_asked() -> None:
    shuffled = ShuffledUnits(corpus([*"aabbcc"]), 3, 6)
    part = first_part(shuffled, 4)
    assert [passage.key for passage in part] == [passage.key for passage in shuffled][:4]
    assert part.units == (shuffled.units or [])[:4]
    assert part.source == {"kind": "file", "name": "x.tsv"}
    assert first_part(corpus([None] * 3), 2).units is None
    assert len([*ShuffledUnits(corpus([None] * 5), 0, 5)]) == 5
    with pytest.raises(BadInput, match="more than --keep 4; give --limit 4"):
        ShuffledUnits(corpus([None] * 5), 0, 4)


def sketch(*texts: str) -> str:
    """Return the sketch of some texts."""
    made = Sketch()
    for text in texts:
        made.add(blake2b(text.encode(), digest_size=8).hexdigest())
    return str(made.encode())


WORDS = st.lists(st.text(max_size=4), min_size=1, max_size=30)


@given(first=WORDS, second=WORDS)
def test_the_share_of_few_texts_is_exact_whatever_their_order_and_repeats(
    first: list[str], second: list[str]
) -> None:
    wanted = len(set(first) & set(second)) / len(set(second))
    assert shared_share(sketch(*first), sketch(*second)) == pytest.approx(wanted)
    assert sketch(*first) == sketch(*reversed(first), *first)


def test_of_many_texts_a_sketch_of_bounded_size_estimates_the_share() -> None:
    size = len(base64.b64decode(sketch(*map(str, range(20_000))))) // 8
    full = sketch(*map(str, range(size)))
    assert len(base64.b64decode(full)) == 8 * size
    assert shared_share(full, sketch("0", "17", str(size - 1), "other")) == 0.75  # none was left out
    bounds = ((0, 20_000), (15_000, 35_000), (50_000, 70_000), (0, 400))
    one, other, apart, few = (sketch(*map(str, range(*ends))) for ends in bounds)
    for share in (shared_share(one, other), shared_share(other, one)):
        assert share == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / size))
    assert shared_share(one, apart) == 0
    assert shared_share(one, few) == 1  # a small run within a large one is seen
    assert shared_share(few, one) == pytest.approx(400 / 20_000, abs=0.02)
    for pair in (("", few), (few, ""), ("", "")):
        assert np.isnan(shared_share(*pair))
