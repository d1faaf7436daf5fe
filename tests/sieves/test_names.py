"""Sieves by name: built in, of a family, of a group, from a plug-in or a file, and the list of them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import Example, MaskSieve, sieve
from headroles.arrays import selection_of
from headroles.catalogue import entries, entries_of, sieve_of, sieves_of
from headroles.errors import BadSieve, UnknownName
from headroles.records import phrase_of
from headroles.sieves import BUILT_IN, GROUPS, ON_REQUEST, PATTERNS, PUBLISHED
from headroles.testing import check_sieve
from tests.sieves import oracle
from tests.support.annotated import annotated

Offer = Callable[..., None]
OURS = {*BUILT_IN, *PATTERNS, *ON_REQUEST}
GOOD = """
import numpy as np
from headroles import sieve

@sieve("{name}", question="{question}")
def found(example):
    return np.array([token == "the" for token in example.tokens])
"""
FAMILY = """
import numpy as np
from headroles import sieve, sieve_family

@sieve_family("ring", parameter="n", example="5")
def found(parameter):
    "Does the head look so far?"
    distance = int(parameter)
    return sieve(f"ring:{distance}", margin=0.3)(lambda example: np.arange(example.size) == distance)
"""

TITLED = """
from headroles import Same, sieve, sieve_family
from headroles.records import RoleWords

def words_of(letter):
    return RoleWords(f"the letter {letter}", f"looks at the letter {letter}", works=("clark2019what",))

