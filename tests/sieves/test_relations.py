"""A relation is refused, with the nearest name, when no scheme, parser or data have it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import UnknownName
from headroles.options.label import Options
from headroles.options.values import record_of
from headroles.runs.label.sieves import check_sieves, shipped_relations
from headroles.sieves.language.relations import (
    CLEARNLP,
    SUBTYPES,
    UNIVERSAL,
    check_relations,
    unknown_relations,
)
from headroles.sieves.probes.published_heads import PUBLISHED_TABLE, STANFORD_ONLY

Label = Callable[..., Labelling]


def test_all_names_that_headroles_itself_uses_are_known() -> None:
    assert len(UNIVERSAL) == 37
    published = {*PUBLISHED_TABLE} - {"all"}
    assert unknown_relations((*UNIVERSAL, *SUBTYPES, *CLEARNLP, *STANFORD_ONLY, *published)) == ()
    assert unknown_relations(shipped_relations()) == ("nmod:desc", "nmod:unmarked", "obl:unmarked")


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("nsubject", "nsubj"), ("dobject", "dobj"), ("nsubj:pas", "nsubj:pass"), ("ammod", "amod")],
)
def test_a_wrong_name_is_told_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"no relation is called '{wrong}'; did you mean '{near}'"):
        check_relations(["obj", wrong])


def test_relations_of_parser_and_data_are_known_with_their_plain_names() -> None:
    check_relations(["sb", "oa"], found=["sb", "oa:x"])
    with pytest.raises(UnknownName, match="no relation is called 'oc'"):
        check_relations(["oc"], found=["sb", "oa:x"])


def test_only_the_shipped_parser_is_judged_before_anything_is_read(tmp_path: Path) -> None:
    wrong: dict[str, object] = {"sieve": ["syntactic:nsubject"]}
    with pytest.raises(UnknownName, match="did you mean 'nsubj'"):
        check_sieves(record_of(Options, task="QNLI", **wrong))
    check_sieves(record_of(Options, task="QNLI", parser=str(tmp_path), **wrong))


ROWS = (
    "1\tthe\t_\t_\t_\t_\t2\tdet\t_\t_",
    "2\tcat\t_\t_\t_\t_\t3\tsubject\t_\t_",
    "3\tsat\t_\t_\t_\t_\t0\troot\t_\t_",
)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    """Sentences with a relation that no scheme has."""
    place = tmp_path / "own.conllu"
    place.write_text(("\n".join(ROWS) + "\n\n") * 12)
    return place


def test_a_relation_of_gold_trees_is_scored_and_others_are_refused_before(
    label: Label, treebank: Path, tmp_path: Path
) -> None:
    found = label(task=None, data=treebank, sieve=["syntactic:subject"])
    assert found.scores.cells[found.findings.of("syntactic:subject")].tolist() == [1.0] * 12
    with pytest.raises(UnknownName, match="no relation is called 'subjects'; did you mean 'subject'"):
        label(task=None, data=treebank, sieve=["syntactic:subjects"], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_probe_refuses_relations_that_neither_scheme_nor_trees_have(planted: Path, treebank: Path) -> None:
    with pytest.raises(UnknownName, match="no relation is called 'subjetc'; did you mean 'subject'"):
        headroles.probe("dependency", data=treebank, relations="det,subjetc", model=planted)


def test_the_labels_of_a_named_parser_are_known(label: Label, tmp_path: Path) -> None:
    import spacy

    parser = spacy.blank("en")
    pipe: Any = parser.add_pipe("parser")
    for name in ("sb", "oa"):
        pipe.add_label(name)
    parser.initialize()
    parser.to_disk(tmp_path / "parser")
    with pytest.raises(UnknownName, match="no relation is called 'nsubject'; did you mean 'nsubj'"):
        label(sieve=["syntactic:nsubject"], parser=tmp_path / "parser", limit=5)
    label(sieve=["syntactic:sb"], parser=tmp_path / "parser", limit=5)
