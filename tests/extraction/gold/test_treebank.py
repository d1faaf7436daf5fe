"""Documents of CoNLL-U files keep words, trees, tags and coreference; a bad line is named."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import BracketReader
from headroles.extraction.gold.read import read_documents
from headroles.extraction.texts.trees import check_tree
from headroles.records.documents import Document, Mention

Read = Callable[[str], list[Document]]


def _line(number: object, form: str, head: object = 0, misc: str = "_", **cells: str) -> str:
    upos, xpos, feats = (cells.get(each, "_") for each in ("upos", "xpos", "feats"))
    return f"{number}\t{form}\t_\t{upos}\t{xpos}\t{feats}\t{head}\tdep\t_\t{misc}"


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Documents of a CoNLL-U text."""
    path = tmp_path_factory.mktemp("trees") / "trees.conllu"

    def make(text: str) -> list[Document]:
        path.write_bytes(text.encode())
        return read_documents(path, "dev")

    return make


LETTER = [
    "# newdoc id = letter",
    _line(1, "We", 2, upos="PRON", feats="Number=Plur"),
    "2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
    _line(2, "ca", 0, xpos="MD"),
    _line(3, "n't", 2),
    _line(4, ".", 2, upos="PUNCT"),
    "",
    _line(1, "Go", 0, upos="VERB"),
    _line("1.1", "you"),
    "",
]


def test_a_document_holds_its_sentences_one_after_the_other(read: Read) -> None:
    (letter,) = read("\n".join(LETTER))
    assert (letter.key, letter.group, letter.layout, letter.condition) == ("dev/letter", "", "", "")
    assert letter.text == "We can't. Go"
    assert [letter.text[start:stop] for start, stop in letter.spans.tolist()] == list(letter.words)
    assert letter.words == ("We", "ca", "n't", ".", "Go")
    assert letter.sentences.tolist() == [0, 4]
    assert letter.heads is not None
    assert letter.heads.tolist() == [1, -1, 1, 1, -1]
    assert letter.relations == ("dep",) * 5
    assert letter.tags == ("PRON", "MD", "", "PUNCT", "VERB")
    assert letter.features == ("Number=Plur", "", "", "", "")
    assert letter.mentions is None


def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(read: Read) -> None:
    (plain,) = read("\n".join(LETTER))
    (other,) = read("\ufeff" + "\r\n".join(LETTER))
    for name in ("key", "text", "words", "tags"):
        assert getattr(other, name) == getattr(plain, name)
    assert (other.spans == plain.spans).all()


def test_sentences_without_a_document_are_documents_of_their_own(read: Read) -> None:
    lone = _line(1, "Yes")
    documents = read(f"{lone}\n\n{lone}\n\n# newdoc id = a\n{lone}\n\n{lone}\n\n# newdoc\n{lone}\n")
    assert [(each.key, len(each.words)) for each in documents] == [
        ("dev/0", 1),
        ("dev/1", 1),
        ("dev/a", 2),
        ("dev/document 2", 1),
    ]


def test_what_a_whole_file_does_not_annotate_is_none(read: Read) -> None:
    first, second = read(f"{_line(1, 'A')}\n\n{_line(1, 'B')}\n")
    assert (first.tags, first.features, first.mentions) == (None, None, None)
    first, second = read(f"{_line(1, 'A')}\n\n{_line(1, 'B', 0, 'Entity=(1)', upos='X', feats='F=1')}\n")
    assert (first.tags, first.features, first.mentions) == (("",), ("",), ())
    assert second.mentions == (Mention(0, 1, "1"),)


def test_a_word_without_letters_of_its_own_shares_one_of_its_token(read: Read) -> None:
    lines = [_line(1, "o", 0, "SpaceAfter=No"), "2-4\tà\t_\t_\t_\t_\t_\t_\t_\t_"]
    lines += [_line(2, "a", 1), _line(3, "l", 1), _line(4, "e", 1), _line(5, "x", 1)]
    (document,) = read("\n".join(lines))
    assert document.text == "oà x"
    assert document.spans.tolist() == [[0, 1], [1, 2], [1, 2], [1, 2], [3, 4]]


