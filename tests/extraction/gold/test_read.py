"""JSON lines become documents; each layout is known by its file's ending or first lines."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroles.errors import BadInput, UnknownName
from headroles.extraction.gold.jsonlines import parser_of
from headroles.extraction.gold.read import LAYOUTS, read_documents
from headroles.records.documents import Document, Mention

Read = Callable[..., list[Document]]

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"
GAP = 'v-1\tAnn\'s aunt "Bo" said she won.\tshe\t21\tAnn\t0\tFALSE\tBo\t12\tTRUE\thttp://x'
WORDS = "The 2-det\ncat 3-nsubj\nsat 0-root\n\nYes 0-root-like\n"
TREE = "1\tYes\t_\t_\t_\t_\t0\troot\t_\t_\n"


HUGE = "9" * 5000
"""Python reads no number of over 4,300 digits."""


@pytest.mark.parametrize(
    ("layout", "content", "sentence"),
    [
        ("jsonl", f'{{"words": ["a"], "heads": [{HUGE}]}}', "each line is one JSON object, but"),
        ("words", f"cat {HUGE}-nsubj", "a line is a word, a blank, the number of its head"),
        ("conllu", TREE.replace("\t0\t", f"\t{HUGE}\t"), "the head .* is another word's number, or 0"),
        ("conllu", f"1-{HUGE}\tx" + "\t_" * 8, "a multi-word token's id spans the words"),
        ("conllu", f"{HUGE}-2\tx" + "\t_" * 8, "a multi-word token's id spans the words"),
        ("conll2012", f"#begin document (a); part {HUGE}\n1\tb\t-\n", "line 1: the part of a document is"),
        (
            "gap",
            f"{HEADER}\n{GAP}".replace("\t21\t", f"\t{HUGE}\t"),
            "Pronoun-offset is the position of Pronoun",
        ),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused_in_a_short_sentence(
    layout: str, content: str, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "data"
    file.write_text(content)
    with pytest.raises(BadInput, match=sentence) as said:
        read_documents(file, "", layout)
    assert len(str(said.value)) < 500


def test_a_part_of_thousands_of_digits_is_not_the_first_part(tmp_path: Path) -> None:
    file = tmp_path / "data.conllu"
    notes = f"Entity=(e1[1/2])(e1[{HUGE}/2])"
    file.write_text(TREE.replace("\t_\n", f"\t{notes}\n"))
    (document,) = read_documents(file, "")
    assert document.mentions == (Mention(0, 1, "e1"),)


def test_a_first_line_of_json_with_a_huge_number_names_no_parser(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(f'{{"words": ["a"], "heads": [{HUGE}]}}')
    assert parser_of(file) is None


def test_json_lines_hold_words_trees_and_clusters(read: Read) -> None:
    row = {
        "document": "a",
        "words": ["It", "rains", ".", "It", "stops"],
        "spaces": [True, False, True, True, False],
        "sentences": [3, 2],
        "heads": [2, 0, 2, 2, 0],
        "relations": ["expl", "root", "punct", "nsubj", "root"],
        "tags": ["PRON", "VERB", "PUNCT", "PRON", "VERB"],
        "mentions": [[0, 1], [3, 4], [1, 3]],
        "clusters": [[1, 0], [[3, 5]]],
    }
    first, second = read(
        "\ufeff" + json.dumps(row) + "\r\n\r\n" + json.dumps({"words": ["Yes"]}) + "\r\n", "a.jsonl"
    )
    assert (first.key, first.text) == ("dev/a", "It rains. It stops")
    assert first.sentences.tolist() == [0, 3]
    assert first.heads is not None
    assert first.heads.tolist() == [1, -1, 1, 4, -1]
    assert first.relations == tuple(row["relations"])
    assert first.tags == tuple(row["tags"])
    assert first.mentions == (
        Mention(0, 1, "0"),
        Mention(1, 3, "mention 2"),
        Mention(3, 5, "1"),
        Mention(3, 4, "0"),
    )
    assert (second.key, second.text, second.heads, second.mentions) == ("dev/1", "Yes", None, None)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("{", r"each line is one JSON object, but "),
        ([1], r"each line is one JSON object, but got a list"),
        ({}, r"'words' is a list of at least one word, none of them blank"),
        ({"words": []}, r"'words' is a list of at least one word"),
        ({"words": ["a", " "]}, r"'words' is a list of at least one word"),
        ({"words": "ab"}, r"'words' is a list of strings, but got 'ab'"),
        ({"words": ["a", 1]}, r"'words' is a list of strings, but got \['a', 1\]"),
        ({"words": ["\ud800"]}, r"every text is Unicode, but one holds half a character"),
        (
            {"words": ["a"], "heads": [0, 1]},
            r"'heads' is a list of whole numbers .* \(1\), but got 2 values",
        ),
        ({"words": ["a"], "heads": [True]}, r"'heads' is a list of whole numbers .* but got \[True\]"),
        ({"words": ["a", "b"], "heads": [2, 1]}, r"a sentence has one root .* has none"),
        ({"words": ["a", "b"], "heads": [0, 3]}, r"heads are words of the sentence \(1 to 2\), but got 3"),
        ({"words": ["a", "b"], "heads": [0, -1]}, r"heads are words of the sentence \(1 to 2\), but got -1"),
        ({"words": ["a"], "tags": ["X", "Y"]}, r"'tags' is a list of strings with one value per word \(1\)"),
        ({"words": ["a"], "spaces": [1]}, r"'spaces' is a list of true and false .* but got \[1\]"),
        (
            {"words": ["a"], "sentences": [2]},
            r"'sentences' says how many words .* 1 in all .* but got \[2\]",
        ),
        ({"words": ["a"], "sentences": [1, 0]}, r"'sentences' says how many words each sentence has"),
        ({"words": ["a"], "sentences": []}, r"'sentences' says how many words .* but got \[\]"),
        ({"words": ["a"], "mentions": [[0, 2]]}, r"a mention is a pair .* from 0 to 1, but got \[0, 2\]"),
        ({"words": ["a"], "mentions": [[1, 1]]}, r"a mention is a pair .* but got \[1, 1\]"),
        ({"words": ["a"], "mentions": [0]}, r"a mention is a pair .* but got 0"),
        ({"words": ["a"], "mentions": {}}, r"'mentions' and 'clusters' are lists"),
        ({"words": ["a"], "clusters": "x"}, r"'mentions' and 'clusters' are lists"),
        ({"words": ["a"], "clusters": [0]}, r"a cluster is a list of mentions, but got 0"),
        ({"words": ["a"], "clusters": [[0]]}, r"a cluster names mentions by their place .* but got 0"),
        ({"words": ["a"], "clusters": [[[0, 1]], [[0, 1]]]}, r"a mention is in one cluster, but \[0, 1\]"),
    ],
)
def test_a_bad_json_line_is_one_sentence_with_file_and_line(row: object, sentence: str, read: Read) -> None:
    line = row if isinstance(row, str) else json.dumps(row)
    with pytest.raises(BadInput, match=rf"g\.jsonl, line 2: {sentence}") as error:
        read(f'{{"words": ["fine"]}}\n{line}\n', "g.jsonl")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "text", "layout"),
    [
        ("g.conllu.gz", TREE, "conllu"),
        ("g.dat", f"# sent_id = 1\n\n{TREE}", "conllu"),
        ("g.jsonl", '{"words": ["Yes"]}', "jsonl"),
        ("g.txt", ' {"words": ["Yes"]}', "jsonl"),
        ("g.conll", "#begin document a\n0\tYes\t_\n", "conll2012"),
        ("g.txt.gz", "\n# begin document a\n0\tYes\t_\n", "conll2012"),
        ("g.tsv", f"{HEADER}\n{GAP}", "gap"),
        ("g.txt", "1 [The cook] ate because [he] could.", "winobias"),
        ("g.txt", WORDS, "words"),
    ],
)
def test_a_layout_is_told_from_ending_or_first_lines(file: str, text: str, layout: str, read: Read) -> None:
    told, named = read(text, file), read(text, file, layout)
    assert [(each.key, each.text, each.mentions) for each in told] == [
        (each.key, each.text, each.mentions) for each in named
    ]
    others = []
    for other in set(LAYOUTS) - {layout}:
        with pytest.raises(BadInput):
            others += read(text, file, other)
    assert not others


def test_an_unknown_layout_lists_those_that_are_known(read: Read) -> None:
    for text in ("Plain text.\n", "# only\n# comments\n"):
        with pytest.raises(BadInput, match="conllu, words, conll2012, gap, winobias, jsonl"):
            read(text)
    with pytest.raises(UnknownName, match=r"no layout .* 'conlu'; did you mean 'conllu'\?"):
        read(WORDS, layout="conlu")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_empty_file_or_none_is_said_to_be_so(layout: str, read: Read, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a file to read must hold text, but .*empty.txt' is empty"):
        read("\ufeff\r\n", "empty.txt", layout)
    with pytest.raises(BadInput, match=r"^No such file: "):
        read_documents(tmp_path / "none.txt", "dev", layout)


def test_readers_load_no_model_library() -> None:
    code = (
        "import sys, headroles.extraction.gold.read, headroles.extraction.texts.windows\n"
        "print([each for each in ('torch', 'transformers', 'spacy', 'pandas') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
