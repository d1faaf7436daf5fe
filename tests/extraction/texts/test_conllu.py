"""CoNLL-U sentences keep their text, their words and their trees; a bad line is named."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.texts.conllu import read_conllu
from headroles.extraction.texts.sources import read_file
from headroles.records.passage import Passage

Read = Callable[[str], list[Passage]]


def _line(number: object, form: str, head: object = 0, relation: str = "dep", misc: str = "_") -> str:
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t{misc}"


def _multi(span: str, form: str, misc: str = "_") -> str:
    return f"{span}\t{form}" + "\t_" * 7 + f"\t{misc}"


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Passages of a CoNLL-U text."""
    path = tmp_path_factory.mktemp("trees") / "trees.conllu"

    def make(text: str) -> list[Passage]:
        path.write_bytes(text.encode())
        return read_conllu(path, "trees")

    return make


def _words(passage: Passage) -> list[str]:
    assert passage.words is not None
    (words,) = passage.words
    return [passage.texts[0][start:end] for start, end in words.spans.tolist()]


def test_words_heads_and_relations_are_read(read: Read) -> None:
    lines = [
        "# sent_id = a",
        "# text = It rains, now.",
        _line(1, "It", 2, "expl"),
        _line(2, "rains", 0, "root", "SpaceAfter=No"),
        _line(3, ",", 4, "punct"),
        _line(4, "now", 2, "advmod", "Other=x|SpaceAfter=No|Entity=(1)"),
        _line(5, ".", 2, "punct"),
    ]
    (passage,) = read("\n".join(lines) + "\n\n")
    assert passage.key == "trees/0"
    assert passage.texts == ("It rains, now.",)
    assert passage.group is None
    assert _words(passage) == ["It", "rains", ",", "now", "."]
    assert passage.words is not None
    assert passage.words[0].heads.tolist() == [1, -1, 3, 1, 1]
    assert passage.words[0].relations == ("expl", "root", "punct", "advmod", "punct")


@pytest.mark.parametrize(
    ("form", "words", "pieces"),
    [
        ("don't", ["do", "n't"], ["do", "n't"]),
        ("Don't", ["do", "n't"], ["Do", "n't"]),
        ("cannot", ["can", "not"], ["can", "not"]),
        ("wanna", ["wan", "na"], ["wan", "na"]),
        ("wanna", ["want", "to"], ["wan", "na"]),
        ("au", ["à", "le"], ["a", "u"]),
        ("du", ["de", "le"], ["d", "u"]),
        ("İx", ["i\u0307", "x"], ["İ", "x"]),
        ("dámelo", ["da", "me", "lo"], ["dá", "me", "lo"]),
    ],
)
def test_the_words_of_a_multi_word_token_share_its_letters(
    form: str, words: list[str], pieces: list[str], read: Read
) -> None:
    last = 1 + len(words)
    lines = [_line(1, "I", 0), _multi(f"2-{last}", form, "SpaceAfter=No")]
    lines += [_line(2 + k, word, 1, "dep", "SpaceAfter=No") for k, word in enumerate(words)]
    lines += [_line(last + 1, "it", 1)]
    (passage,) = read("\n".join(lines) + "\n\n")
    assert passage.texts == (f"I {form}it",)
    assert _words(passage) == ["I", *pieces, "it"]