def test_mentions_nest_cross_and_stand_at_one_word_together(read: Read) -> None:
    notes = ["(1-person-new", "(2-place)(3-time-x", "(1-person)4)", "1)(5-a)", "3)"]
    notes[0] = "(4-thing(1-person-new"
    lines = ["# newdoc id = d", "# global.Entity = GRP-etype-infstat"]
    lines += [_line(k, f"w{k}", k - 1, f"A=b|Entity={note}|C=d") for k, note in enumerate(notes, start=1)]
    (document,) = read("\n".join([*lines, "", _line(1, "end")]))
    assert document.mentions == (
        Mention(0, 4, "1"),
        Mention(0, 3, "4"),
        Mention(1, 5, "3"),
        Mention(1, 2, "2"),
        Mention(2, 3, "1"),
        Mention(3, 4, "5"),
    )


def test_the_field_that_names_the_entity_is_known_by_its_name(read: Read) -> None:
    for fields, note in (
        ("eid-etype-head-other", "(e7-person-1-x:y)"),
        ("entity-GRP-infstat", "(person-e7-new)"),
    ):
        text = f"# newdoc\n# global.Entity = {fields}\n{_line(1, 'Ann', 0, f'Entity={note}')}\n"
        (document,) = read(text)
        assert document.mentions == (Mention(0, 1, "e7"),)


def test_mentions_at_empty_nodes_and_later_parts_of_mentions_are_left_out(read: Read) -> None:
    lines = [
        _line("0.1", "it", "_", "Entity=(e1-x)(e2-x"),
        _line(1, "a", 0, "Entity=(e3[1/2]-x"),
        _line(2, "b", 1, "Entity=e3[1/2])"),
        _line(3, "c", 1, "Entity=(e3[2/2]-x)"),
        _line("3.1", "d", "_", "Entity=e2)"),
    ]
    (document,) = read("\n".join(lines))
    assert document.mentions == (Mention(0, 3, "e2"), Mention(0, 2, "e3"))


@given(st.data())
def test_brackets_give_back_the_mentions_they_were_made_from(data: st.DataObject) -> None:
    words = data.draw(st.integers(1, 8))
    starts = data.draw(st.lists(st.integers(0, words - 1), max_size=8))
    # Of one entity, mentions that cross cannot be told from nested ones, so each has its own.
    mentions = [
        Mention(start, data.draw(st.integers(start + 1, words)), str(name))
        for name, start in enumerate(starts)
    ]
    brackets = BracketReader()
    for word in range(words):
        notes = [f"{each.entity})" for each in mentions if each.start < word == each.stop - 1]
        notes += [f"({each.entity})" for each in mentions if (each.start, each.stop) == (word, word + 1)]
        notes += [f"({each.entity}" for each in mentions if each.start == word < each.stop - 1]
        if notes:  # without bars, what closes stands before what opens: (1 and 2) would read (12)
            barred = data.draw(st.booleans())
            together = "|".join(data.draw(st.permutations(notes))) if barred else "".join(notes)
            brackets.read(together, word, word + 1, "here")
    found = brackets.closed()
    assert sorted(found) == sorted(mentions)
    assert list(found) == sorted(found, key=lambda each: (each.start, -each.stop))