@sieve_family("acme-letter", parameter="letter", example="a", words=words_of)
def found(letter):
    return sieve(f"acme-letter:{letter}")(lambda example: Same(example.segment))
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Install a distribution that offers one sieve: a module and its metadata on the path."""
    before = set(sys.modules)

    def install(distribution: str, name: str, code: str) -> None:
        site, module = tmp_path / distribution, distribution.replace("-", "_")
        about = site / f"{module}-1.0.dist-info"
        about.mkdir(parents=True)
        (site / f"{module}.py").write_text(code)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[headroles.sieves]\n{name} = {module}:found\n")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, module, raising=False)

    yield install
    for module in set(sys.modules) - before:
        if module.startswith(("acme", "other", "headroles_file")):
            del sys.modules[module]


def names_of(*named: Any) -> list[str]:
    """Return the names of the sieves that some names stand for."""
    return [found.name for found in sieves_of(named)[0]]


def test_every_sieve_of_headroles_answers_to_its_name_keeps_the_contract_and_is_listed() -> None:
    rng = np.random.default_rng(1)
    examples = [annotated(rng, [int(rng.integers(3, 12)), 9]) for _ in range(4)]
    examples.append(annotated(rng, [15], specials=False))
    listed = {entry.name: entry for entry in entries()}
    families = {"local:<tokens>", "offset:<tokens>", "punctuation:<marks>", "syntactic:<relation>"}
    assert listed.keys() == OURS | families
    for name in OURS.union(oracle.MASKS):
        found = sieve_of(name)
        assert found.name == name
        check_sieve(found, examples)
        assert isinstance(found, MaskSieve) == (name != "bag-of-words")
    for name in OURS:
        entry = listed[name]
        assert (entry.origin, entry.error, entry.question[-1]) == ("headroles", "", "?")
        assert entry.source
        assert (entry.default, entry.group) == (name in BUILT_IN, "patterns" if name in PATTERNS else "")
    assert {name: sieve_of(name, "published").name for name in PUBLISHED} == {name: name for name in BUILT_IN}
    assert dict(GROUPS) == {"patterns": tuple(PATTERNS)}


def test_a_group_is_all_its_sieves_each_once_at_its_place() -> None:
    assert names_of("local", "patterns", "block", "patterns") == ["local", *PATTERNS, "block"]
    others = [name for name in PATTERNS if name not in ("rare", "next")]
    assert names_of("patterns", "rare", "next") == [*others, "rare", "next"]
    assert sieves_of(["patterns", "rare", "next"])[1] == frozenset(others)

    @sieve("punctuation")
    def mine(example: Example) -> np.ndarray:
        """Mine?"""
        return np.array([token == "!" for token in example.tokens])

    found, _ = sieves_of(["patterns", mine])
    assert found[-1] is mine
    assert [own.name for own in found].count("punctuation") == 1
    with pytest.raises(BadSieve, match="'next' was given twice"):
        selection_of(["next", "patterns", "next"])


def test_the_columns_of_a_selection_are_masks_with_contrasts_then_contrasts_of_scorers_then_scorers() -> None:
    selection = selection_of(["local", "bag-of-words", "parked", "syntactic", "block"])
    rules = {rule.sieve: rule for rule in selection.rules()}
    assert {name: rule.margin for name, rule in rules.items()} == {
        "local": 0.1, "parked": 0.1, "parked:values": -0.1, "syntactic": 0.1, "syntactic:matched": 0.05,
        "syntactic:class": 0.0, "block": 0.1, "block:matched": 0.02, "bag-of-words:matched": 0.08,
        "bag-of-words": 0.1,
    }  # fmt: skip
    assert tuple(rules) == selection.columns
    assert {name: (rule.contrast, rule.stronger) for name, rule in rules.items() if rule.role} == {
        "local": ("", ""), "parked": ("parked:values", ""), "block": ("block:matched", ""),
        "syntactic": ("syntactic:matched", "syntactic:class"), "bag-of-words": ("bag-of-words:matched", ""),
    }  # fmt: skip
    assert {rule.margin for rule in selection.rules(0.3) if rule.role} == {0.3}
    bias = {rule.sieve: (rule.null, rule.margin) for rule in selection_of("local", statistic="bias").rules()}
    assert bias == {"local": (1.0, 2.0)}
    assert selection_of(None).columns[:5] == ("local", "delimiter", "delimiter:cls", "delimiter:sep", "block")


def test_a_plug_in_is_found_by_its_entry_point_once_it_is_installed(offer: Offer) -> None:
    assert not entries("plug-ins")
    offer("acme-one", "articles", GOOD.format(name="articles", question="Does it look at articles?"))
    assert sieve_of("articles").name == "articles"
    (entry,) = entries("plug-ins")
    assert (entry.origin, entry.question, entry.error) == ("acme-one", "Does it look at articles?", "")
    with pytest.raises(UnknownName, match="did you mean 'articles'"):
        sieve_of("article")
    offer("acme-two", "ring", FAMILY)
    offer("acme-three", "mine", "found = ('local', 'offset:-3', 'block')")
    assert [sieve_of(name).name for name in ("ring:12", "ring:05")] == ["ring:12", "ring:5"]
    assert names_of("mine", "local") == ["offset:-3", "block", "local"]
    listed = {own.name: (own.kind, own.origin, own.example, own.margin) for own in entries("plug-ins")}
    assert listed == {
        "articles": ("mask", "acme-one", "", 0.1),
        "ring:<n>": ("family", "acme-two", "ring:5", 0.3),
        "mine": ("group", "acme-three", "", None),
    }


def test_a_file_gives_a_sieve_a_scorer_or_a_family_by_its_name_or_its_variable(tmp_path: Path) -> None:
    file, other = tmp_path / "my sieves.py", tmp_path / "rings.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        + GOOD.format(name="the:article", question="Articles?")
        + "@dataclass(frozen=True)\n"
        "class First:\n"
        "    name: str = 'first'\n"
        "    needs: frozenset[str] = frozenset()\n"
        "    def score(self, attention, example): return attention[:, :, 0].mean(axis=1)\n"
        "    def null(self, example): return 1 / example.size\n"
        "one = First()\ntwo = First(name='second')\n"
    )
    other.write_text(FAMILY)
    wanted = {"the:article": "the:article", "found": "the:article", "first": "first", "one": "first"}
    wanted["two"] = "second"
    assert {name: sieve_of(f"{file}:{name}").name for name in wanted} == wanted
    rings = {"ring:5": "ring:5", "found:7": "ring:7"}
    assert {name: sieve_of(f"{other}:{name}").name for name in rings} == rings
    with pytest.raises(UnknownName, match=r"no sieve of .*rings\.py is called 'rung:5'.* known: ring:<n>$"):
        sieve_of(f"{other}:rung:5")
    (entry,) = entries_of(f"{other}:ring:3")
    assert (entry.name, entry.origin, entry.question) == ("ring:3", str(other), "Does the head look so far?")


def test_every_sieve_of_headroles_states_the_words_of_its_role() -> None:
    works = (Path(__file__).parents[2] / "reports" / "works.bib").read_text(encoding="utf-8")
    words = {name: phrase_of(name) for name in OURS}
    assert len({said.mark for said in words.values()} - {""}) == len(OURS)
    for name, said in words.items():
        assert said.title != name or name == "parked"
        assert said.works
        assert all(f"{{{key},\n" in works for key in said.works)


def test_a_plugin_states_words_and_a_role_without_its_sieve_keeps_its_name(offer: Offer) -> None:
    offer("acme-letters", "acme-letter", TITLED)
    offer("acme-broken", "acme-broken", "raise SystemExit(3)")
    assert phrase_of("acme-letter:q").many == "look at the letter q"
    assert phrase_of("vertical:acme-letter:q").title == "the letter q, vertical"
    for name in ("acme-broken", "acme-gone", "acme-gone:q"):
        assert (phrase_of(name).title, phrase_of(name).one) == (name, f"has the role {name}")
