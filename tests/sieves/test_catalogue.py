"""Sieves by name: built in, families, plug-ins, files; and what is wrong with each, in one sentence."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headroles.catalogue import (
    PARTS,
    entries,
    entries_of,
    family_of,
    sieve_of,
    sieves_json,
    sieves_of,
)
from headroles.errors import BadInput, BadSieve, HeadrolesError, UnknownName
from headroles.plugins import installed_plugins, owner_of
from headroles.runs.label.run import label
from headroles.sieves import BUILT_IN, FAMILIES, ON_REQUEST, PATTERNS
from headroles.sieves.base import MaskSieve

Command = Callable[..., tuple[int, str, str]]
Offer = Callable[..., None]

GOOD = """
import numpy as np
from headroles import sieve

@sieve("{name}", question="{question}")
def found(example):
    return np.array([token == "the" for token in example.tokens])
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Install a distribution that offers one sieve: a module and its metadata on the path."""
    before = set(sys.modules)

    def install(distribution: str, name: str, code: str, target: str = "found") -> None:
        site = tmp_path / distribution
        module = distribution.replace("-", "_")
        about = site / f"{module}-1.0.dist-info"
        about.mkdir(parents=True)
        (site / f"{module}.py").write_text(code)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[headroles.sieves]\n{name} = {module}:{target}\n")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, module, raising=False)

    yield install
    for module in set(sys.modules) - before:
        if module.startswith(("acme", "other", "headroles_file")):
            del sys.modules[module]


def _listed(name: str) -> list[tuple[str, str, str]]:
    return [(entry.origin, entry.question, entry.error) for entry in entries() if entry.name == name]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_built_in_sieve_answers_to_its_name(name: str) -> None:
    found = sieve_of(name)
    assert isinstance(found, MaskSieve)
    assert found.name == name
    assert sieve_of(name, "published").name == name
    ((origin, question, error),) = _listed(name)
    assert (origin, error) == ("headroles", "")
    assert question.endswith(("?", "gives?"))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("locl", "local"),
        ("Block", "block"),
        ("delimeter", "delimiter"),
        ("delimiter:clss", "delimiter:cls"),
        ("syntatic", "syntactic"),
        ("LOCAL", "local"),
    ],
)
def test_a_near_miss_is_told_the_nearest_name(name: str, near: str) -> None:
    with pytest.raises(UnknownName) as raised:
        sieve_of(name)
    assert str(raised.value).startswith(
        f"no sieve is called {name!r}; did you mean {near!r}? known: bag-of-words, "
    )


@pytest.mark.parametrize("name", ["", "xyzzy", ":", "local:", "syntactic:", "nofamily:det", "42"])
def test_an_unknown_name_is_told_all_names(name: str) -> None:
    with pytest.raises(
        UnknownName, match=rf"no sieve is called '{name}'.* known: bag-of-words, .*syntactic:obj$"
    ):
        sieve_of(name)


@pytest.mark.parametrize("name", ["local:1", "local:4", "local:200", "syntactic:det", "syntactic:nsubj:pass"])
def test_a_family_makes_a_sieve_of_that_name(name: str) -> None:
    found = sieve_of(name)
    assert isinstance(found, MaskSieve)
    assert found.name == name
    assert name.rpartition(":")[2] in found.question


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("local:0", "the window of 'local:0' must be a whole number of tokens from 1"),
        ("local:-1", "whole number of tokens from 1"),
        ("local:2.5", "whole number of tokens from 1"),
        ("local:two", "whole number of tokens from 1"),
        ("syntactic:punct", "'syntactic:punct' does not name a dependency relation"),
        ("syntactic:ROOT", "other than punct and root"),
        ("syntactic:a b", "a relation is letters with an optional subtype"),
        ("syntactic:nsubj:", "does not name a dependency relation"),
    ],
)
def test_a_family_refuses_a_wrong_parameter(name: str, sentence: str) -> None:
    with pytest.raises(BadSieve, match=sentence):
        sieve_of(name)


def test_families_have_no_published_scores() -> None:
    with pytest.raises(BadSieve, match=r"the released notebooks' sieves only .* but got 'syntactic:det'"):
        sieve_of("syntactic:det", "published")
    with pytest.raises(UnknownName, match="no sieve is called 'locul'"):
        sieve_of("locul", "published")


def test_a_plug_in_is_found_by_its_entry_point(offer: Offer) -> None:
    offer("acme-one", "articles", GOOD.format(name="articles", question="Does it look at articles?"))
    assert sieve_of("articles").name == "articles"
    assert _listed("articles") == [("acme-one", "Does it look at articles?", "")]
    with pytest.raises(UnknownName, match="did you mean 'articles'"):
        sieve_of("article")


def test_a_plug_in_that_is_installed_or_removed_later_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert "acme-late" not in installed_plugins()
    about = tmp_path / "acme_late-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-late\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[headroles.sieves]\nacme-late = acme_late:found\n")
    assert [owner_of(point) for point in installed_plugins()["acme-late"]] == ["acme-late"]
    about.rename(tmp_path / "removed")
    assert "acme-late" not in installed_plugins()


def test_two_plug_ins_of_one_name_are_an_error_that_names_both(offer: Offer, command: Command) -> None:
    offer("acme-one", "articles", GOOD.format(name="articles", question="one"))
    offer("other-two", "articles", GOOD.format(name="articles", question="two"))
    sentence = "'articles' is offered by (acme-one and other-two|other-two and acme-one); uninstall one"
    with pytest.raises(BadSieve, match=sentence):
        sieve_of("articles")
    code, out, err = command("sieves")
    assert (code, err) == (0, "")
    assert "broken: a sieve's name belongs to one distribution" in out
    assert sieve_of("local").name == "local"


@pytest.mark.parametrize("name", ["block", "syntactic:det", "local:3"])
@pytest.mark.parametrize("preset", ["calibrated", "published"])
def test_a_plug_in_never_shadows_a_built_in_name(offer: Offer, name: str, preset: str) -> None:
    offer("acme-one", name, GOOD.format(name=name, question="mine"))
    with pytest.raises(BadSieve, match=f"'{name}' is offered by headroles and acme-one; uninstall one of"):
        sieve_of(name, preset)


BROKEN = {
    "raises": ("raise ValueError('no lexicon')", r"\(ValueError: no lexicon\); mend or uninstall"),
    "imports": ("import no_such_module", r"\(ModuleNotFoundError: No module named 'no_such_module'\)"),
    "leaves": ("import sys\nsys.exit(3)", r"cannot be loaded \(SystemExit: 3\)"),
    "lacks": ("x = 1", "cannot be loaded .AttributeError"),
    "is text": (
        "found = 'a sieve'",
        "offers 'articles' as a sieve, but it is a str; a sieve is made by @sieve",
    ),
    "is a function": ("def found(example): return None", "but it is a function"),
    "is a class": (
        "class found:\n    name = 'articles'; needs = frozenset()\n"
        "    def score(self, a, e): return None\n    def null(self, e): return 0.0",
        "but it is a type",
    ),
    "has another name": (
        GOOD.format(name="definite", question=""),
        "as 'articles' that calls itself 'definite'",
    ),
}


@pytest.mark.parametrize("how", sorted(BROKEN))
def test_a_broken_plug_in_spoils_only_itself(
    offer: Offer, command: Command, planted: Path, tmp_path: Path, how: str
) -> None:
    code_of_plug_in, sentence = BROKEN[how]
    offer("acme-one", "articles", code_of_plug_in)
    with pytest.raises(BadSieve, match=sentence):
        sieve_of("articles")
    ((origin, _, error),) = _listed("articles")
    assert origin == "acme-one"
    assert "acme-one" in error
    families = {family_of(name).listed for name in FAMILIES}
    assert {entry.name for entry in entries() if not entry.error} == {
        *BUILT_IN,
        *PATTERNS,
        *ON_REQUEST,
        *families,
    }
    words = ("label", "--task", "QNLI", "--model", planted, "--max-length", 32, "--limit", 4)
    out = tmp_path / "run"
    assert command(*words, "--sieve", "local", "--out", out)[0] == 0
    code, _, err = command(*words, "--sieve", "articles", "--out", tmp_path / "other")
    assert (code, err.count("\n")) == (1, 1)
    assert "acme-one" in err
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["tokens", "roles", "a;b"])
def test_a_plug_in_whose_name_cannot_stand_in_tables_is_refused(offer: Offer, name: str) -> None:
    offer("acme-one", name, GOOD.format(name=name, question=""))
    with pytest.raises(
        BadSieve, match=r"is no column of a run \(example, group, tokens, layer, head, roles, kv_group\)"
    ):
        sieve_of(name)


def test_a_file_gives_a_sieve_by_its_name_or_its_variable(tmp_path: Path) -> None:
    file = tmp_path / "my sieves.py"
    file.write_text(GOOD.format(name="the:article", question="Articles?"))
    assert sieve_of(f"{file}:the:article").name == "the:article"
    assert sieve_of(f"{file}:found").name == "the:article"


def test_a_file_may_define_dataclasses_and_scorers(tmp_path: Path) -> None:
    file = tmp_path / "scorer.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from headroles import Scorer\n"
        "@dataclass(frozen=True)\n"
        "class First:\n"
        "    name: str = 'first'\n"
        "    needs: frozenset[str] = frozenset()\n"
        "    def score(self, attention, example): return attention[:, :, 0].mean(axis=1)\n"
        "    def null(self, example): return 1 / example.size\n"
        "one = First()\ntwo = First(name='second')\n"
    )
    assert sieve_of(f"{file}:first").name == "first"
    assert sieve_of(f"{file}:two").name == "second"


@pytest.mark.parametrize(
    ("code", "name", "sentence"),
    [
        (
            GOOD.format(name="articles", question=""),
            "article",
            "no sieve of .*py is called 'article'; did you",
        ),
        (
            "def plain(example): return None",
            "plain",
            "a sieve is made by @sieve or has .*, but got a function",
        ),
        ("x = 1", "y", r"no sieve of .* is called 'y'; known: $"),
        ("raise ValueError('no')", "x", r"cannot be run \(ValueError: no\); mend it"),
        ("def (", "x", r"cannot be run \(SyntaxError: "),
        ("raise SystemExit", "x", r"cannot be run \(SystemExit: \)"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, code: str, name: str, sentence: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    with pytest.raises(HeadrolesError, match=sentence):
        sieve_of(f"{file}:{name}")


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    for place in (tmp_path / "no.py", tmp_path):
        with pytest.raises(
            BadInput, match=r"^No such file: .*py; a sieve from a file is given as path/to/file\.py:name$"
        ):
            sieve_of(f"{place}.py:x")


FAMILY = """
import numpy as np
from headroles import sieve, sieve_family

