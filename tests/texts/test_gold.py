"""Gold annotation in every layout becomes documents: words, sentences, trees, tags and mentions."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from headroles.errors import BadInput
from headroles.extraction import read_documents
from headroles.records import Document
from tests.support.texts import conllu, write

Read = Callable[..., list[Document]]
HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"
GAP = 'v-1\tAnn\'s aunt "Bo" said she won.\tshe\t21\tAnn\t0\tFALSE\tBo\t12\tTRUE\thttp://x'
LAYOUTS = ("conllu", "words", "conll2012", "gap", "winobias", "jsonl")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Documents of a text in a file of some name, in a named layout or the one that is recognised."""
    folder = tmp_path_factory.mktemp("gold")

    def make(text: str, file: str = "gold.txt", layout: str | None = None) -> list[Document]:
        return list(read_documents(write(folder / file, text), "dev", layout))

    return make


def mentions_of(document: Document) -> list[tuple[int, int, str]]:
    """Return first word, one past the last word, and entity of each mention."""
    return [(mention.start, mention.stop, mention.entity) for mention in document.mentions or ()]


def mentioned(document: Document) -> dict[str, list[str]]:
    """Return the words of the mentions of each entity."""
    found: dict[str, list[str]] = {}
    for start, stop, entity in mentions_of(document):
        found.setdefault(entity, []).append(" ".join(document.words[start:stop]))
    return found


def wide(number: int, word: str, tag: str, notes: str, joint: str = "   ") -> str:
    """Return a line of OntoNotes."""
    return joint.join(["nw/a", "0", str(number), word, tag, "*", "-", "-", "-", "Ann", "*", notes])


def test_wide_columns_are_read_with_tags_sentences_and_parts(read: Read) -> None:
    lines = [
        "# x",
        "#begin document (nw/a(1)); part 000",
        wide(0, "Ann", "NNP", "(3)"),
        wide(1, "left", "VBD", "-"),
        "",
        wide(0, "Her", "PRP$", "(4|(3)"),
        wide(1, "dog", "NN", "4)"),
        wide(2, ".", ".", "-", "\t"),
        "",
        "#end document",
        "#begin document (nw/a(1)); part 001",
        wide(0, "Yes", "-", "-"),
        "#end document",
    ]
    first, second = read("\n".join(lines), "a.conll")
    assert (first.key, first.text, first.group) == ("dev/nw/a(1)", "Ann left Her dog .", "")
    assert first.sentences.tolist() == [0, 2]
    assert first.tags == ("NNP", "VBD", "PRP$", "NN", ".")
    assert mentions_of(first) == [(0, 1, "3"), (2, 4, "4"), (2, 3, "3")]
    assert first.heads is None
    assert (second.key, second.group, second.tags) == ("dev/nw/a(1)#1", "dev/nw/a(1)", None)
    assert second.mentions == ()


def test_narrow_columns_and_those_of_litbank_are_read(read: Read) -> None:
    rows = ["0\tHis\t(1(2)", "1\tdog\t1)", "2\t#\t_", "3\the\t(2)(3", "4\tsaw\t3)"]
    for start in ("", "\ufeff"):
        for ending in ("\n", "\r\n"):
            text = start + ending.join(["# begin document GUM_x", *rows, "# end document", ""])
            (document,) = read(text, "a.conll")
            assert (document.key, document.text) == ("dev/GUM_x", "His dog # he saw")
            assert document.spans.tolist() == [[0, 3], [4, 7], [8, 9], [10, 12], [13, 16]]
            assert document.sentences.tolist() == [0]
            assert mentions_of(document) == [(0, 2, "1"), (0, 1, "2"), (3, 5, "3"), (3, 4, "2")]
    notes = {"Lord": "(2", "Hay": "2)", "sat": "", "": "", "He": "(2)|(5)"}
    lines = [
        "\t".join(["book", "0", "0", word, *"_" * 8, note]) if word else "" for word, note in notes.items()
    ]
    (book,) = read("\n".join(["#begin document (book); part 0", *lines, "#end document"]))
    assert (book.sentences.tolist(), book.tags) == ([0, 3], None)
    assert mentions_of(book) == [(0, 2, "2"), (3, 4, "2"), (3, 4, "5")]
    row = "0\tYes\t_"
    several = read(f"# begin document\n{row}\n# begin document a\n{row}\n# begin document a\n{row}\n")
    keys = [("dev/document 1", ""), ("dev/a", ""), ("dev/a (2)", "dev/a")]
    assert [(document.key, document.group) for document in several] == keys


def test_words_with_head_and_relation_are_sentences(read: Read) -> None:
    text = "The 2-det\ncat 3-nsubj\nsat 0-root\n\nYes 0-root-like\n"
    for whole in (text, "\ufeff" + text.replace("\n", "\r\n")):
        first, second = read(whole)
        assert (first.key, first.text, first.words) == ("dev/0", "The cat sat", ("The", "cat", "sat"))
        assert first.heads is not None
        assert first.heads.tolist() == [1, 2, -1]
        assert first.relations == ("det", "nsubj", "root")
        assert first.spans.tolist() == [[0, 3], [4, 7], [8, 11]]
        assert (first.mentions, first.tags) == (None, None)
        assert (second.key, second.relations) == ("dev/1", ("root-like",))


