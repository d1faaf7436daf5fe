"""Word lines, GAP and WinoBias become documents; a bad line is named."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.gold.pronouns import split_words, word_range
from headroles.extraction.gold.read import read_documents
from headroles.records.documents import Document

Read = Callable[..., list[Document]]

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"
GAP = 'v-1\tAnn\'s aunt "Bo" said she won.\tshe\t21\tAnn\t0\tFALSE\tBo\t12\tTRUE\thttp://x'
WINOBIAS = "1 [The cook] fed the mover because [he] was kind.\n2 The cook fed [the mover].\n"
WORDS = "The 2-det\ncat 3-nsubj\nsat 0-root\n\nYes 0-root-like\n"


def _mentioned(document: Document) -> dict[str, list[str]]:
    """Words of the mentions of each entity."""
    found: dict[str, list[str]] = {}
    for mention in document.mentions or ():
        found.setdefault(mention.entity, []).append(" ".join(document.words[mention.start : mention.stop]))
    return found


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_words_with_head_and_relation_are_sentences(ending: str, start: str, read: Read) -> None:
    first, second = read(start + WORDS.replace("\n", ending))
    assert (first.key, first.text, first.words) == ("dev/0", "The cat sat", ("The", "cat", "sat"))
    assert first.heads is not None
    assert first.heads.tolist() == [1, 2, -1]
    assert first.relations == ("det", "nsubj", "root")
    assert first.spans.tolist() == [[0, 3], [4, 7], [8, 11]]
    assert (first.mentions, first.tags) == (None, None)
    assert (second.key, second.relations) == ("dev/1", ("root-like",))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_row_of_gap_is_a_passage_with_pronoun_and_names(ending: str, start: str, read: Read) -> None:
    (document,) = read(start + ending.join([HEADER, GAP, ""]), "gap.tsv")
    assert (document.key, document.layout, document.condition) == ("dev/v-1", "gap", "feminine")
    assert document.text == 'Ann\'s aunt "Bo" said she won.'
    assert document.words == ("Ann", "'s", "aunt", '"', "Bo", '"', "said", "she", "won", ".")
    assert _mentioned(document) == {"A": ["Ann"], "pronoun": ["Bo", "she"]}
    assert [mention.start for mention in document.mentions or ()] == [0, 4, 7]


def test_a_gap_row_whose_pronoun_is_neither_name_has_three_entities(read: Read) -> None:
    (document,) = read(f"{HEADER}\n{GAP.replace('TRUE', 'false').replace('she', 'His', 2)}\n")
    assert _mentioned(document) == {"A": ["Ann"], "B": ["Bo"], "pronoun": ["His"]}
    assert document.condition == "masculine"


@given(
    st.text("a1 -'’._é", max_size=30), st.lists(st.tuples(st.integers(0, 29), st.integers(1, 9)), max_size=3)
)
def test_spotted_words_cover_all_that_is_visible_and_keep_to_known_spans(
    text: str, drawn: list[tuple[int, int]]
) -> None:
    known = [(start, min(start + size, len(text))) for start, size in drawn if start < len(text)]
    known = [(start, stop) for start, stop in known if text[start:stop] == text[start:stop].strip()]
    spans = split_words(text, known)
    assert "".join(text[start:stop] for start, stop in spans.tolist()) == "".join(text.split())
    assert all(first[1] <= second[0] for first, second in pairwise(spans.tolist()))
    for start, stop in known:
        first, last = word_range(spans, start, stop)
        assert (int(spans[first, 0]), int(spans[last - 1, 1])) == (start, stop)


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
    assert _mentioned(first) == {"pronoun": ["The cook", "he"], "other": ["the construction worker"]}
    assert second.group == "type2/17"
    assert _mentioned(second) == {"pronoun": ["the construction worker", "her"], "other": ["The cook"]}
    assert second.text.endswith("and told  her to rest by her stove.")
    assert _mentioned(third) == {"pronoun": ["The CEO", "he"]}


def test_winobias_without_a_telling_file_name_has_no_condition(read: Read) -> None:
    (document,) = read("4 [The cook] slept because [she] was tired.\r\n", "lines.txt.gz")
    assert (document.key, document.group, document.condition) == ("dev/4", "4", "")


def test_pro_and_anti_lines_of_one_number_are_one_group(read: Read) -> None:
    line = "9 [The cook] slept because [she] was tired."
    (pro,) = read(line, "pro_stereotyped_type1.txt.dev")
    (anti,) = read(line.replace("she", "he"), "anti_stereotyped_type1.txt.dev")
    assert (pro.group, pro.condition, anti.group, anti.condition) == ("type1/9", "pro", "type1/9", "anti")
    assert pro.key != anti.key


@pytest.mark.parametrize(
    ("text", "file", "sentence"),
    [
        ("A 0-root\nB 1\n", "g.txt", r"line 2: a line is a word, a blank, .* but got 'B 1'"),
        ("A 0-root\nB C 1-x\n", "g.txt", r"line 2: a line is a word, a blank, .* but got 'B C 1-x'"),
        ("A 0-root\n\nB 2-x\nC 1-x\n", "g.txt", r"line 3: a sentence has one root .* has none"),
        ("A 0-root\nB 0-root\n", "g.txt", r"line 2: a sentence has one root .* word 2 is one, and so is"),
        ("A 0-root\nB 2-x\n", "g.txt", r"line 2: heads lead from .* circle: 2 → 2"),
        ("A 0-root\nB 5-x\n", "g.txt", r"line 2: heads are words of the sentence \(1 to 2\), but got 5"),
        (f"{HEADER}\nx\ty\n", "g.tsv", r"line 2: a row has as many cells .* \(11\), but got 2"),
        (f"{HEADER}\n", "g.tsv", r"a GAP file holds at least one row, but .* has only a header"),
        (
            HEADER.replace("B-coref", "B") + f"\n{GAP}\n",
            "g.tsv",
            r"line 1: a GAP file has the columns .* but 'B-coref' is not there",
        ),
        (
            f"{HEADER}\n{GAP.replace('12', '13')}\n",
            "g.tsv",
            r"line 2: B-offset is the position of B .* is not at '13'",
        ),
        (f"{HEADER}\n{GAP.replace('12', 'x')}\n", "g.tsv", r"line 2: B-offset is .* is not at 'x'"),
        (
            f"{HEADER}\n{GAP.replace('TRUE', 'yes')}\n",
            "g.tsv",
            r"line 2: B-coref is TRUE or FALSE, but got 'yes'",
        ),
        (
            f"{HEADER}\n{GAP.replace('she', 'who')}\n",
            "g.tsv",
            r"line 2: the pronoun is one of .* but got 'who'",
        ),
        (WINOBIAS, "g.txt", r"line 2: a line is a number, a blank and a sentence with mentions in square"),
        (
            "1 [A cook] sat [and] [he] ate.",
            "g.txt",
            r"line 1: one of the mentions .* but got 'A cook', 'and', 'he'",
        ),
        ("1 [She] sat and [he] ate.", "g.txt", r"line 1: one of the mentions .* but got 'She', 'he'"),
        ("1 [] sat and [he] ate.", "g.txt", r"line 1: one of the mentions .* but got '', 'he'"),
    ],
)
def test_a_bad_line_is_one_sentence_with_file_and_line(
    text: str, file: str, sentence: str, read: Read
) -> None:
    with pytest.raises(BadInput, match=sentence) as error:
        read(text, file)
    assert file in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "documents", "genders"),
    [("gap-development.tsv", 2_000, 1_000), ("gap-validation.tsv", 454, 227)],
)
def test_gap_has_the_rows_its_authors_give(file: str, documents: int, genders: int, shared: Path) -> None:
    found = read_documents(shared / "data" / "gap" / file, "gap")
    assert len(found) == documents
    assert Counter(each.condition for each in found) == {"feminine": genders, "masculine": genders}
    lines = (shared / "data" / "gap" / file).read_text().splitlines()[1:]
    for document, line in zip(found, lines, strict=True):
        cells = line.split("\t")
        pronoun, first, second = (cells[k] for k in (2, 4, 7))
        names = [(first, cells[6]), (second, cells[9])]
        spans = [document.spans[[each.start, each.stop - 1]] for each in document.mentions or ()]
        spelled = Counter(document.text[span[0, 0] : span[1, 1]] for span in spans)
        assert spelled == Counter([pronoun, first, second])
        corefer = sum(each.entity == "pronoun" for each in document.mentions or ())
        assert corefer == 1 + sum(answer == "TRUE" for _, answer in names)


def test_every_line_of_winobias_has_a_pronoun_and_two_occupations(shared: Path) -> None:
    folder = shared / "data" / "winobias"
    lists = (folder / f"{gender}_occupations.txt" for gender in ("female", "male"))
    occupations = {line.strip().lower() for each in lists for line in each.read_text().splitlines()}
    groups: Counter[str] = Counter()
    for stereotype in ("pro", "anti"):
        for kind in (1, 2):
            documents = read_documents(folder / f"{stereotype}_stereotyped_type{kind}.txt.dev", "w")
            assert len(documents) == 396
            assert {each.condition for each in documents} == {stereotype}
            groups.update(each.group for each in documents)
            for document in documents:
                named = _mentioned(document)
                assert (len(named["pronoun"]), len(named["other"])) == (2, 1)
                spoken = [each.lower().removeprefix("the ") for each in named["pronoun"] + named["other"]]
                assert len(set(spoken) & occupations) == 2
    assert len(groups) == 792
    assert set(groups.values()) == {2}
