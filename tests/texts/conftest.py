"""The parsers of the tests of texts: one of the session as headroles loads it, and one as spaCy does."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from spacy.language import Language


@pytest.fixture(scope="session")
def parser() -> "Language":
    """The parser that headroles ships."""
    from headroles.extraction import load_parser

    loaded: Language = load_parser(None)[0]
    return loaded


@pytest.fixture(scope="session")
def plain(parser: "Language") -> "Language":
    """The same parser as spaCy loads it."""
    import spacy

    assert parser.path is not None
    return spacy.load(parser.path)