def test_a_row_of_gap_is_a_passage_with_pronoun_and_names(read: Read) -> None:
    for start, ending in (("", "\n"), ("\ufeff", "\r\n")):
        (document,) = read(start + ending.join([HEADER, GAP, ""]), "gap.tsv")
        assert (document.key, document.layout, document.condition) == ("dev/v-1", "gap", "feminine")
        assert document.text == 'Ann\'s aunt "Bo" said she won.'
        assert document.words == ("Ann", "'s", "aunt", '"', "Bo", '"', "said", "she", "won", ".")
        assert mentions_of(document) == [(0, 1, "A"), (4, 5, "pronoun"), (7, 8, "pronoun")]
    (other,) = read(f"{HEADER}\n{GAP.replace('TRUE', 'false').replace('she', 'His', 2)}\n")
    assert mentioned(other) == {"A": ["Ann"], "B": ["Bo"], "pronoun": ["His"]}
    assert other.condition == "masculine"
    cells = ["v", "x_é-a's Bo-b’sshe_1'.", "she", "14", "é-a's", "2", "FALSE", "Bo-b", "8", "FALSE", "u"]
    (odd,) = read(f"{HEADER}\n" + "\t".join(cells) + "\n", "gap.tsv")  # words keep to the names
    assert mentioned(odd) == {"A": ["é - a 's"], "B": ["Bo - b"], "pronoun": ["she"]}
    assert "".join(odd.words) == cells[1].replace(" ", "")


def test_a_winobias_line_finds_the_occupation_that_is_not_meant(read: Read) -> None:
    lines = [
        "1 [The cook] fed the construction worker because [he] was kind.",
        "17 The cook fed [the construction worker] and told [ her] to rest by [her] stove.",
        "3 [The CEO] waved and [he] left.",
    ]
    first, second, third = read("\n".join(lines), "anti_stereotyped_type2.txt.dev")
    assert (first.key, first.group, first.condition) == ("dev/type2/anti/1", "type2/1", "anti")
    assert first.layout == "winobias"
    assert first.text == "The cook fed the construction worker because he was kind."
    assert mentioned(first) == {"pronoun": ["The cook", "he"], "other": ["the construction worker"]}
    assert second.group == "type2/17"
    assert mentioned(second) == {"pronoun": ["the construction worker", "her"], "other": ["The cook"]}
    assert second.text.endswith("and told  her to rest by her stove.")
    assert mentioned(third) == {"pronoun": ["The CEO", "he"]}
    (lone,) = read("4 [The cook] slept because [she] was tired.\r\n", "lines.txt.gz")
    assert (lone.key, lone.group, lone.condition) == ("dev/4", "4", "")
    (pro,) = read(lines[2], "pro_stereotyped_type1.txt.dev")
    (anti,) = read(lines[2], "anti_stereotyped_type1.txt.dev")
    assert (pro.group, pro.condition, anti.group, anti.condition) == ("type1/3", "pro", "type1/3", "anti")
    assert pro.key != anti.key


def test_json_lines_hold_words_trees_and_clusters(read: Read) -> None:
    row: dict[str, Any] = {
        "document": "a",
        "words": ["It", "rains", ".", "It", "stops"],
        "spaces": [True, False, True, True, False],
        "sentences": [3, 2],
        "heads": [2, 0, 2, 2, 0],
        "relations": ["expl", "root", "punct", "nsubj", "root"],
        "tags": ["PRON", "VERB", "PUNCT", "PRON", "VERB"],
        "features": ["", "Tense=Pres", "", "", ""],
        "mentions": [[0, 1], [3, 4], [1, 3]],
        "clusters": [[1, 0], [[3, 5]]],
    }
    text = "\ufeff" + json.dumps(row) + "\r\n\r\n" + json.dumps({"words": ["Yes"]}) + "\r\n"
    first, second = read(text, "a.jsonl")
    assert (first.key, first.text) == ("dev/a", "It rains. It stops")
    assert first.sentences.tolist() == [0, 3]
    assert first.heads is not None
    assert first.heads.tolist() == [1, -1, 1, 4, -1]
    fields = (first.relations, first.tags, first.features)
    assert fields == tuple(tuple(row[name]) for name in ("relations", "tags", "features"))
    assert mentions_of(first) == [(0, 1, "0"), (1, 3, "mention 2"), (3, 5, "1"), (3, 4, "0")]
    assert (second.key, second.text, second.heads, second.mentions) == ("dev/1", "Yes", None, None)


FILES = [
    ("g.conllu.gz", conllu(1, "Yes"), "conllu"),
    ("g.dat", f"# sent_id = 1\n\n{conllu(1, 'Yes')}", "conllu"),
    ("g.jsonl", '{"words": ["Yes"]}', "jsonl"),
    ("g.txt", ' {"words": ["Yes"]}', "jsonl"),
    ("g.conll", "#begin document a\n0\tYes\t_\n", "conll2012"),
    ("g.txt.gz", "\n# begin document a\n0\tYes\t_\n", "conll2012"),
    ("g.tsv", f"{HEADER}\n{GAP}", "gap"),
    ("g.txt", "1 [The cook] ate because [he] could.", "winobias"),
    ("g.txt", "The 2-det\ncat 0-root\n", "words"),
]
"""Files, what they hold, and the layout that their ending or first lines show."""


def test_a_layout_is_told_from_ending_or_first_lines(read: Read) -> None:
    for file, text, layout in FILES:
        shown, named = (
            [(own.key, own.text, own.mentions) for own in read(text, file, name)] for name in (None, layout)
        )
        assert shown == named
        for other in set(LAYOUTS) - {layout}:
            with pytest.raises(BadInput, match=re.escape(file)):
                read(text, file, other)