@sieve_family("ring", parameter="n", example="5")
def found(parameter):
    "Does the head look so far?"
    distance = int(parameter)
    return sieve(f"ring:{distance}", margin=0.3)(lambda example: np.arange(example.size) == distance)
"""


def test_a_plug_in_offers_a_family_with_a_parameter(offer: Offer) -> None:
    offer("acme-one", "ring", FAMILY)
    names = [sieve_of(name).name for name in ("ring:5", "ring:12", "ring:05")]
    assert names == ["ring:5", "ring:12", "ring:5"]
    (entry,) = entries("plug-ins")
    assert (entry.name, entry.kind, entry.example, entry.margin) == ("ring:<n>", "family", "ring:5", 0.3)
    assert (entry.origin, entry.question, entry.error) == ("acme-one", "Does the head look so far?", "")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ring", "'ring' is a family of sieves, each with a parameter, .* write ring:<n>, as in ring:5"),
        ("ring:", "'ring' is a family of sieves, each with a parameter, but got none"),
        ("ring:x", r"'ring:x' is no sieve of the family ring:<n> \(invalid literal"),
    ],
)
def test_a_wrong_parameter_of_a_plug_in_is_one_sentence(
    offer: Offer, tmp_path: Path, name: str, sentence: str
) -> None:
    offer("acme-one", "ring", FAMILY)
    (tmp_path / "mine.py").write_text(FAMILY)
    for given in (name, f"{tmp_path}/mine.py:{name}"):
        with pytest.raises(BadSieve, match=sentence):
            sieve_of(given)


def test_a_family_of_headroles_without_its_parameter_says_how_it_is_written() -> None:
    with pytest.raises(BadSieve, match=r"'offset' is a family of sieves, .* write offset:<tokens>, as in"):
        sieve_of("offset")


def test_a_family_of_a_file_is_had_by_its_name_or_its_variable(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAMILY)
    assert sieve_of(f"{tmp_path}/mine.py:ring:5").name == "ring:5"
    assert sieve_of(f"{tmp_path}/mine.py:found:7").name == "ring:7"
    with pytest.raises(UnknownName, match=r"no sieve of .*mine\.py is called 'rung:5'.* known: ring:<n>$"):
        sieve_of(f"{tmp_path}/mine.py:rung:5")


def test_a_sieve_and_a_family_of_two_plug_ins_may_not_share_a_name(offer: Offer) -> None:
    offer("acme-one", "ring", FAMILY)
    offer("other-two", "ring:2", GOOD.format(name="ring:2", question=""))
    assert sieve_of("ring:3").name == "ring:3"
    with pytest.raises(BadSieve, match="'ring:2' is offered by other-two and acme-one; uninstall"):
        sieve_of("ring:2")
    offer("other-three", "ring", FAMILY)
    with pytest.raises(BadSieve, match="'ring:3' is offered by"):
        sieve_of("ring:3")


def test_a_plug_in_may_not_offer_a_family_of_headroles(offer: Offer) -> None:
    offer("acme-one", "offset", FAMILY.replace("ring", "offset"))
    with pytest.raises(BadSieve, match="'offset:2' is offered by headroles and acme-one"):
        sieve_of("offset:2")


def test_a_family_with_another_name_or_without_sieves_is_listed_as_broken(offer: Offer) -> None:
    offer("acme-one", "circle", FAMILY)
    offer("acme-two", "ring", FAMILY.replace('example="5"', 'example="five"'))
    errors = {entry.name: entry.error for entry in entries("plug-ins")}
    assert "offers a sieve as 'circle' that calls itself 'ring'" in errors["circle"]
    assert "'ring:five' is no sieve of the family ring:<n>" in errors["ring"]


def test_a_plug_in_offers_a_group_of_sieves(offer: Offer) -> None:
    offer("acme-one", "mine", "found = ('local', 'offset:-3', 'block')")
    found, grouped = sieves_of(["mine", "local"])
    assert [sieve.name for sieve in found] == ["offset:-3", "block", "local"]
    assert grouped == {"offset:-3", "block"}
    (entry,) = entries("plug-ins")
    assert (entry.kind, entry.question) == ("group", "all of local, offset:-3, block")
    for name in ("mine", "patterns"):
        with pytest.raises(BadSieve, match=f"this needs one sieve, but '{name}' is a group of sieves"):
            sieve_of(name)


@pytest.mark.parametrize("found", ["()", "('mine',)", "(3,)"])
def test_a_group_that_names_no_sieves_is_broken(offer: Offer, found: str) -> None:
    offer("acme-one", "mine", f"found = {found}")
    with pytest.raises(BadSieve, match="offers 'mine' as a group of sieves, which is a tuple of names"):
        sieves_of(["mine"])


SPOILED = {
    "margin": ("margin = 'wide'", "a margin is a finite number"),
    "bounds": (
        "low, high = 1.0, 0.0",
        r"the bounds of a score are numbers, low below high, .* 1\.0 and 0\.0",
    ),
    "a bound": ("low = '0'", "the bounds of a score are numbers, .* '0' and nan"),
    "needs": ("needs = frozenset({'trees'})", "needs only annotation that exists .* 'found' needs"),
    "needs as text": ("needs = 'words'", "needs only annotation that exists .* needs 'words'"),
    "contrast": ("contrast = 0.05", r"a headroles\.Contrast or None, but that of 'found' is a float"),
}


@pytest.mark.parametrize("what", sorted(SPOILED))
def test_a_scorer_states_its_margin_bounds_and_contrast_in_their_kinds(tmp_path: Path, what: str) -> None:
    line, sentence = SPOILED[what]
    (tmp_path / "mine.py").write_text(
        f"class Scorer:\n    name, needs = 'found', frozenset()\n    {line}\n"
        "    def score(self, attention, example): return attention[:, :, 0].mean(axis=1)\n"
        "    def null(self, example): return 0.1\n"
        "found = Scorer()\n"
    )
    with pytest.raises(BadSieve, match=sentence):
        sieve_of(f"{tmp_path}/mine.py:found")


def test_the_list_has_parts() -> None:
    parts = {part: {entry.name for entry in entries(part)} for part in PARTS}
    assert parts["default"] == set(BUILT_IN)
    assert parts["patterns"] == set(PATTERNS)
    assert parts["families"] == {family_of(name).listed for name in FAMILIES}
    assert parts["plug-ins"] == set()
    with pytest.raises(UnknownName, match="no part of the sieves is called 'pattern'; did you mean 'patter"):
        entries("pattern")


def test_one_sieve_has_an_entry_wherever_it_is_from(offer: Offer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAMILY)
    offer("acme-one", "ring", FAMILY)
    given = {"block": "headroles", "offset:-2": "headroles", "ring:2": "acme-one"}
    given[f"{tmp_path}/mine.py:ring:3"] = f"{tmp_path}/mine.py"
    for name, origin in given.items():
        (entry,) = entries_of(name)
        assert (entry.name, entry.origin) == (name.partition(".py:")[2] or name, origin)
    assert entries_of("block") == [entry for entry in entries() if entry.name == "block"]
    assert entries_of("patterns") == entries("patterns")
    with pytest.raises(UnknownName, match="did you mean 'block'"):
        entries_of("blok")


def test_the_list_is_json_with_every_field() -> None:
    listed = json.loads(sieves_json(entries()))
    by_name = {entry["name"]: entry for entry in listed}
    assert len(by_name) == len(listed) == len(entries())
    assert by_name["local:<tokens>"] == {
        "name": "local:<tokens>",
        "origin": "headroles",
        "question": "Does the head look at keys at most so many tokens away, within its own text?",
        "source": "Pande et al. 2021, local sieve; compared within the query's own text",
        "error": "",
        "group": "",
        "kind": "family",
        "default": False,
        "needs": [],
        "margin": 0.1,
        "contrast": None,
        "low": None,
        "high": None,
        "example": "local:4",
    }
    assert (by_name["block"]["default"], by_name["block"]["contrast"]) == (True, 0.02)
    assert by_name["bag-of-words"]["kind"] == "scorer"
    assert (by_name["bag-of-words"]["low"], by_name["bag-of-words"]["high"]) == (None, 1.0)
    assert by_name["syntactic"]["needs"] == ["arcs"]


def test_a_sieve_from_a_file_labels_heads(command: Command, planted: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GOOD.format(name="articles", question="Articles?"))
    words = ("label", "--task", "QNLI", "--model", planted, "--max-length", 48, "--limit", 30)
    code, out, err = command(*words, "--sieve", f"{file}:articles", "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert re.search("^A +articles ", out, re.MULTILINE)
    assert (tmp_path / "run" / "labels.csv").read_text().startswith("layer,head,roles,articles\n")


@pytest.mark.parametrize("given", [None, 3, object()])
def test_what_has_no_name_is_no_sieve_of_a_run(given: object) -> None:
    with pytest.raises(BadInput, match="sieve holds names, or objects that have one, but got"):
        label("QNLI", sieve=["local", given])