@given(st.lists(st.integers(-1, 6), min_size=1, max_size=6))
def test_heads_are_a_tree_just_when_all_words_lead_to_one_root(heads: list[int]) -> None:
    def reaches(word: int) -> bool:
        for _ in heads:
            if not 0 <= word < len(heads):
                break
            word = heads[word]
        return word == -1

    tree = heads.count(-1) == 1 and all(map(reaches, range(len(heads))))
    lines = list(range(1, len(heads) + 1))
    if tree:
        check_tree(heads, Path("x"), lines)
    else:
        with pytest.raises(BadInput, match=r"x, line \d+: "):
            check_tree(heads, Path("x"), lines)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([_line(1, "A", 2), _line(2, "B", 1)], r"line 1: a sentence has one root .* has none"),
        (
            [_line(1, "A"), _line(2, "B")],
            r"line 2: a sentence has one root .* word 2 is one, and so is word 1",
        ),
        (
            [_line(1, "A"), _line(2, "B", 3), _line(3, "C", 2)],
            r"line 2: heads lead from every word to the root, but these go round in a circle: 2 → 3 → 2",
        ),
        ([_line(1, "A", 4)], r"line 1: heads are words of the sentence \(1 to 1\), but got 4"),
        (["# c", "1\tA\t_"], r"line 2: a CoNLL-U line has 10 cells between tabs, but got 3"),
        (
            [_line(1, "A", 0, "Entity=(3-x"), "", _line(1, "B")],
            r"line 1: a mention that is opened is closed in the same document, but .* '3' is not",
        ),
        (
            [_line(1, "A"), "", _line(1, "B", 0, "Entity=3)")],
            r"line 3: a mention that is closed was opened before .* none of entity '3' is open",
        ),
        (
            [_line(1, "A", 0, "Entity=3")],
            r"line 1: coreference is written \(3 where a mention .* but got '3'",
        ),
        ([_line(1, "A", 0, "Entity=")], r"line 1: coreference is written .* but got ''"),
        ([_line(1, "A"), _line(2, " ", 1)], r"line 2: a word has letters, but this one is blank"),
        (
            [_line(1, "A"), "2-3\t \t_\t_\t_\t_\t_\t_\t_\t_", _line(2, "b", 1), _line(3, "c", 1)],
            r"line 3: a multi-word token has letters, but the one that starts here is blank",
        ),
        (
            ["# newdoc id = a", "# newdoc id = b", _line(1, "A")],
            r"line 1: a document holds at least one .* 'a'",
        ),
        (["# newdoc id = a"], r"a CoNLL-U file holds at least one sentence, but .* has none"),
        ([""], r"a file to read must hold text, but .*trees.conllu' is empty"),
    ],
)
def test_a_bad_line_is_one_sentence_with_file_and_line(lines: list[str], sentence: str, read: Read) -> None:
    with pytest.raises(BadInput, match=sentence) as error:
        read("\n".join(lines) + "\n")
    assert "trees.conllu" in str(error.value)
    assert "\n" not in str(error.value)


def test_gum_and_ewt_have_the_counts_their_authors_give(shared: Path) -> None:
    folder = shared / "data"
    gum = read_documents(folder / "ud_english_gum" / "en_gum-ud-dev.conllu.gz", "dev")
    ewt = read_documents(folder / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz", "dev")
    sizes = [
        (len(each), sum(len(document.sentences) for document in each), sum(len(d.words) for d in each))
        for each in (gum, ewt)
    ]
    assert sizes == [(30, 1_575, 28_119), (318, 2_001, 25_147)]
    assert all(document.mentions is None for document in ewt)
    chains = [Counter(mention.entity for mention in document.mentions or ()) for document in gum]
    assert sum(map(Counter.total, chains)) == 7_897
    assert sum(map(len, chains)) == 3_940
    assert sum(count > 1 for chain in chains for count in chain.values()) == 1_102
    for document in [*gum, *ewt]:
        spans, heads = document.spans, document.heads
        assert heads is not None
        assert (spans[:, 0] < spans[:, 1]).all()
        assert (np.diff(spans, axis=0) >= 0).all()
        assert spans[-1, 1] == len(document.text)
        assert (heads == -1).sum() == len(document.sentences)
        sentence = np.searchsorted(document.sentences, np.arange(len(heads)), side="right")
        assert (sentence[heads >= 0] == sentence[heads[heads >= 0]]).all()
