"""Sketches of texts: exact for few texts, an estimate for many, and no text can be read from them."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.inputs.sketch import SIZE, TextSketch, shared_share

TEXTS = st.lists(st.text(max_size=4), min_size=1, max_size=30)


def _sketch(*texts: str) -> str:
    sketch = TextSketch()
    for text in texts:
        sketch.add(text)
    return sketch.encode()


@given(first=TEXTS, second=TEXTS)
def test_the_share_of_few_texts_is_exact(first: list[str], second: list[str]) -> None:
    wanted = len(set(first) & set(second)) / len(set(second))
    assert shared_share(_sketch(*first), _sketch(*second)) == pytest.approx(wanted)


@given(texts=TEXTS)
def test_order_and_repeats_are_of_no_matter(texts: list[str]) -> None:
    assert _sketch(*texts) == _sketch(*reversed(texts), *texts)


def test_up_to_its_size_a_sketch_holds_every_text() -> None:
    first = _sketch(*map(str, range(SIZE)))
    assert shared_share(first, _sketch("0", "17", str(SIZE - 1), "other")) == 0.75
    assert len(base64.b64decode(first)) == 8 * SIZE


def test_of_many_texts_the_share_is_estimated() -> None:
    first, second = (map(str, range(start, start + 20_000)) for start in (0, 15_000))
    one, other = _sketch(*first), _sketch(*second)
    assert len(base64.b64decode(one)) == 8 * SIZE
    for share in (shared_share(one, other), shared_share(other, one)):
        assert share == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / SIZE))
    assert shared_share(one, _sketch(*map(str, range(50_000, 70_000)))) == 0


def test_a_small_run_within_a_large_one_is_seen() -> None:
    large = _sketch(*map(str, range(20_000)))
    small = _sketch(*map(str, range(400)))
    assert shared_share(large, small) == 1
    assert shared_share(small, large) == pytest.approx(400 / 20_000, abs=0.02)


def test_unknown_sketches_give_no_share() -> None:
    known = _sketch("a")
    for pair in (("", known), (known, ""), ("", "")):
        assert np.isnan(shared_share(*pair))


@pytest.mark.parametrize("wrong", ["no base64!", "YWJj"])
def test_what_is_no_sketch_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        shared_share(_sketch("a"), wrong)
