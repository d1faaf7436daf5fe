"""The head word and the kind of a mention, by trees, by tags and by lists of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.records.documents import Document, Mention
from headroles.sieves.language.mentions import KINDS, describe_mentions, head_word, kind_of


def _document(
    text: str,
    *,
    tags: str = "",
    heads: tuple[int, ...] = (),
    relations: str = "",
    sentences: tuple[int, ...] = (0,),
    mentions: tuple[Mention, ...] | None = None,
) -> Document:
    words = tuple(text.split())
    return Document(
        key="made",
        text=text,
        spans=np.zeros((len(words), 2), dtype=np.int32),
        words=words,
        sentences=np.array(sentences),
        heads=np.array(heads) if heads else None,
        relations=tuple(relations.split()) if relations else None,
        tags=tuple(tags.split()) if tags else None,
        mentions=mentions,
    )


def _head(document: Document, start: int = 0, stop: int | None = None) -> str:
    end = len(document.words) if stop is None else stop
    return document.words[head_word(document, Mention(start, end, "x"))]


def test_with_a_tree_the_head_is_the_word_whose_own_head_lies_outside() -> None:
    #                      0   1   2    3    4   5    6
    document = _document("She saw the cat of her aunt", heads=(1, -1, 3, 1, 6, 6, 3))
    assert _head(document, 2, 7) == "cat"
    assert _head(document, 4, 7) == "aunt"
    assert _head(document) == "saw"


def test_of_several_such_words_the_one_nearest_to_the_root_is_the_head() -> None:
    document = _document("deep mid top root", heads=(1, 2, 3, -1))
    assert _head(document, 0, 3) == "top"
    split = _document("a b verb c", heads=(3, 2, -1, 2))
    assert _head(split, 0, 2) == "b"  # b hangs on the root, a below it


def test_punctuation_is_no_head_where_there_is_another_word() -> None:
    document = _document(", so it goes", heads=(3, 2, 3, -1), relations="punct advmod nsubj root")
    assert _head(document, 0, 2) == "so"
    assert _head(document, 0, 1) == ","


@pytest.mark.parametrize(
    ("text", "tags", "wanted"),
    [
        ("the big house of the king", "DET ADJ NOUN ADP DET NOUN", "house"),
        ("the big house of the king", "DT JJ NN IN DT NN", "house"),
        ("the man , a doctor", "DT NN , DT NN", "man"),
        ("the woman who left town", "DT NN WP VBD NN", "woman"),
        ("an opinion we had years ago", "DT NN PRP VBD NNS RB", "opinion"),
        ("this woman 's husband", "DET NOUN PART NOUN", "husband"),
        ("Ann and Bob", "PROPN CCONJ PROPN", "Ann"),
        ("those of us", "DET ADP PRON", "those"),
        ("the house of the king", "", "house"),
        ("Mr. Tulkinghorn of the court", "", "Tulkinghorn"),
        ("the lady , his friend", "", "lady"),
        ("the man who knew", "", "man"),
        ("her mother 's", "", "mother"),
        ("Ferdinand II", "", "Ferdinand"),
        ("of course", "", "course"),
        ("'s", "", "'s"),
    ],
)
def test_without_a_tree_the_head_comes_before_what_follows_a_noun_phrase(
    text: str, tags: str, wanted: str
) -> None:
    assert _head(_document(text, tags=tags)) == wanted


@pytest.mark.parametrize(
    ("text", "tags", "kind"),
    [
        ("it", "PRON", "pronoun"),
        ("his", "PRP$", "pronoun"),
        ("who", "WP", "pronoun"),
        ("this", "DT", "pronoun"),
        ("this day", "DT NN", "nominal"),
        ("old London", "ADJ PROPN", "proper"),
        ("the Alps", "DT NNPS", "proper"),
        ("the dog", "DET NOUN", "nominal"),
        ("leaving", "VERB", "nominal"),
    ],
)
def test_tags_give_the_kind(text: str, tags: str, kind: str) -> None:
    document = _document(text, tags=tags)
    assert kind_of(document, Mention(0, len(document.words), "x")) == kind


def test_without_tags_lists_and_capitals_give_the_kind() -> None:
    #                     0    1     2     3  4  5   6  7  8   9    10 11  12 13 14   15
    document = _document(
        "Dogs saw Harry . He himself ran . `` Boys , no one saw Charles I . Harry left .",
        sentences=(0, 4, 8, 16),
    )
    kinds = {
        (0, 1): "nominal",  # a capital at the start says nothing
        (2, 3): "proper",
        (4, 6): "pronoun",
        (9, 10): "nominal",  # nor does one after a quote
        (11, 13): "nominal",
        (14, 16): "proper",
        (17, 18): "proper",  # but Harry has a capital elsewhere
    }
    assert document.words[17] == "Harry"
    for (start, stop), kind in kinds.items():
        assert kind_of(document, Mention(start, stop, "x")) == kind, document.words[start:stop]


@given(st.lists(st.integers(-1, 7), min_size=8, max_size=8), st.integers(0, 7), st.integers(1, 8))
def test_the_head_lies_in_the_mention_whatever_the_tree(heads: list[int], start: int, length: int) -> None:
    document = _document("a b c d e f g h", heads=tuple(heads))
    mention = Mention(start, min(start + length, 8), "x")
    assert mention.start <= head_word(document, mention) < mention.stop


def test_mentions_are_described_in_the_order_of_the_document() -> None:
    mentions = (Mention(0, 1, "a"), Mention(2, 4, "b"), Mention(4, 5, "a"))
    found = describe_mentions(
        _document("Ann saw the dog her", tags="PROPN VERB DET NOUN PRON", mentions=mentions)
    )
    assert found.head.tolist() == [0, 3, 4]
    assert found.entity.tolist() == [0, 1, 0]
    assert found.kinds == ("proper", "nominal", "pronoun")
    assert set(found.kinds) == set(KINDS)


def test_documents_without_usable_mentions_are_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match="document 'made' has none annotated"):
        describe_mentions(_document("a b"))
    with pytest.raises(BadInput, match="within the 2 words"):
        describe_mentions(_document("a b", mentions=(Mention(1, 3, "x"),)))
