"""The dependency probe asks what it should, and counts as the released code does where told to."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles.errors import BadInput, UnknownName
from headroles.records.documents import Document, Window
from headroles.records.probes import ChoiceProbe
from headroles.sieves.language.relations import covers, name_in_scheme, relations_of
from headroles.sieves.probes import dependency
from headroles.sieves.probes.choices import choose_candidates, hits, right_by_row
from headroles.sieves.probes.dependency import DependencyProbe
from headroles.sieves.probes.published_heads import PUBLISHED_TABLE, STANFORD_ONLY, published_head
from tests.support.reference import draws

few = settings(max_examples=draws(40))


def _document(*sentences: tuple[str, Sequence[int], str]) -> Document:
    """Sentences as (words, heads from 1 with 0 for the root, relations), blanks between words."""
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    starts: list[int] = []
    for text, own, names in sentences:
        starts.append(len(words))
        heads += [head - 1 + len(words) if head else -1 for head in own]
        words += text.split()
        relations += names.split()
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
    return Document(
        key="d",
        text=" ".join(words),
        spans=spans,
        words=tuple(words),
        sentences=np.array(starts),
        heads=np.array(heads),
        relations=tuple(relations),
    )


def _whole(document: Document) -> Window:
    return Window(document, 0, len(document.words), 0)


DOGS = ("The big dog was chased .", [3, 3, 5, 5, 0, 5], "det amod nsubj:pass aux:pass root punct")
CATS = ("Cats sleep", [2, 0], "nsubj root")
TOYS = ("My dog 's toys broke", [2, 4, 2, 5, 0], "nmod:poss nmod:poss case nsubj root")


def test_items_are_all_arcs_but_punctuation_and_roots() -> None:
    probe = DependencyProbe(("nsubj", "det"))
    choices, lost = probe.choices(_whole(_document(DOGS, CATS)))
    assert probe.rows == ("all", "nsubj", "det")
    assert choices.query.tolist() == [0, 1, 2, 3, 6]
    assert choices.rows.astype(int).tolist() == [[1, 1, 1, 1, 1], [0, 0, 1, 0, 1], [1, 0, 0, 0, 0]]
    assert [np.flatnonzero(row).tolist() for row in choices.right] == [[2], [2], [4], [4], [7]]
    assert [np.flatnonzero(row).tolist() for row in choices.candidates] == [
        [1, 2, 3, 4, 5],
        [0, 2, 3, 4, 5],
        [0, 1, 3, 4, 5],
        [0, 1, 2, 4, 5],
        [7],
    ]
    assert lost.tolist() == [0, 0, 0]


def test_a_probe_is_one_that_chooses() -> None:
    probe = DependencyProbe()
    assert isinstance(probe, ChoiceProbe)
    assert (probe.name, probe.directions, probe.contrast) == ("dependency", ("→", "←"), True)
    assert probe.rivals == len(probe.baselines) == 20
    assert (probe.baselines[0], probe.baselines[9:11], probe.baselines[-1]) == ("-10", ("-1", "+1"), "+10")


def test_windows_ask_fresh_words_and_count_arcs_they_cut_as_lost() -> None:
    document = _document(DOGS, CATS)
    probe = DependencyProbe(("nsubj", "det", "aux:pass"))
    first, lost = probe.choices(Window(document, 0, 4, 0))
    assert first.query.tolist() == [0, 1]
    assert np.flatnonzero(first.candidates[0]).tolist() == [1, 2, 3]
    assert lost.tolist() == [2, 1, 0, 1]
    second, none = probe.choices(Window(document, 2, 8, 4))
    assert second.query.tolist() == [4]
    assert np.flatnonzero(second.right[0]).tolist() == [5]
    assert none.tolist() == [0, 0, 0, 0]
    hits_of = probe.baseline_hits(Window(document, 2, 8, 4))
    assert hits_of[0, probe.baselines.index("+1")] == 1
    assert hits_of.sum() == 2  # the one item, right in rows all and nsubj


def test_a_window_without_items_has_none() -> None:
    document = _document(CATS)
    choices, _ = DependencyProbe(("det",)).choices(Window(document, 1, 2, 1))
    assert choices.rows.shape == (2, 0)
    assert choices.candidates.shape == choices.right.shape == (0, 1)
    assert not DependencyProbe(("det",)).baseline_hits(Window(document, 1, 2, 1)).any()


@few
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 7), min_size=1, max_size=3))
def test_offsets_are_right_where_the_head_is_so_many_words_away(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    sentences = []
    for length in lengths:
        heads = [0, *(int(rng.integers(1, word)) for word in range(2, length + 1))]
        names = ["root", *rng.choice(["det", "obj", "punct"], size=length - 1)]
        sentences.append((" ".join("w" * length), heads, " ".join(names)))
    document = _document(*sentences)
    probe = DependencyProbe(("det", "obj"))
    found = probe.baseline_hits(_whole(document))
    assert document.heads is not None
    assert document.relations is not None
    for row, name in enumerate(probe.rows):
        for column, offset in enumerate(probe.offsets):
            expected = sum(
                head >= 0 and head - word == offset and relation in (name if row else "det obj").split()
                for word, (head, relation) in enumerate(
                    zip(document.heads.tolist(), document.relations, strict=True)
                )
            )
            assert found[row, column] == expected


def test_a_document_without_trees_is_refused() -> None:
    plain = Document("plain", "a b", np.array([[0, 1], [2, 3]]), ("a", "b"), np.array([0]))
    with pytest.raises(BadInput, match="'plain' has no trees"):
        DependencyProbe().choices(_whole(plain))
    with pytest.raises(BadInput, match="'plain' has no trees"):
        DependencyProbe().baseline_hits(_whole(plain))


@pytest.mark.parametrize("name", ["punct", "ROOT", "all", "", "n subj", "nsubj:", "12"])
def test_what_is_no_relation_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="a relation is letters"):
        DependencyProbe((name,))


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'clearnlp'"):
        DependencyProbe(("det",), scheme="clear")


# Names


def test_rows_have_the_names_of_the_scheme_and_each_name_once() -> None:
    names = ("dobj", "obj", "nn", "poss", "obl")
    assert DependencyProbe(names).rows == ("all", "obj", "compound", "nmod:poss", "obl")
    assert DependencyProbe(names, "clearnlp").rows == ("all", "dobj", "nn", "poss", "obl")


def test_without_relations_the_rows_are_those_of_the_published_table() -> None:
    assert set(DependencyProbe(scheme="clearnlp").rows) == set(PUBLISHED_TABLE)
    assert (
        set(DependencyProbe().rows)
        == {name_in_scheme(name, "ud") for name in PUBLISHED_TABLE} - STANFORD_ONLY
    )


def test_a_plain_name_covers_subtypes_but_not_those_with_a_name_of_their_own() -> None:
    passive = _document(DOGS)
    for scheme, expected in (("ud", 1), ("clearnlp", 0)):
        choices, _ = DependencyProbe(("nsubj",), scheme).choices(_whole(passive))
        assert choices.rows[1].sum() == expected
    assert covers("compound", "compound:prt", "ud")
    assert not covers("nn", "compound:prt", "clearnlp")
    assert covers("prt", "compound:prt", "clearnlp")
    assert not covers("nsubj:pass", "nsubj", "ud")


def test_relations_are_listed_by_falling_count_and_rare_ones_apart() -> None:
    documents = [_document(DOGS, CATS), _document(TOYS)]
    kept, rare = relations_of(documents, "ud", 2)
    assert kept == ("nsubj", "nmod:poss")
    assert rare == ("amod", "aux:pass", "case", "det", "nsubj:pass")
    kept, rare = relations_of(documents, "clearnlp", 2)
    assert kept == ("nsubj", "poss")
    assert rare == ("amod", "auxpass", "case", "det", "nsubjpass")


def test_counts_of_listed_relations_are_those_of_the_rows() -> None:
    documents = [_document(DOGS, CATS, TOYS)]
    for scheme in ("ud", "clearnlp"):
        kept, rare = relations_of(documents, scheme, 2)
        for names, enough in ((kept, True), (rare, False)):
            choices, _ = DependencyProbe(names, scheme).choices(_whole(documents[0]))
            assert ((choices.rows[1:].sum(axis=1) >= 2) == enough).all()
            assert choices.rows[1:].any(axis=1).all()


def test_the_published_table_is_found_by_either_name() -> None:
    for name in ("compound", "nn"):
        for scheme in ("ud", "clearnlp"):
            found = published_head(name, scheme)
            assert found is not None
            assert (found.head, found.accuracy, found.offset) == ("4-10", 70.4, 1)
    assert published_head("prep", "ud") is None
    assert published_head("prep", "clearnlp") is not None
    assert published_head("obl", "ud") is None
    assert [row.relation for row in PUBLISHED_TABLE.values() if row.corrected] == ["auxpass"]
    assert [row.relation for row in PUBLISHED_TABLE.values() if row.direction == "←"] == ["pobj"]


# As released


def test_as_published_every_word_counts_and_roots_have_no_right_answer() -> None:
    probe = DependencyProbe(("nsubj", "nsubj:pass"), published=True)
    choices, lost = probe.choices(_whole(_document(DOGS, ("Stop", [0], "root"))))
    assert choices.query.tolist() == list(range(7))
    assert choices.right.any(axis=1).tolist() == [True, True, True, True, False, True, False]
    assert choices.rows.sum(axis=1).tolist() == [7, 0, 1]
    assert choices.candidates.any(axis=1).all()
    assert not lost.any()
    assert not probe.contrast
    assert probe.baselines == ("-3", "-2", "-1", "0", "+1", "+2")


def test_as_published_a_possessive_is_asked_at_its_s() -> None:
    probe = DependencyProbe(("poss",), published=True)
    choices, _ = probe.choices(_whole(_document(TOYS)))
    assert choices.query.tolist() == [0, 2, 2, 3, 4]
    assert np.flatnonzero(choices.right[1]).tolist() == [3]
    assert not choices.candidates[1, 2]
    assert choices.candidates[1, 1]
    found = probe.baseline_hits(_whole(_document(TOYS)))[1]
    assert found.tolist() == [0, 0, 0, 0, 2, 0]  # both possessives, one of them from 's
    last, _ = probe.choices(_whole(_document(("toys Ann", [0, 1], "root nmod:poss"), ("'s", [0], "root"))))
    assert last.query.tolist() == [0, 1, 2]


def test_as_published_offsets_stop_at_the_ends_of_the_sentence() -> None:
    probe = DependencyProbe((), published=True)
    found = probe.baseline_hits(_whole(_document(CATS, DOGS)))[0]
    # -3 falls before "Cats sleep", which is right for "sleep", the root. +2 is right for "The" and "dog",
    # and for "Cats", where it stops at the last word.
    assert found[probe.offsets.index(-3)] == 1
    assert found[probe.offsets.index(2)] == 3


@pytest.fixture(scope="module")
def released(shared: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Accuracies of the released code: by direction and head, and by offset."""
    numbers = json.loads((shared / "golden" / "published.json").read_text())["dependency"]
    return {**numbers["accuracy"], "offsets": numbers["offset_accuracy"]}


