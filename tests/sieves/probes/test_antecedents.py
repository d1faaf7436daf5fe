"""Baselines choose what their definitions say, and the rules fire in their order."""

import numpy as np
import pytest

from headroles.records.documents import Document, Mention
from headroles.sieves.language.mentions import describe_mentions
from headroles.sieves.probes.antecedents import BASELINES, agreement_of, choose_antecedents


def _document(
    text: str, spans: list[tuple[int, int]], tags: str = "", features: dict[int, str] | None = None
) -> Document:
    words = tuple(text.split())
    return Document(
        key="made",
        text=text,
        spans=np.zeros((len(words), 2), dtype=np.int32),
        words=words,
        sentences=np.array([0]),
        tags=tuple(tags.split()) if tags else None,
        features=None if features is None else tuple(features.get(k, "") for k in range(len(words))),
        mentions=tuple(Mention(start, stop, str(start)) for start, stop in spans),
    )


def _answers(document: Document) -> dict[str, int]:
    """What each baseline says of the last mention, all others candidates."""
    last = len(document.mentions or ()) - 1
    candidates = (np.arange(last + 1) < last)[None, :]
    found = choose_antecedents(document, np.array([last]), candidates)
    return {name: int(said) for name, (said,) in zip(BASELINES, found.tolist(), strict=True)}


def test_a_full_match_comes_before_a_nearer_head_match() -> None:
    document = _document("the old dog . a dog . a cat . The old dog", [(0, 3), (4, 6), (7, 9), (10, 13)])
    assert _answers(document) == {"nearest": 2, "head match": 1, "rules": 0, "first": 0}


def test_a_head_match_comes_before_nearer_agreement() -> None:
    document = _document("the dog . a cat . that dog", [(0, 2), (3, 5), (6, 8)])
    assert _answers(document) == {"nearest": 1, "head match": 0, "rules": 0, "first": 0}


def test_agreement_comes_before_the_nearest_and_nobody_matches_without_a_head() -> None:
    document = _document("the king . the queen . the boys . he", [(0, 2), (3, 5), (6, 8), (9, 10)])
    # Without tags boys are of unknown number, but masculine: agreement of he is with the nearest man.
    assert _answers(document)["rules"] == 2
    tagged = _document(
        "the king . the queen . the boys . he",
        [(0, 2), (3, 5), (6, 8), (9, 10)],
        tags="DT NN . DT NN . DT NNS . PRP",
    )
    assert _answers(tagged) == {"nearest": 2, "head match": -1, "rules": 0, "first": 0}


def test_where_nothing_agrees_the_nearest_is_chosen() -> None:
    document = _document("the king . the boys . she", [(0, 2), (3, 5), (6, 7)])
    assert _answers(document)["rules"] == 1
    pronouns = _document("we . he . I", [(0, 1), (2, 3), (4, 5)])
    assert _answers(pronouns) == {"nearest": 1, "head match": -1, "rules": 1, "first": 0}


def test_without_candidates_every_baseline_says_nobody() -> None:
    document = _document("it rains", [(0, 1)])
    assert (
        choose_antecedents(document, np.array([0]), np.zeros((1, 1), dtype=np.bool_)).tolist() == [[-1]] * 4
    )


@pytest.mark.parametrize(
    ("text", "tags", "feature", "wanted"),
    [
        ("herself", "", "", ("Sing", "Fem", "3")),
        ("we", "", "", ("Plur", "", "1")),
        ("you", "PRON", "Number=Plur|Person=2", ("Plur", "", "2")),
        ("dogs", "NNS", "", ("Plur", "", "3")),
        ("dogs", "NOUN", "Number=Plur", ("Plur", "", "3")),
        ("dogs", "", "", ("", "", "3")),
        ("Mrs. Smith", "", "", ("", "Fem", "3")),
        ("his wife", "", "", ("", "Fem", "3")),
        ("Lady Dedlock", "NNP NNP", "", ("Sing", "Fem", "3")),
    ],
)
def test_number_gender_and_person_are_read_from_what_is_known(
    text: str, tags: str, feature: str, wanted: tuple[str, str, str]
) -> None:
    length = len(text.split())
    document = _document(text, [(0, length)], tags, {length - 1: feature} if feature else None)
    assert agreement_of(document, describe_mentions(document), 0) == wanted


def test_joined_mentions_are_plural() -> None:
    words = ("Ann", "and", "Bob")
    document = Document(
        key="made",
        text="Ann and Bob",
        spans=np.zeros((3, 2), dtype=np.int32),
        words=words,
        sentences=np.array([0]),
        heads=np.array([-1, 2, 0]),
        relations=("root", "cc", "conj"),
        tags=("PROPN", "CCONJ", "PROPN"),
        features=("Number=Sing", "", "Number=Sing"),
        mentions=(Mention(0, 3, "both"), Mention(0, 1, "Ann"), Mention(2, 3, "Bob")),
    )
    numbers = [agreement_of(document, describe_mentions(document), each)[0] for each in range(3)]
    assert numbers == ["Plur", "Sing", "Sing"]
