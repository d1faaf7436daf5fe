"""Trained weights, end to end: the known heads of a decoder are named.

Text that is repeated at one distance says nothing of duplicates or induction beyond distance: in each
input every earlier occurrence then lies at the same offset, so a head that looks so far back, whatever
stands there, has the same attention, and the contrast is 0 by its definition. Repeats at several distances
tell them apart.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import headroles

if TYPE_CHECKING:
    from headroles import Labelling

NAMES = ("Lily", "Tom", "Sam", "Anna", "Ben", "Mia", "Max", "Sue")
KINDS = ("little", "big", "happy", "red", "old", "kind", "shiny", "small")
THINGS = ("ball", "dog", "cat", "tree", "car", "bird", "doll", "box")
DEEDS = ("saw", "found", "loved", "wanted", "took", "liked")
pytestmark = pytest.mark.xdist_group("stories")


def _sentence(rng: np.random.Generator) -> str:
    name, other, kind, thing, deed = (rng.choice(each) for each in (NAMES, NAMES, KINDS, THINGS, DEEDS))
    return f"{name} and {other} {deed} a {kind} {thing} in the park."


def _story(rng: np.random.Generator) -> str:
    name, kind, thing, deed = (rng.choice(each) for each in (NAMES, KINDS, THINGS, DEEDS))
    end = f"{name} was very happy and played with the {thing}."
    start = f"Once upon a time, there was a {kind} girl named {name}."
    return f"{start} One day, {name} {deed} a {rng.choice(KINDS)} {thing}. {end}"


def _twice(rng: np.random.Generator) -> str:
    """A sentence, and the same once more: every repeat at one distance."""
    return " ".join([_sentence(rng)] * 2)


def _again(rng: np.random.Generator) -> str:
    """Three sentences, and the same in another order: repeats at several distances."""
    said = [_sentence(rng) for _ in range(3)]
    return " ".join(said + [said[place] for place in rng.permutation(3)])


def _label(stories: Path, kind: Callable[..., str], *sieves: str, count: int = 400, **how: Any) -> "Labelling":
    rng = np.random.default_rng(4)
    usual: dict[str, Any] = {"model": stories, "sieve": list(sieves), "max_length": 256, "maps": 0}
    return headroles.label(data=[kind(rng) for _ in range(count)], **usual | how)


def _mean(found: "Labelling", column: str) -> dict[str, float]:
    """Means of a column by the names of heads, the largest first."""
    means = found.findings.mean[found.findings.of(column)]
    return {f"{each // 8}-{each % 8}": float(means.flat[each]) for each in np.argsort(-means, axis=None)}


def _held(found: "Labelling", role: str) -> set[str]:
    return {f"{layer}-{head}" for layer, head in found.roles[role].heads}


def test_heads_of_a_trained_decoder_are_named_on_stories(stories: Path) -> None:
    found = _label(stories, _story, "previous", "first", "next", "induction")
    assert found.manifest["model"]["kv_heads"] == 4
    assert found.labels()["kv_group"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3] * 5
    previous, first, induction = (_mean(found, name) for name in ("previous", "first", "induction"))
    assert list(previous)[:3] == ["1-3", "3-6", "1-6"]
    assert previous["1-3"] > 0.45
    assert {"1-3", "3-6", "1-6"} <= _held(found, "previous")
    assert {*list(first)[:3]} == {"2-6", "4-5", "4-0"}
    assert {"2-6", "4-5"} <= _held(found, "first")
    assert next(iter(induction)) == "4-0"
    assert induction["4-0"] > 0.12
    assert "4-0" in _held(found, "induction")
    assert not _held(found, "next")


def test_an_induction_head_is_named_where_repeats_lie_at_several_distances_and_nowhere_else(
    stories: Path,
) -> None:
    found = _label(stories, _again, "duplicate", "induction")
    assert next(iter(_mean(found, "induction"))) == next(iter(_mean(found, "induction:matched"))) == "4-0"
    assert _mean(found, "induction:matched")["4-0"] > 0.05
    assert (_held(found, "induction"), _held(found, "duplicate")) == ({"4-0"}, set())
    verbatim = _label(stories, _twice, "duplicate", "induction")
    assert next(iter(_mean(verbatim, "induction"))) == "4-0"
    assert _mean(verbatim, "induction")["4-0"] > 0.08
    for column in ("duplicate:key", "induction:matched"):
        assert max(_mean(verbatim, column).values()) < 0.02
    assert _held(verbatim, "duplicate") == _held(verbatim, "induction") == set()