@pytest.fixture(scope="module")
def sentences(shared: Path) -> list[tuple[Document, np.ndarray]]:
    """The golden sentences, with attention between their words (layers, heads, words, words)."""
    numbers = json.loads((shared / "golden" / "published.json").read_text())["dependency"]["sentences"]
    made = []
    with np.load(shared / "golden" / "published.npz") as arrays:
        for sentence in numbers:
            size = len(sentence["heads"])
            text = (" ".join("w" * size), sentence["heads"], " ".join(sentence["relations"]))
            made.append((_document(text), arrays[f"dep_attention_{size}"][:, :, 1:-1, 1:-1]))
    return made


@pytest.mark.parametrize("direction", ["normal", "transpose"])
def test_released_accuracies_of_heads_are_reproduced(
    released: dict[str, dict[str, dict[str, float]]],
    sentences: list[tuple[Document, np.ndarray]],
    direction: str,
) -> None:
    probe = DependencyProbe(("det", "nsubj", "obj"), published=True)
    right, items = np.zeros((4, 12, 12)), np.zeros(4)
    for document, attention in sentences:
        choices, _ = probe.choices(_whole(document))
        items += choices.rows.sum(axis=1)
        for layer in range(12):
            answers = choose_candidates(attention[layer], choices, direction == "transpose")
            right[:, layer] += right_by_row(hits(answers, choices), choices)
    assert len(released[direction]) == 9
    for name, accuracy in released[direction].items():
        layer, head = map(int, name.split("-"))
        assert dict(zip(probe.rows, right[:, layer, head] / items, strict=True)) == accuracy


def test_released_accuracies_of_offsets_are_reproduced(
    released: dict[str, dict[str, dict[str, float]]],
    sentences: list[tuple[Document, np.ndarray]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dependency, "PUBLISHED_OFFSETS", (-3, -2, -1, 0, 1, 2, 3))
    probe = DependencyProbe(("det", "nsubj", "obj"), published=True)
    windows = [_whole(document) for document, _ in sentences]
    right = np.sum([probe.baseline_hits(each) for each in windows], axis=0)
    items = np.sum([probe.choices(each)[0].rows.sum(axis=1) for each in windows], axis=0)
    assert set(released["offsets"]) == {str(offset) for offset in probe.offsets}
    for column, offset in enumerate(probe.offsets):
        accuracy = right[:, column] / items
        assert dict(zip(probe.rows, accuracy, strict=True)) == released["offsets"][str(offset)]
