"""CoNLL-2012 columns, in OntoGUM's and LitBank's variants too, give words and mentions."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headroles.errors import BadInput
from headroles.extraction.gold.read import read_documents
from headroles.records.documents import Document, Mention

Read = Callable[[str], list[Document]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Documents of a text in columns."""

    def make(text: str) -> list[Document]:
        path = tmp_path / "columns.conll"
        path.write_bytes(text.encode())
        return read_documents(path, "dev")

    return make


def _wide(number: int, word: str, tag: str, notes: str, joint: str = "   ") -> str:
    return joint.join(["nw/a", "0", str(number), word, tag, "*", "-", "-", "-", "Ann", "*", notes])


def _litbank(word: str, notes: str) -> str:
    return "\t".join(["book", "0", "0", word, *"_" * 8, notes])


def test_columns_between_blanks_are_read_with_tags_and_sentences(read: Read) -> None:
    lines = [
        "#begin document (nw/a(1)); part 000",
        _wide(0, "Ann", "NNP", "(3)"),
        _wide(1, "left", "VBD", "-"),
        "",
        _wide(0, "Her", "PRP$", "(4|(3)"),
        _wide(1, "dog", "NN", "4)"),
        _wide(2, ".", ".", "-", "\t"),
        "",
        "#end document",
        "#begin document (nw/a(1)); part 001",
        _wide(0, "Yes", "-", "-"),
        "#end document",
    ]
    first, second = read("\n".join(lines))
    assert (first.key, first.text, first.group) == ("dev/nw/a(1)", "Ann left Her dog .", "")
    assert first.sentences.tolist() == [0, 2]
    assert first.tags == ("NNP", "VBD", "PRP$", "NN", ".")
    assert first.mentions == (Mention(0, 1, "3"), Mention(2, 4, "4"), Mention(2, 3, "3"))
    assert first.heads is None
    assert (second.key, second.group, second.tags) == ("dev/nw/a(1)#1", "dev/nw/a(1)", None)
    assert second.mentions == ()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_three_columns_with_notes_written_together_are_read(ending: str, start: str, read: Read) -> None:
    rows = ["0\tHis\t(1(2)", "1\tdog\t1)", "2\t#\t_", "3\the\t(2)(3", "4\tsaw\t3)"]
    (document,) = read(start + ending.join(["# begin document GUM_x", *rows, "# end document", ""]))
    assert (document.key, document.text) == ("dev/GUM_x", "His dog # he saw")
    assert document.spans.tolist() == [[0, 3], [4, 7], [8, 9], [10, 12], [13, 16]]
    assert document.sentences.tolist() == [0]
    assert document.mentions == (
        Mention(0, 2, "1"),
        Mention(0, 1, "2"),
        Mention(3, 5, "3"),
        Mention(3, 4, "2"),
    )


def test_an_empty_last_cell_says_no_coreference(read: Read) -> None:
    rows = [_litbank("Lord", "(2"), _litbank("Hay", "2)"), _litbank("sat", ""), "", _litbank("He", "(2)|(5)")]
    (document,) = read("\n".join(["#begin document (book); part 0", *rows, "#end document"]))
    assert document.sentences.tolist() == [0, 3]
    assert document.tags is None
    assert document.mentions == (Mention(0, 2, "2"), Mention(3, 4, "2"), Mention(3, 4, "5"))


def test_documents_without_a_name_or_with_the_same_keep_keys_of_their_own(read: Read) -> None:
    row = "0\tYes\t_"
    documents = read(f"# begin document\n{row}\n# begin document a\n{row}\n# begin document a\n{row}\n")
    assert [(each.key, each.group) for each in documents] == [
        ("dev/document 1", ""),
        ("dev/a", ""),
        ("dev/a (2)", "dev/a"),
    ]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["0\tA\t_"], r"line 2: words must lie between '#begin document .* but this line does not"),
        (["#begin document a", "0\tA"], r"line 3: a line has 3 cells between tabs .* but got 2"),
        (["#begin document a", "0 A B C D"], r"line 3: .* at least 11 \(coreference last\), but got 5"),
        (
            ["#begin document a", _wide(0, "A", "X", "-"), _wide(1, "B", "X", "- -")],
            r"line 4: lines of one sentence have equally many cells, here 12, but got 13",
        ),
        (["#begin document a", "0\t \t_"], r"line 3: a word has letters, but this one is blank"),
        (
            ["#begin document a", "#end document"],
            r"line 2: a document holds at least one word, but 'a' has none",
        ),
        (
            ["#begin document a", "0\tA\t(4", "#end document"],
            r"line 3: a mention that is opened .* '4' is not",
        ),
        (
            ["#begin document a", "0\tA\t4)", "#end document"],
            r"line 3: a mention that is closed .* '4' is open",
        ),
        (
            ["#begin document a", "0\tA\t4", "#end document"],
            r"line 3: coreference is written .* but got '4'",
        ),
        (
            ["#begin document a", "0\tA\t|", "#end document"],
            r"line 3: coreference is written .* but got '\|'",
        ),
        (["# only = comments"], r"a CoNLL-2012 file holds at least one document, but .* has none"),
    ],
)
def test_a_bad_line_is_one_sentence_with_file_and_line(lines: list[str], sentence: str, read: Read) -> None:
    with pytest.raises(BadInput, match=sentence) as error:
        read("\n".join(["# x", *lines]) + "\n")
    assert "columns.conll" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("ontogum/ontogum_dev.conll.gz", (30, 30, 28_119, 3_818, 857)),
        ("litbank/litbank_coref.conll.gz", (80, 6_956, 168_638, 23_150, 6_304)),
        ("winobias/dev_type1_pro_stereotype.v4_auto_conll.gz", (396, 396, 5_513, 801, 396)),
        ("winobias/dev_type1_anti_stereotype.v4_auto_conll.gz", (396, 396, 5_511, 801, 396)),
        ("winobias/dev_type2_pro_stereotype.v4_auto_conll.gz", (396, 396, 5_329, 798, 396)),
        ("winobias/dev_type2_anti_stereotype.v4_auto_conll.gz", (396, 396, 5_327, 798, 396)),
    ],
)
def test_real_files_have_the_counts_their_authors_give(
    file: str, counts: tuple[int, int, int, int, int], shared: Path
) -> None:
    documents = read_documents(shared / "data" / file, "dev")
    chains = [Counter(mention.entity for mention in document.mentions or ()) for document in documents]
    sentences = sum(len(document.sentences) for document in documents)
    words = sum(len(document.words) for document in documents)
    assert (
        len(documents),
        sentences,
        words,
        sum(map(Counter.total, chains)),
        sum(map(len, chains)),
    ) == counts
    for document in documents:
        spelled = [document.text[start:stop] for start, stop in document.spans.tolist()]
        assert spelled == list(document.words)
    assert len({document.key for document in documents}) == len(documents)


def test_ontogum_has_the_words_of_gum(shared: Path) -> None:
    folder = shared / "data"
    trees = read_documents(folder / "ud_english_gum" / "en_gum-ud-dev.conllu.gz", "dev")
    chains = {d.key: d.words for d in read_documents(folder / "ontogum" / "ontogum_dev.conll.gz", "dev")}
    assert {document.key for document in trees} == chains.keys()
    for document in trees:
        pairs = zip(document.words, chains[document.key], strict=True)
        assert sum(ours == theirs for ours, theirs in pairs) > 0.99 * len(document.words)