@given(
    tokens=st.lists(
        st.tuples(
            st.text("aeßİ'x", min_size=1, max_size=6),
            st.lists(st.text("aeßİ'x", min_size=1, max_size=4), min_size=0, max_size=3),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_spans_of_words_run_through_the_text_in_order(
    tokens: list[tuple[str, list[str], bool]], read: Read
) -> None:
    lines, wanted, number = [], "", 1
    for form, parts, spaced in tokens:
        misc = "_" if spaced else "SpaceAfter=No"
        if parts:
            lines.append(_multi(f"{number}-{number + len(parts) - 1}", form, misc))
            lines += [_line(number + k, part, number + k - 1) for k, part in enumerate(parts)]
        else:
            lines.append(_line(number, form, number - 1, "dep", misc))
        wanted += form + " " * spaced
        number += max(len(parts), 1)
    (passage,) = read("\n".join(lines) + "\n")
    assert passage.texts == (wanted.rstrip(),)
    assert passage.words is not None
    spans = passage.words[0].spans
    assert len(spans) == number - 1
    assert spans[0, 0] == 0
    assert spans[-1, 1] == len(passage.texts[0])
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    letters = sum(spans[:, 1] - spans[:, 0])
    assert letters == len(passage.texts[0].replace(" ", ""))


def test_empty_nodes_and_unknown_comments_are_passed_over(read: Read) -> None:
    lines = [
        _line("0.1", "unseen"),
        _line(1, "Sue", 2),
        _line(2, "ate", 0),
        "# what",
        _line("2.1", "ate", "_"),
    ]
    (passage,) = read("\n".join([*lines, _line(3, "fish", 2)]) + "\n\n")
    assert passage.texts == ("Sue ate fish",)
    assert _words(passage) == ["Sue", "ate", "fish"]


def test_documents_are_groups_named_or_numbered(read: Read) -> None:
    sentence = _line(1, "Yes", 0, "root")
    blocks = [
        sentence,
        f"# newdoc id = letters-7\n# sent_id = 1\n{sentence}",
        f"# newpar id = p1\n{sentence}",
        f"# newdoc\n{sentence}",
        f"# newdoc\n{sentence}",
        sentence,
        f"#newdoc id=tight\n{sentence}",
        f"# newdocument = no\n{sentence}",
    ]
    groups = [passage.group for passage in read("\n\n".join(blocks) + "\n")]
    assert groups[:3] == [None, "letters-7", "letters-7"]
    assert groups[3] != groups[4] == groups[5]
    assert None not in groups[1:]
    assert groups[6:] == ["tight", "tight"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("close", [0, 1, 2, 3])
def test_line_ends_and_a_missing_last_blank_line_change_nothing(ending: str, close: int, read: Read) -> None:
    lines = [_line(1, "Yes", 2), _line(2, "indeed", 0), "", "", " ", _line(1, "No", 0)]
    first, second = read(ending.join(lines) + ending * close)
    assert (first.texts, second.texts) == (("Yes indeed",), ("No",))


def test_a_zipped_file_is_read_by_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "a.CONLLU.gz"
    path.write_bytes(gzip.compress(_line(1, "Yes").encode()))
    (passage,) = read_file(path, None, None, "own")
    assert (passage.key, passage.texts) == ("own/0", ("Yes",))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["1\tYes\t_"], r"line 1: a CoNLL-U line has 10 cells between tabs, but got 3"),
        (
            [_line(1, "Yes").replace("\t", " ")],
            r"line 1: a CoNLL-U line has 10 cells between tabs, but got 1",
        ),
        (["# c", _line(2, "Yes")], r"line 2: words are numbered from 1 without gaps, but got '2' after 0"),
        (
            [_line(1, "A"), _line(3, "B")],
            r"line 2: words are numbered from 1 without gaps, but got '3' after 1",
        ),
        ([_line(1, "A"), _line(1, "B")], r"line 2: words are numbered from 1 without gaps"),
        ([_line("x", "A")], r"line 1: words are numbered from 1 without gaps, but got 'x'"),
        ([_line(1, "A", "_")], r"line 1: the head \(cell 7\) is another word's number, or 0 .* but got '_'"),
        ([_line(1, "A", -1)], r"line 1: the head \(cell 7\) is another word's number, or 0 .* but got '-1'"),
        ([_line(1, "A", "²")], r"line 1: the head \(cell 7\) is another word's number, or 0 .* but got '²'"),
        ([_line(1, "A", 1)], r"line 1: the head \(cell 7\) is another word's number, or 0 .* but got '1'"),
        (
            [_line(1, "A", 3), _line(2, "B", 0)],
            r"line 1: heads are words of the sentence \(1 to 2\), but got 3",
        ),
        (
            [_line(1, "A", 2), "", _line(1, "B")],
            r"line 1: heads are words of the sentence \(1 to 1\), but got 2",
        ),
        (
            [_line(1, "A", 2), "# c", _line(2, "B", 0), _line(3, "C", 0)],
            r"line 4: a sentence has one root .* but word 3 is one, and so is word 2",
        ),
        (
            [_line(1, "A", 0), "", _line(1, "B", 2), _line(2, "C", 1)],
            r"line 3: a sentence has one root \(a word whose head is 0\), but this one has none",
        ),
        (
            [_line(1, "A", 0), _line(2, "B", 4), _line(3, "C", 2), _line(4, "D", 3)],
            r"line 2: heads lead from every word to the root, but .* in a circle: 2 → 4 → 3 → 2",
        ),
        (
            [_line(1, "A"), "", "# newdoc id = b", "# newdoc id = c", _line(1, "B")],
            r"line 3: a document holds at least one sentence, but 'b' has none",
        ),
        (
            [_line(1, "A"), "", "# newdoc id = last"],
            r"line 3: a document holds at least one sentence, but 'last' has none",
        ),
        ([_multi("1-x", "A")], r"line 1: a multi-word token's id spans the words that follow it.*got '1-x'"),
        ([_multi("1-²", "A")], r"line 1: a multi-word token's id spans the words that follow it.*got '1-²'"),
        (
            [_line(1, "A"), _multi("3-4", "B")],
            r"line 2: a multi-word .* here from 2 on, as in 2-3, but got '3-4'",
        ),
        (
            [_line(1, "A"), _multi("2-1", "B")],
            r"line 2: a multi-word .* here from 2 on, as in 2-3, but got '2-1'",
        ),
        (
            [_multi("1-2", "AB"), _line(1, "A"), _multi("2-3", "BC")],
            r"line 3: a multi-word .* but got '2-3'",
        ),
        ([_multi("1-3", "AB"), _line(1, "A"), _line(2, "B")], r"id reaches beyond the sentence's 2 words"),
        (
            [_multi("1-2", "AB"), "", _line(1, "A")],
            r"line 2: a multi-word token's id reaches beyond .* 0 words",
        ),
        (
            [_line(1, " "), _line(2, "", 1)],
            r"end of file: a sentence has a text, but all of its 2 words are blank",
        ),
        (["# only = comments"], r"holds at least one sentence, but .* has none"),
    ],
)
def test_a_bad_line_is_one_sentence_with_file_and_line(lines: list[str], sentence: str, read: Read) -> None:
    with pytest.raises(BadInput, match=sentence) as error:
        read("\n".join(lines) + "\n")
    assert "trees.conllu" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "sentences", "words", "documents"),
    [("ewt", 2001, 25_147, 318), ("gum", 1575, 28_119, 30)],
)
def test_real_treebanks_are_read_whole_and_their_text_rebuilt(
    name: str, sentences: int, words: int, documents: int, shared: Path
) -> None:
    path = shared / "data" / f"ud_english_{name}" / f"en_{name}-ud-dev.conllu.gz"
    passages = read_file(path, None, None, name)
    assert len(passages) == sentences
    assert len({passage.group for passage in passages}) == documents
    trees = [passage.words[0] for passage in passages if passage.words is not None]
    assert sum(len(tree.heads) for tree in trees) == words
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [line[9:-1] for line in lines if line.startswith("# text = ")]
    rebuilt = [passage.texts[0] for passage in passages]
    assert [" ".join(text.split()) for text in rebuilt] == [" ".join(text.split()) for text in texts]
    assert sum(ours == theirs for ours, theirs in zip(rebuilt, texts, strict=True)) > 0.99 * sentences
    for tree in trees:
        assert (tree.heads == -1).sum() == 1
        assert tree.heads.max() < len(tree.heads)
        assert (np.diff(tree.spans[:, 1]) >= 0).all()
