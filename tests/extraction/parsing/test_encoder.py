"""Vectors of tokens: those of spaCy's layers, the same to the bit whatever was encoded before or at once."""

from collections.abc import Sequence

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as some
from spacy.language import Language

from headroles.extraction.model.threads import one_numpy_thread
from headroles.extraction.parsing import encoder
from headroles.extraction.parsing.encoder import TokenEncoder
from headroles.extraction.parsing.pipeline import SHIPPED
from headroles.extraction.parsing.products import rows_are_independent

PARTS = ("The", "cat", "'s", "old", ",", "no", "1912", "😀", "東京", "cannot", "\n", "")
TEXT = some.lists(some.sampled_from(PARTS), max_size=50).map(" ".join)


@pytest.fixture(scope="module")
def plain() -> Language:
    """The shipped parser as spaCy loads it."""
    return spacy.load(SHIPPED)


@pytest.fixture(scope="module")
def made(plain: Language) -> TokenEncoder:
    """The encoder of the shipped parser."""
    tok2vec = plain.get_pipe("tok2vec")
    found = TokenEncoder(tok2vec.model)  # type: ignore[attr-defined]
    if not rows_are_independent(found.weights):
        pytest.skip("rows of products depend on each other on this machine")
    return found


def _vectors(own: TokenEncoder, plain: Language, texts: Sequence[str]) -> list[np.ndarray]:
    with one_numpy_thread():
        return own.encode([plain.make_doc(text) for text in texts])


@given(texts=some.lists(TEXT, min_size=1, max_size=9))
def test_vectors_are_those_of_spacy_up_to_rounding(
    made: TokenEncoder, plain: Language, texts: list[str]
) -> None:
    for text, vectors in zip(texts, _vectors(made, plain, texts), strict=True):
        doc = plain.make_doc(text)
        expected = plain.get_pipe("tok2vec").predict([doc])[0]  # type: ignore[attr-defined]
        assert vectors.shape == (len(doc), 128)
        np.testing.assert_allclose(vectors, expected, atol=1e-4)


@given(texts=some.lists(TEXT, min_size=1, max_size=40))
def test_vectors_have_the_same_bits_whatever_is_encoded_at_once(
    made: TokenEncoder, plain: Language, texts: list[str]
) -> None:
    for text, vectors in zip(texts, _vectors(made, plain, texts), strict=True):
        (alone,) = _vectors(made, plain, [text])
        np.testing.assert_array_equal(vectors, alone)


def test_vectors_have_the_same_bits_when_tokens_were_forgotten(
    made: TokenEncoder, plain: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "REMEMBERED", 40)
    small = TokenEncoder(plain.get_pipe("tok2vec").model)  # type: ignore[attr-defined]
    texts = [" ".join(f"word{number} of {place}" for place in range(30)) for number in range(5)]
    texts += [texts[0], "", " ".join(f"many{number}" for number in range(200)), "It rains."]
    for text in texts:
        (found,), (expected,) = _vectors(small, plain, [text]), _vectors(made, plain, [text])
        np.testing.assert_array_equal(found, expected)
    assert len(small._known) == 40


def test_a_model_of_the_encoder_takes_the_place_of_the_tok2vec(made: TokenEncoder, plain: Language) -> None:
    docs = [plain.make_doc(text) for text in ("It rains.", "So what?")]
    for found, expected in zip(made.as_model().predict(docs), made.encode(docs), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert made.as_model().get_dim("nO") == 128
