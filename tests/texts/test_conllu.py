"""CoNLL-U sentences keep their text, their words and their trees, as sentences and as documents."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headroles.extraction import read_conllu, read_documents
from headroles.records import Document, Mention, Passage
from tests.support.texts import conllu, facts, sections, spelled, write

Read = Callable[[str], list[Passage]]
Documents = Callable[[str], list[Document]]


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Sentences of a CoNLL-U text."""
    path = tmp_path_factory.mktemp("trees") / "trees.conllu"
    return lambda text: read_conllu(write(path, text), "trees")


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """Documents of a CoNLL-U text."""
    path = tmp_path_factory.mktemp("trees") / "trees.conllu"
    return lambda text: read_documents(write(path, text), "dev")


def words_of(passage: Passage) -> list[str]:
    """Return the words of a sentence."""
    assert passage.words is not None
    return spelled(passage.texts[0], passage.words[0])


def test_words_heads_relations_and_lemmas_are_read(read: Read) -> None:
    lines = [
        "# sent_id = a",
        "# text = It rains, now.",
        conllu("0.1", "unseen"),
        conllu(1, "It", 2, "expl"),
        conllu(2, "rains", 0, "root", "SpaceAfter=No"),
        "# what",
        conllu(3, ",", 4, "punct"),
        conllu("3.1", "rains", "_"),
        conllu(4, "now", 2, "advmod", "Other=x|SpaceAfter=No|Entity=(1)"),
        conllu(5, ".", 2, "punct"),
    ]
    for text in ("\n".join(lines), "\ufeff" + "\r\n".join([*lines, "", " ", ""])):
        (passage,) = read(text)
        assert facts([passage]) == [("trees/0", ("It rains, now.",), None)]
        assert words_of(passage) == ["It", "rains", ",", "now", "."]
        assert passage.words is not None
        assert passage.words[0].heads.tolist() == [1, -1, 3, 1, 1]
        assert passage.words[0].relations == ("expl", "root", "punct", "advmod", "punct")
        assert passage.words[0].lemmas is None
    lines = [
        conllu(1, "Cats", 2, lemma="cat"),
        conllu(2, "ran", lemma="run"),
        conllu(3, "_", 2),
        conllu(4, "so", 2),
    ]
    (passage,) = read("\n".join(lines))
    assert passage.words is not None
    assert passage.words[0].lemmas == ("cat", "run", "_", "")


def test_the_words_of_a_multi_word_token_share_its_letters(read: Read, documents: Documents) -> None:
    for form, words, pieces in sections(Path(__file__).with_name("tables.txt"))["split"]:
        parts = words.split()
        last = 1 + len(parts)
        lines = [conllu(1, "I"), conllu(f"2-{last}", form, misc="SpaceAfter=No")]
        lines += [conllu(2 + place, word, 1, misc="SpaceAfter=No") for place, word in enumerate(parts)]
        (passage,) = read("\n".join([*lines, conllu(last + 1, "it", 1)]) + "\n\n")
        assert passage.texts == (f"I {form}it",)
        assert words_of(passage) == ["I", *pieces.split(), "it"]
    lines = [conllu(1, "o", 0, misc="SpaceAfter=No"), conllu("2-4", "à")]
    lines += [conllu(2, "a", 1), conllu(3, "l", 1), conllu(4, "e", 1), conllu(5, "x", 1)]
    (document,) = documents("\n".join(lines))  # a word without letters of its own shares one
    assert document.text == "oà x"
    assert document.spans.tolist() == [[0, 1], [1, 2], [1, 2], [1, 2], [3, 4]]


def test_documents_are_groups_named_or_numbered(read: Read) -> None:
    starts = ["", "# newdoc id = letters-7", "# newpar id = p1", "# newdoc", "# newdoc", ""]
    starts += ["#newdoc id=tight", "# newdocument = no"]
    blocks = [f"{start}\n{conllu(1, 'Yes', 0, 'root')}".lstrip() for start in starts]
    groups = [passage.group for passage in read("\n\n".join(blocks) + "\n")]
    assert groups[:3] == [None, "letters-7", "letters-7"]
    assert groups[3] != groups[4] == groups[5]
    assert None not in groups[1:]
    assert groups[6:] == ["tight", "tight"]


