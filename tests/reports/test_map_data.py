"""Tokens and arrays as scripts read them."""

import base64
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headroles.records.example import Example
from headroles.reports.sections.map_data import BYTES, pack, tokens_of, visible_pieces
from tests.support.made_views import PIECES, SEGMENT, WORD, pair

LETTERS = {byte: letter for letter, byte in BYTES.items()}
SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, max_side=5)


@given(arrays.arrays(st.sampled_from([np.dtype(kind) for kind in ("u1", "<f2", "<i4")]), SHAPES))
def test_packed_arrays_come_back_byte_for_byte(array: np.ndarray) -> None:
    raw = zlib.decompress(base64.b64decode(pack(array)))
    assert raw == np.ascontiguousarray(array).tobytes()
    assert pack(np.asfortranarray(array)) == pack(array)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_bytes_of_byte_level_pieces_become_letters_again(words: list[str]) -> None:
    texts = [f" {word}" for word in words]
    pieces = tuple("".join(LETTERS[byte] for byte in text.encode()) for text in texts)
    expected = tuple(text.replace(" ", "▁").replace("\n", "⏎") for text in texts)
    assert visible_pieces(Example("any", pieces)) == expected


def test_every_byte_has_one_letter() -> None:
    assert sorted(BYTES.values()) == list(range(256))


def test_a_part_of_a_letter_shows_its_bytes() -> None:
    assert visible_pieces(Example("note", ("Ġcaf", "Ã", "©"))) == ("▁caf", "\\xc3", "\\xa9")


def test_pieces_of_other_tokenizers_and_special_tokens_stay() -> None:
    assert visible_pieces(pair()) == PIECES
    special = np.array([True, False])
    assert visible_pieces(Example("note", ("<Ġs>", "Ġa"), special=special)) == ("<Ġs>", "▁a")
    assert visible_pieces(Example("note", ("Ġ日本", "日"))) == ("Ġ日本", "日")


def test_tokens_say_their_text_their_word_and_whether_they_are_special() -> None:
    tokens = tokens_of(pair())
    assert tokens["pieces"] == list(PIECES)
    assert tokens["segment"] == SEGMENT.tolist()
    assert tokens["word"] == WORD.tolist()
    assert tokens["special"] == [int(segment < 0) for segment in SEGMENT]