def test_a_document_holds_its_sentences_in_a_row(documents: Documents) -> None:
    lines = [
        "# newdoc id = letter",
        conllu(1, "We", 2, upos="PRON", feats="Number=Plur"),
        conllu("2-3", "can't", misc="SpaceAfter=No"),
        conllu(2, "ca", 0, xpos="MD"),
        conllu(3, "n't", 2),
        conllu(4, ".", 2, upos="PUNCT"),
        "",
        conllu(1, "Go", 0, upos="VERB"),
        conllu("1.1", "you"),
        "",
    ]
    for text in ("\n".join(lines), "\ufeff" + "\r\n".join(lines)):
        (letter,) = documents(text)
        assert (letter.key, letter.group, letter.layout, letter.condition) == ("dev/letter", "", "", "")
        assert letter.text == "We can't. Go"
        assert letter.words == ("We", "ca", "n't", ".", "Go")
        assert letter.spans.tolist() == [[0, 2], [3, 5], [5, 8], [8, 9], [10, 12]]
        assert letter.sentences.tolist() == [0, 4]
        assert letter.heads is not None
        assert letter.heads.tolist() == [1, -1, 1, 1, -1]
        assert letter.relations == ("dep",) * 5
        assert letter.tags == ("PRON", "MD", "", "PUNCT", "VERB")
        assert letter.features == ("Number=Plur", "", "", "", "")
        assert letter.mentions is None


def test_sentences_without_a_document_are_their_own_and_what_a_file_does_not_annotate_is_none(
    documents: Documents,
) -> None:
    lone = conllu(1, "Yes")
    found = documents(f"{lone}\n\n{lone}\n\n# newdoc id = a\n{lone}\n\n{lone}\n\n# newdoc\n{lone}\n")
    sizes = [("dev/0", 1), ("dev/1", 1), ("dev/a", 2), ("dev/document 2", 1)]
    assert [(document.key, len(document.words)) for document in found] == sizes
    first, _ = documents(f"{conllu(1, 'A')}\n\n{conllu(1, 'B')}\n")
    assert (first.tags, first.features, first.mentions) == (None, None, None)
    marked = conllu(1, "B", misc="Entity=(1)", upos="X", feats="F=1")
    first, second = documents(f"{conllu(1, 'A')}\n\n{marked}\n")
    assert (first.tags, first.features, first.mentions) == (("",), ("",), ())
    assert second.mentions == (Mention(0, 1, "1"),)


def test_mentions_nest_cross_and_stand_at_one_word_together(documents: Documents) -> None:
    notes = ["(4-thing(1-person-new", "(2-place)(3-time-x", "(1-person)4)", "1)(5-a)", "3)"]
    lines = ["# newdoc id = d", "# global.Entity = GRP-etype-infstat"]
    lines += [conllu(k, f"w{k}", k - 1, misc=f"A=b|Entity={note}|C=d") for k, note in enumerate(notes, 1)]
    (document,) = documents("\n".join([*lines, "", conllu(1, "end")]))
    wanted = ((0, 4, "1"), (0, 3, "4"), (1, 5, "3"), (1, 2, "2"), (2, 3, "1"), (3, 4, "5"))
    assert document.mentions == tuple(Mention(*mention) for mention in wanted)


def test_mentions_at_empty_nodes_and_later_parts_are_left_out_and_fields_are_known_by_name(
    documents: Documents,
) -> None:
    huge = "9" * 5000  # Python reads no number of over 4,300 digits
    lines = [
        conllu("0.1", "it", "_", misc="Entity=(e1-x)(e2-x"),
        conllu(1, "a", 0, misc="Entity=(e3[1/2]-x"),
        conllu(2, "b", 1, misc="Entity=e3[1/2])"),
        conllu(3, "c", 1, misc=f"Entity=(e3[2/2]-x)(e4[{huge}/2])"),
        conllu("3.1", "d", "_", misc="Entity=e2)"),
    ]
    (document,) = documents("\n".join(lines))
    assert document.mentions == (Mention(0, 3, "e2"), Mention(0, 2, "e3"))
    shown = {"eid-etype-head-other": "(e7-person-1-x:y)", "entity-GRP-infstat": "(person-e7-new)"}
    for fields, note in shown.items():
        text = f"# newdoc\n# global.Entity = {fields}\n{conllu(1, 'Ann', misc=f'Entity={note}')}\n"
        assert documents(text)[0].mentions == (Mention(0, 1, "e7"),)
